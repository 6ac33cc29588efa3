"""The test file that is nearest to a report: by what its tests call, and then by its name."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

from pytest_brt.code.facts import DefinitionKind
from pytest_brt.code.hosts import rank_hosts
from pytest_brt.code.index import Index
from pytest_brt.code.layout import is_beside, is_test_file
from pytest_brt.localise.literals import Hits
from pytest_brt.localise.suspects import Suspect, rank_files

#: What it adds, beside what the name of a file says (1 for that of the likeliest file), that
#: tests in it use the likeliest function, and that they have what the report spells.
_USES, _SPELLS = 1.0, 1.0
#: Functions whose uses are counted, and how much less each says than the one before it.
_FUNCTIONS, _DECAY = 6, 0.7
#: Share of the likeliest place's score below which a function does not count.
_LIKELY = 0.5
#: A name that more test files use says nothing of any of them.
_MOST_FILES = 25
#: Test files that are looked at by their names.
_NAMED = 40


def nearest_tests(
    index: Index, suspects: Sequence[Suspect], spelled: Sequence[Hits], code: str = ""
) -> str:
    """Return the path of the test file that a test of a report would be added to, or "".

    Args:
        index: the project.
        suspects: where the bug may be, the likeliest first.
        spelled: where the tests have what the report spells.
        code: what the report runs, as Python; "" when that is not known.

    Raises:
        SyntaxError: `code` is not Python.
    """
    scores: dict[str, float] = {}
    for path, score in (
        *_by_name(index, suspects, code),
        *_by_uses(index, suspects),
        *_by_literals(spelled, index),
    ):
        scores[path] = scores.get(path, 0.0) + score
    return min(scores, key=lambda path: (-scores[path], path), default="")


def _by_name(index: Index, suspects: Sequence[Suspect], code: str) -> Iterator[tuple[str, float]]:
    """Yield what the placing of finished tests goes by, where it goes by anything."""
    hosts = rank_hosts(code, index, suspects=rank_files(suspects), limit=_NAMED)
    yield from ((host.path, host.score) for host in hosts if host.score > 0)


def _by_uses(index: Index, suspects: Sequence[Suspect]) -> Iterator[tuple[str, float]]:
    """Yield the test files that use the suspected functions, by their share of the uses."""
    found: list[tuple[float, dict[str, int]]] = []
    for name, weight in _names(index, suspects).items():
        paths = [path for path in index.files_with(name) if is_test_file(path)]
        if not paths or len(found) == _FUNCTIONS:
            continue
        uses: dict[str, int] = {}
        if len(paths) <= _MOST_FILES:
            used = re.compile(rf"\b{name}\b")
            paths = [path for path in paths if _has_tests(path, index)]
            uses = {path: len(used.findall(index.source(path))) for path in paths}
        # What all tests use is as likely: it tells no file from another.
        found.append((weight * _DECAY ** len(found), uses))
    every = sum(weight for weight, _ in found)
    for weight, uses in found:
        total = sum(uses.values()) or 1
        yield from ((path, _USES * weight / every * uses[path] / total) for path in uses)


def _names(index: Index, suspects: Sequence[Suspect]) -> dict[str, float]:
    """Return the names of the suspected functions, with how likely each is beside the first.

    Of a file that is suspected as a whole it is what it offers.
    """
    found: dict[str, float] = {}
    best = suspects[0].score if suspects else 0.0
    for suspect in suspects:
        if suspect.function and suspect.score >= _LIKELY * best:
            found.setdefault(suspect.function.rpartition(".")[2], suspect.score / best)
    if suspects and not suspects[0].function:
        for definition in index.definitions_in(suspects[0].path):
            is_offered = not definition.name.startswith("_") and definition.qualname.count(".") < 2
            if is_offered and definition.kind is not DefinitionKind.VARIABLE:
                found.setdefault(definition.name, 1.0)
    return {name: weight for name, weight in found.items() if len(name) > 2 and name[:2] != "__"}


def _by_literals(spelled: Sequence[Hits], index: Index) -> Iterator[tuple[str, float]]:
    """Yield the test files that have what the report spells, by their share of it."""
    for hits in spelled:
        total = sum(len(lines) for _, lines in hits.files)
        for path, lines in hits.files:
            if _has_tests(path, index):
                yield path, _SPELLS * len(lines) / total / len(spelled)


def _has_tests(path: str, index: Index) -> bool:
    """Return whether `path` is a test file by its name and by what it holds."""
    if not is_test_file(path) or is_beside(path):
        return False
    return any(found.name.lower().startswith("test") for found in index.definitions_in(path))
