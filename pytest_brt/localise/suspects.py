"""The places where the bug may be, from all that the report says and its code runs.

A chunk scores by the words that it shares with the report and by those of its file, each as a share
of the best, and by what else in the report points at it: frames, names of files, modules and
classes, and what its code ran.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence

from pytest_brt.errors import UsageProblem
from pytest_brt.localise.query import query_of, weight_of
from pytest_brt.localise.report_frames import Evidence, miscalled, named_files, on_tracebacks
from pytest_brt.project.chunks import Chunk
from pytest_brt.project.definitions import DefinitionKind
from pytest_brt.project.index import Index, Relevance
from pytest_brt.project.layout import is_product
from pytest_brt.project.words import IDENTIFIER, terms_of
from pytest_brt.types import Issue, Place
from pytest_brt.types.clue import GivenByUser, RunByReport, SharedWords, SpokenOf

#: What the words of the file are worth beside those of the chunk, the best of each.
_OF_FILE = 0.5
#: What scores less than this share of the best is not worth a look, and of no more so many.
_MIN_SHARE, _MAX_SUSPECTS = 0.25, 200
#: What is left of the score of a class that only says what went wrong, and how it is called.
_OF_ERROR = 0.8
_ERROR = re.compile(r"(?:Error|Exception|Warning)\b")
#: Places of one class, and of one file, that stand before those of others.
_MAX_OF_CLASS, _MAX_OF_FILE = 4, 12
#: What it is worth that the report names the file, and, for each weight of a word in the report,
#: that it speaks of the module or the class around the place.
_NAMED_FILE, _MODULE, _CLASS = 0.3, 0.1, 0.05
#: What it is worth that the report's code ran it, where it ran no more than so many functions: the
#: more there are, the less it says of each.
_RAN, _MAX_TELLING = 0.5, 40

#: A function, as its path and qualified name.
Function = tuple[str, str]


def find_suspects(
    issue: Issue,
    index: Index,
    *,
    found: Relevance | None = None,
    ran: Collection[Function] = (),
    paths: Collection[str] = (),
    limit: int = 30,
) -> tuple[Place, ...]:
    """Return the likeliest places of the bug that `issue` reports, best first.

    `found` has to do with the report's words, if that was looked for already; `ran` are functions
    of the product that the report's code ran. Only `paths` are looked at, where any are named.
    """
    query = query_of(issue)
    found = index.relevance(query) if found is None else found
    chunks = {**index.chunks, **index.other_chunks} if paths else index.chunks
    evidence = _evidence(issue, query, index, found, ran)
    scores = _scores(found, evidence, index, chunks, paths)
    spelled: dict[str, str] = {}
    for word in IDENTIFIER.findall(issue.text):
        for term in terms_of(word):
            spelled.setdefault(term, word)
    places = []
    for number, score in scores.items():
        clues = [one.clue for one in sorted(evidence.get(number, ()), key=lambda one: -one.score)]
        words = dict.fromkeys(spelled.get(term, term) for term in found.reasons(number))
        if words:
            clues.append(SharedWords(words=tuple(words)))
        chunk = chunks[number]
        places.append(
            Place(
                path=chunk.path,
                function=chunk.function,
                line=chunk.line,
                end_line=chunk.end_line,
                score=round(score, 4),
                clues=tuple(clues),
            )
        )
    places.sort(key=lambda place: (-place.score, place.path, place.line))
    return tuple(_varied(places)[:limit])


def _evidence(
    issue: Issue,
    query: Mapping[str, float],
    index: Index,
    found: Relevance,
    ran: Collection[Function],
) -> dict[int, list[Evidence]]:
    """Return what a report has that points at chunks beside their words, by their numbers."""
    evidence: dict[int, list[Evidence]] = {}
    files = named_files(issue.text, index)
    share = _RAN * min(1.0, (_MAX_TELLING / max(len(ran), 1)) ** 0.5)
    for number, chunk in index.chunks.items():
        own: list[Evidence] = []
        if number in found.chunks:
            own.extend(_spoken_of(chunk, query, index))
            if chunk.path in files:
                own.append(Evidence(score=_NAMED_FILE, clue=files[chunk.path]))
        if (chunk.path, chunk.function) in ran:
            own.append(Evidence(score=share, clue=RunByReport()))
        if own:
            evidence[number] = own
    for number, one in (*on_tracebacks(issue.text, index), *miscalled(issue.text, index)):
        evidence.setdefault(number, []).append(one)
    return evidence


def _spoken_of(chunk: Chunk, query: Mapping[str, float], index: Index) -> Iterator[Evidence]:
    """Yield the module and the class around a chunk, as far as the report speaks of them."""
    *above, module = index.layout.module_of(chunk.path).split(".")
    names = {module: _MODULE} if above else {}  # the project itself is always spoken of
    classes = chunk.function.split(".")[:-1]
    names |= dict.fromkeys(sorted(classes, key=lambda name: weight_of(name, query))[-1:], _CLASS)
    for name, worth in names.items():
        if weight := weight_of(name, query):
            yield Evidence(score=worth * weight, clue=SpokenOf(name=name))


def _scores(
    found: Relevance,
    evidence: Mapping[int, Sequence[Evidence]],
    index: Index,
    chunks: Mapping[int, Chunk],
    paths: Collection[str],
) -> dict[int, float]:
    """Return the chunks that a report points at, with how much, as a share of the best."""
    best = max(found.chunks.values(), default=1.0)
    best_file = max(found.files.values(), default=1.0)
    errors = _error_classes(index)
    scores: dict[int, float] = {}
    for number, chunk in chunks.items():
        is_wanted = chunk.path in paths if paths else number in found.chunks or number in evidence
        if is_wanted:
            words = found.chunks.get(number, 0.0) / best
            words += _OF_FILE * found.files.get(chunk.path, 0.0) / best_file
            is_error = (chunk.path, chunk.function.split(".")[0]) in errors
            scores[number] = words * (_OF_ERROR if is_error else 1)
            scores[number] += sum(one.score for one in evidence.get(number, ()))
    top = max(scores.values(), default=0.0) or 1.0
    order = sorted(scores, key=lambda number: (-scores[number], number))[:_MAX_SUSPECTS]
    return {n: scores[n] / top for n in order if scores[n] > _MIN_SHARE * top or paths}


def _error_classes(index: Index) -> frozenset[Function]:
    """Return the classes of exceptions: they have the words of a report, and do nothing."""
    return frozenset(
        (one.path, one.qualname)
        for path in filter(is_product, index.layout.files)
        for one in index.definitions_in(path)
        if one.kind is DefinitionKind.CLASS and _ERROR.search(f"{one.name} {one.signature}")
    )


def _varied(places: Iterable[Place]) -> list[Place]:
    """Return places so that those of one class, or of one file, do not keep out all others."""
    first: list[Place] = []
    rest: list[Place] = []
    counts = Counter[tuple[str, str]]()
    for place in places:
        around = place.function.rpartition(".")[0]
        groups = {(place.path, ""): _MAX_OF_FILE}
        if around:
            groups[place.path, around] = _MAX_OF_CLASS
        if any(counts[group] >= most for group, most in groups.items()):
            rest.append(place)
        else:
            counts.update(groups.keys())
            first.append(place)
    return first + rest


def files_of(places: Iterable[Place]) -> tuple[str, ...]:
    """Return the files of `places`, each once, in their order."""
    return tuple(dict.fromkeys(place.path for place in places))


def given_places(specs: Sequence[str], index: Index) -> tuple[Place, ...]:
    """Return the places that a user names as PATH or PATH:FIRST-LAST.

    Raises:
        UsageProblem: there is no such file in the project, or no such line in it.
    """
    places = []
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
        function = around.qualname if around else ""
        clues = (GivenByUser(),)
        places.append(Place(path=path, function=function, line=line, end_line=end, clues=clues))
    return tuple(places)
