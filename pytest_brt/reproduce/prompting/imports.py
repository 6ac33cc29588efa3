"""Import statements that work, of what a test for a report may need."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence

from pytest_brt.code.entries import Definition
from pytest_brt.code.facts import DefinitionKind
from pytest_brt.code.index import Index
from pytest_brt.execute.engine import Engine, Program
from pytest_brt.localise.suspects import Suspect
from pytest_brt.observe.watch import Seen
from pytest_brt.reproduce.prompting.transcript import IMPORTS
from pytest_brt.types import Issue

#: Places of the bug whose imports are told, files that they are in, and imports in all.
_MOST_PLACES, _MOST_FILES, _MOST = 4, 2, 12
#: Share of the likeliest place's score below which a place is not worth an import.
_WORTH = 0.5


def imports_of(
    issue: Issue,
    index: Index,
    *,
    seen: Iterable[Seen] = (),
    suspects: Sequence[Suspect] = (),
    host: str = "",
    tests: str = "",
    engine: Engine | None = None,
) -> tuple[str, ...]:
    """Return imports that work: the report's own, of the suspects, of the tests that are shown.

    Args:
        issue: the report.
        index: the project.
        seen: what the report's statements did.
        suspects: where the bug may be, the likeliest first.
        host: the test file that is nearest, or "".
        tests: the part of it that is shown.
        engine: tries them; without it those of the suspects are left out.

    Raises:
        SubjectProblem: the subject's interpreter cannot be started.
    """
    found = [
        item.step.source
        for item in seen
        if item.step.source.startswith(IMPORTS)
        and item.did is not None
        and item.did.raised is None
        and "\n" not in item.step.source
    ]
    own = any(re.search(rf"\b(?:{'|'.join(index.packages)})\b", text) for text in found)
    places = _of_places(issue, suspects, index, known=own) if engine else ()
    for text in _working((*places, *_of_tests(issue, host, tests, index)), engine):
        # One way to each name is enough.
        taken = {
            name for known in found for name in re.findall(r"\w+", known.partition("import")[2])
        }
        if text.rpartition(" ")[2] not in taken:
            found.append(text)
    return tuple(dict.fromkeys(found))[:_MOST]


def _of_places(
    issue: Issue, suspects: Sequence[Suspect], index: Index, *, known: bool
) -> tuple[str, ...]:
    """Return imports of what is suspected.

    Where the report's own imports work (`known`), a class that it does not name is left out:
    its methods are called on something that the report has.
    """
    named = frozenset(re.findall(r"\w+", issue.text))
    statements: dict[str, None] = {}
    for definition in _likely(suspects, index):
        if known and definition.kind is DefinitionKind.CLASS and definition.name not in named:
            continue
        statements[f"from {definition.module} import {definition.name}"] = None
    if not statements and not known and suspects:
        statements[f"import {index.layout.module_of(suspects[0].path)}"] = None
    return tuple(statements)


def _working(statements: Sequence[str], engine: Engine | None) -> tuple[str, ...]:
    """Return those of some imports that work, each once; all where nothing can try them."""
    every = tuple(dict.fromkeys(statements))
    if engine is None or not every:
        return every
    seen = engine.observe(Program(statements=every)).observed
    return tuple(every[did.index] for did in seen if did.raised is None)


def _likely(suspects: Sequence[Suspect], index: Index) -> Iterator[Definition]:
    """Yield the functions and classes that are likeliest, of few files."""
    files = tuple(dict.fromkeys(suspect.path for suspect in suspects))[:_MOST_FILES]
    best = suspects[0].score if suspects else 0.0
    good = [
        suspect
        for suspect in suspects
        if suspect.function and suspect.path in files and suspect.score >= _WORTH * best
    ]
    for suspect in good[:_MOST_PLACES]:
        name = suspect.function.partition(".")[0]
        yield from (d for d in index.definitions_in(suspect.path) if d.qualname == name)


def _of_tests(issue: Issue, host: str, tests: str, index: Index) -> tuple[str, ...]:
    """Return the imports of the test file that its shown tests use, or that the report names."""
    used = frozenset(re.findall(r"\w+", tests))
    named = frozenset(re.findall(r"\w+", issue.text))
    return tuple(
        item.statement
        for item in (index.imports_in(host) if host else ())
        if item.top
        and (
            item.bound in used
            or (item.bound in named and item.module.partition(".")[0] in index.packages)
        )
    )
