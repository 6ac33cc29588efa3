"""The places where the bug may be, from the report and the project's text alone.

The rule: for a file, take the strongest evidence of each sign, times the sign's weight, and
add them up. The functions of a file share its score by their own evidence, added up alike;
a file that nothing in particular speaks for is a suspect as a whole.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from pytest_brt.code.index import Index
from pytest_brt.localise.evidence import Evidence, Sign, gather, strongest
from pytest_brt.localise.literals import Hits, find_literals
from pytest_brt.types import Issue

#: How much each sign counts; fixed in advance, by how directly it points.
WEIGHTS: Mapping[Sign, float] = {
    Sign.TRACEBACK: 3.0,
    Sign.NAMED_FILE: 2.5,
    Sign.NAMED: 2.0,
    Sign.LITERAL: 2.0,
    Sign.SNIPPET: 1.5,
    Sign.WORDS: 1.5,
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Suspect:
    """A place where the bug may be."""

    path: str
    #: Qualified name of the function or class, or "" for the file as a whole.
    function: str
    #: 1-based span; the whole file is (1, 0).
    line: int
    end_line: int
    #: Larger is more suspicious; comparable within one answer.
    score: float
    #: For the reader, the weightiest first.
    reasons: tuple[str, ...]


def find_suspects(
    issue: Issue, index: Index, *, spelled: Sequence[Hits] | None = None, limit: int = 20
) -> tuple[Suspect, ...]:
    """Return the likeliest places of the bug that `issue` reports, best first.

    Args:
        issue: the report.
        index: the project.
        spelled: where the product has what the report spells, if that was looked for already.
        limit: how many places at most.
    """
    by_file: dict[str, list[Evidence]] = {}
    spelled = find_literals(issue, index) if spelled is None else spelled
    for item in gather(issue, index, spelled):
        by_file.setdefault(item.path, []).append(item)
    scores = {path: _score(items) for path, items in by_file.items()}
    files = sorted(scores, key=lambda path: (-scores[path], path))[:limit]
    found = [s for path in files for s in _in_file(path, by_file[path], scores[path], index)]
    found.sort(key=lambda suspect: (-suspect.score, suspect.path, suspect.line))
    return tuple(found[:limit])


def rank_files(suspects: Iterable[Suspect]) -> tuple[str, ...]:
    """Return the files of `suspects`, each once, in their order."""
    return tuple(dict.fromkeys(suspect.path for suspect in suspects))


def _score(items: Iterable[Evidence]) -> float:
    return sum(WEIGHTS[sign] * item.strength for sign, item in strongest(items).items())


def _in_file(path: str, items: list[Evidence], score: float, index: Index) -> list[Suspect]:
    """Return the suspects of one file: the best of its functions carries the file's score."""
    general = [item for item in items if not item.function]
    functions: dict[str, list[Evidence]] = {}
    for item in items:
        if item.function:
            functions.setdefault(item.function, []).append(item)
    if not functions:
        return [
            Suspect(
                path=path,
                function="",
                line=1,
                end_line=0,
                score=round(score, 4),
                reasons=_reasons(general),
            )
        ]
    own = {name: _score(evidence) for name, evidence in functions.items()}
    best = max(own.values())
    spans = {d.qualname: (d.line, d.end_line) for d in index.definitions_in(path)}
    found = []
    for name, evidence in functions.items():
        line, end_line = spans.get(name, (1, 0))
        found.append(
            Suspect(
                path=path,
                function=name,
                line=line,
                end_line=end_line,
                score=round(score * own[name] / best, 4),
                reasons=_reasons([*evidence, *general]),
            )
        )
    return found


def _reasons(items: Iterable[Evidence]) -> tuple[str, ...]:
    best = strongest(items).values()
    ordered = sorted(best, key=lambda item: -WEIGHTS[item.sign] * item.strength)
    return tuple(item.reason for item in ordered)
