"""The places where the bug may be, from all that the report says and its code runs.

A passage scores by the words that it shares with the report and by those of its file, each as a
share of the best (`code.relevance`), and by what else in the report points at it (`signs`).
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Collection, Iterable, Mapping, Sequence

from pytest_brt.code.file_facts import DefinitionKind, Passage
from pytest_brt.code.index import Index
from pytest_brt.code.layout import is_product
from pytest_brt.code.relevance import Relevance, relevance
from pytest_brt.code.words import IDENTIFIER, terms_of
from pytest_brt.errors import UsageProblem
from pytest_brt.localise.query import query_of
from pytest_brt.localise.sign import Key, Sign
from pytest_brt.localise.signs import signs_of_report
from pytest_brt.types import Issue, Place
from pytest_brt.types.clue import GivenByUser, SharedWords

#: What the words of a passage and those of its file are worth, the best of each.
_WORDS, _OF_FILE = 1.0, 0.5
#: What scores less than this share of the best is not worth a look, and of no more so many.
_LEAST, _MOST = 0.25, 200
#: What is left of the score of a class that only says what went wrong.
_SAYS = 0.8
#: How such a class is called, or what it is derived from.
_ERROR = re.compile(r"(?:Error|Exception|Warning)\b")
#: Places of one class, and of one file, that stand before those of others.
_OF_A_CLASS, _OF_A_FILE = 4, 12
#: Lines of a place that are named.
_LINES = 8


def find_places(
    issue: Issue,
    index: Index,
    *,
    found: Relevance | None = None,
    ran: Collection[Key] = (),
    paths: Collection[str] = (),
    limit: int = 30,
) -> tuple[Place, ...]:
    """Return the likeliest places of the bug that `issue` reports, best first.

    `found` has to do with the report's words, if that was looked for already; `ran` are functions
    of the product that the report's code ran. Only `paths` are looked at, where any are named.
    """
    query = query_of(issue)
    found = relevance(query, index) if found is None else found
    said = signs_of_report(issue, query, index, found.passages, ran)
    spelled = _spelled(issue.text)
    places = []
    for number, score in _reported(found, said, index, paths).items():
        words = [spelled.get(term, term) for term in found.reasons(number)]
        signs = sorted(said.get(number, ()), key=lambda sign: -sign.score)
        places.append(_place(index.passages[number], score, signs, words))
    places.sort(key=lambda p: (-p.score, p.path, p.line))
    return tuple(_varied(places)[:limit])


def _varied(places: Iterable[Place]) -> list[Place]:
    """Return places so that those of one class, or of one file, do not keep out all others."""
    first: list[Place] = []
    rest: list[Place] = []
    counts = Counter[tuple[str, str]]()
    for place in places:
        most = {(place.path, ""): _OF_A_FILE}
        if around := place.function.rpartition(".")[0]:
            most[place.path, around] = _OF_A_CLASS
        if any(counts[group] >= many for group, many in most.items()):
            rest.append(place)
        else:
            counts.update(most.keys())
            first.append(place)
    return first + rest


def _reported(
    found: Relevance,
    said: Mapping[int, Sequence[Sign]],
    index: Index,
    paths: Collection[str],
) -> dict[int, float]:
    """Return the passages that a report points at, with how much, as a share of the best."""
    best = max(found.passages.values(), default=1.0)
    best_file = max(found.files.values(), default=1.0)
    errors = _error_classes(index)

    def words_of(number: int, passage: Passage) -> float:
        own = _WORDS * found.passages.get(number, 0.0) / best
        words = own + _OF_FILE * found.files.get(passage.path, 0.0) / best_file
        return words * (_SAYS if (passage.path, passage.function.split(".")[0]) in errors else 1)

    scores = {
        number: words_of(number, passage) + sum(sign.score for sign in said.get(number, ()))
        for number, passage in index.passages.items()
        if (number in found.passages or number in said or paths)
        and (passage.path in paths if paths else is_product(passage.path))
    }
    top = max(scores.values(), default=0.0) or 1.0
    order = sorted(scores, key=lambda number: (-scores[number], number))[:_MOST]
    return {n: scores[n] / top for n in order if scores[n] > _LEAST * top or paths}


def _error_classes(index: Index) -> frozenset[Key]:
    """Return the classes of exceptions: they have the words of a report, and do nothing."""
    every = (one for path in index.layout.files for one in index.definitions_in(path))
    classes = (one for one in every if one.kind is DefinitionKind.CLASS)
    return frozenset(
        (one.path, one.qualname) for one in classes if _ERROR.search(f"{one.name} {one.signature}")
    )


def _place(passage: Passage, score: float, signs: Sequence[Sign], words: Sequence[str]) -> Place:
    clues = [sign.clue for sign in signs]
    if words:
        clues.append(SharedWords(words=tuple(dict.fromkeys(words))))
    lines = dict.fromkeys(line for sign in signs for line in sign.lines)
    return Place(
        path=passage.path,
        function=passage.function,
        line=passage.line,
        end_line=passage.end_line,
        score=round(score, 4),
        lines=tuple(lines)[:_LINES],
        clues=tuple(clues),
    )


def _spelled(text: str) -> dict[str, str]:
    """Return each term of a report as the report has it."""
    found: dict[str, str] = {}
    for word in dict.fromkeys(IDENTIFIER.findall(text)):
        for term in terms_of(word):
            found.setdefault(term, word)
    return found


def files_of(places: Iterable[Place]) -> tuple[str, ...]:
    """Return the files of `places`, each once, in their order."""
    return tuple(dict.fromkeys(place.path for place in places))


def given_places(specs: Sequence[str], index: Index) -> tuple[Place, ...]:
    """Return the places that a user names as PATH or PATH:FIRST-LAST.

    Raises:
        UsageProblem: there is no such file in the project, or no such line in it.
    """
    found = []
    for spec in specs:
        path, _, span = spec.partition(":")
        path = path.removeprefix("./")
        if path not in index.layout.files:
            raise UsageProblem(
                f"--brt-buggy-file: no such Python file in the project: {path!r} "
                "(give its path from the root)"
            )
        count = index.source(path).count("\n") + 1
        first, _, last = (span or "1-0").partition("-")
        line, end = (int(n) if n.isdecimal() else -1 for n in (first, last or first))
        if span and not 1 <= line <= end <= count:
            raise UsageProblem(
                f"--brt-buggy-file: {path!r} has lines 1 to {count}, got {span!r} "
                "(PATH, PATH:LINE or PATH:FIRST-LAST)"
            )
        around = index.definition_at(path, line) if span else None
        found.append(
            Place(
                path=path,
                function=around.qualname if around else "",
                line=line,
                end_line=end,
                clues=(GivenByUser(),),
            )
        )
    return tuple(found)
