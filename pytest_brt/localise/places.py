"""The places where the bug may be, from all that is known: the report, stacks, and what tests run.

Three signs are added, each in 0..1, so that a place which two of them agree on comes first: how
much the report points at it (`suspects`), how near it is to where the failing tests end, and how
suspicious the tests that run it make its worst line: Ochiai's score of the spectrum.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import dropwhile
from math import sqrt

from pytest_brt.code.file_facts import Definition, DefinitionKind
from pytest_brt.code.index import Index
from pytest_brt.code.layout import is_product, is_test_path
from pytest_brt.code.words import split_identifier
from pytest_brt.errors import UsageProblem
from pytest_brt.localise.signs import Key
from pytest_brt.localise.suspects import find_suspects
from pytest_brt.types import Clue, Issue, Place, TestRun, Verdict
from pytest_brt.types.clue import GivenByUser, OnTestStack, RunByTests

#: Words of folders and files, below the topmost package, that hold code which only helps tests:
#: they run it, and the bug is not in it.
_HELPING = frozenset({"test", "tests", "testing", "testutil", "testutils", "testlib", "unittest"})
#: What such code imports.
_FRAMEWORKS = frozenset({"pytest", "unittest", "nose"})
#: How much less each frame of a failing test says than the one below it.
_DECAY = 0.75
#: Places that score less are not worth a look.
_LEAST = 0.01
#: Lines of a place that are named.
_LINES = 8
#: What pytest calls to explain a failing assertion: passing tests never get there.
_EXPLAINING = frozenset({"__repr__", "__str__"})
#: From so many passing tests on, what all tests run says nothing of the bug.
_TELLING = 2
#: Lines that one test ran, by file.
Coverage = Mapping[str, frozenset[int]]


def lines_of(run: TestRun) -> dict[str, frozenset[int]]:
    """Return the lines that a test ran of the files that were watched.

    >>> from pytest_brt.types import Verdict
    >>> from pytest_brt.types.cause import Passed
    >>> ran = (("a.py", "14"),)
    >>> run = TestRun(test="t", node="", verdict=Verdict.PASS, cause=Passed(), ran=ran)
    >>> sorted(lines_of(run)["a.py"])
    [2, 4]
    """
    bits = {path: f"{int(lines, 16):b}" for path, lines in run.ran}
    return {
        path: frozenset(line for line, bit in enumerate(reversed(text)) if bit == "1")
        for path, text in bits.items()
    }


@dataclass(frozen=True, slots=True, kw_only=True)
class SuspectLine:
    """A line, how many tests run it, and how many there are.

    In its score `e_f` and `e_p` are the failing and passing tests that run the line, `n_f` and
    `n_p` those that do not.
    """

    path: str
    line: int
    failing: int
    passing: int
    all_failing: int
    all_passing: int

    @property
    def ochiai(self) -> float:
        """e_f / √((e_f + n_f)(e_f + e_p)), in 0..1 (Abreu et al. 2006)."""
        below = sqrt(self.all_failing * (self.failing + self.passing))
        return self.failing / below if below else 0.0

    @property
    def is_everywhere(self) -> bool:
        """Whether every test runs the line, and there are enough of them for that to tell."""
        in_all = self.failing == self.all_failing and self.passing == self.all_passing
        return in_all and self.all_passing >= _TELLING


def rank_lines(failing: Sequence[Coverage], passing: Sequence[Coverage]) -> tuple[SuspectLine, ...]:
    """Return the lines that failing tests run, by Ochiai's score, ties by place."""
    in_failing, in_passing = _count(failing), _count(passing)
    found = [
        SuspectLine(
            path=path,
            line=line,
            failing=count,
            passing=in_passing[path, line],
            all_failing=len(failing),
            all_passing=len(passing),
        )
        for (path, line), count in in_failing.items()
    ]
    return tuple(sorted(found, key=lambda item: (-item.ochiai, item.path, item.line)))


def _count(tests: Sequence[Coverage]) -> Counter[tuple[str, int]]:
    return Counter((path, n) for test in tests for path, lines in test.items() for n in lines)


def find_places(
    issue: Issue,
    index: Index,
    *,
    failing: Sequence[TestRun] = (),
    watched: Sequence[TestRun] = (),
    limit: int = 20,
) -> tuple[Place, ...]:
    """Return the likeliest places of the bug that `issue` reports, best first.

    The tests `failing` fail because of it; they and nearby passing ones were `watched`.
    """
    suspects = find_suspects(issue, index, limit=50)
    top = max((suspect.score for suspect in suspects), default=1.0) or 1.0
    places = {(p.path, p.function): replace(p, score=p.score / top) for p in suspects}
    bad = [lines_of(run) for run in watched if run.verdict is Verdict.FAIL]
    good = [lines_of(run) for run in watched if run.verdict is Verdict.PASS]
    spectrum = _of_spectrum(bad, good, index, reported=places)
    seen = [*_of_stacks(failing, index).items(), *spectrum.items()]
    helps = {path: is_machinery(path, index) for path in {key[0] for key, _ in seen}}
    # What only helps tests is run by all that use it; nothing else may be known, though.
    others = [(key, place) for key, place in seen if not helps[key[0]]]
    for key, place in others or ([] if places else seen):
        places[key] = _joined(places.get(key), place)
    worth = (p for p in places.values() if p.score >= _LEAST and _may_have_run(p, bad))
    found = sorted(worth, key=lambda p: (-p.score, p.path, p.line))
    return tuple(found[:limit])


def _may_have_run(place: Place, failed: Sequence[Coverage]) -> bool:
    """Return whether a failing test runs a line of `place`, as far as such tests were watched."""
    inside = range(place.line, place.end_line + 1)
    ran = (line in inside for lines in failed for line in lines.get(place.path, ()))
    return not failed or not place.end_line or any(ran)


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
                lines=tuple(range(line, end + 1))[:_LINES],
                clues=(GivenByUser(),),
            )
        )
    return tuple(found)


def _of_stacks(failing: Iterable[TestRun], index: Index) -> dict[Key, Place]:
    """Return the functions on the stacks of failing tests, the deepest scoring most.

    What calls a test is no sign, not even where the project is what runs tests.
    """
    found: dict[Key, Place] = {}
    for run in failing:
        frames = run.raised.frames if run.raised else ()
        below = list(dropwhile(lambda frame: not is_test_path(frame.path), frames))
        ours = [f for f in below or frames if f.project and not is_test_path(f.path)]
        for depth, frame in enumerate(reversed(ours)):
            around = index.definition_at(frame.path, frame.line)
            if around is None:
                continue
            key = (frame.path, around.qualname)
            score = _DECAY**depth
            if key not in found or found[key].score < score:
                clue = OnTestStack(line=frame.line, depth=depth)
                found[key] = _place(around, score, (frame.line,), clue)
    return found


def _of_spectrum(
    bad: Sequence[Coverage],
    good: Sequence[Coverage],
    index: Index,
    *,
    reported: Collection[Key],
) -> dict[Key, Place]:
    """Return the functions that failing tests run, by their most suspicious line.

    What all tests run is left out, and what explains a failing assertion if it is not `reported`.
    """
    found: dict[Key, Place] = {}
    for suspect in rank_lines(bad, good):
        around = index.definition_at(suspect.path, suspect.line)
        # What stands outside of functions ran when the module was imported.
        if around is None or around.kind is DefinitionKind.CLASS:
            continue
        key = (suspect.path, around.qualname)
        explains = around.name in _EXPLAINING and key not in reported
        if not is_product(suspect.path) or explains or suspect.is_everywhere:
            continue
        known = found.get(key)
        if known is None:
            clue = RunByTests(
                failing=suspect.failing,
                all_failing=suspect.all_failing,
                passing=suspect.passing,
                all_passing=suspect.all_passing,
            )
            place = _place(around, suspect.ochiai, (suspect.line,), clue)
            found[key] = replace(place, ochiai=suspect.ochiai)
        elif known.ochiai == suspect.ochiai and len(known.lines) < _LINES:
            found[key] = replace(known, lines=(*known.lines, suspect.line))
    return found


def _place(definition: Definition, score: float, lines: tuple[int, ...], clue: Clue) -> Place:
    return Place(
        path=definition.path,
        function=definition.qualname,
        line=definition.line,
        end_line=definition.end_line,
        score=score,
        lines=lines,
        clues=(clue,),
    )


def _joined(known: Place | None, more: Place) -> Place:
    """Return what two signs say of one place."""
    if known is None:
        return more
    return replace(
        known,
        score=known.score + more.score,
        lines=tuple(dict.fromkeys((*more.lines, *known.lines)))[:_LINES],
        ochiai=more.ochiai if known.ochiai is None else known.ochiai,
        clues=(*more.clues, *known.clues),
    )


def is_machinery(path: str, index: Index) -> bool:
    """Say whether the file `path` helps tests alone.

    It does when it is called so, or imports a framework for tests, and nothing of the product
    imports it that does not help tests as well. What is merely imported by tests alone may well
    be what a project offers, and a project that is such a framework itself has none.
    """
    if not _looks_so(path, index):
        return False
    module = index.layout.module_of(path)
    return not any(
        other != path and is_product(other) and not _looks_so(other, index)
        for other in index.importers(module)
    )


def _looks_so(path: str, index: Index) -> bool:
    below = index.layout.module_of(path).split(".")[1:]
    if any(word in _HELPING for part in below for word in split_identifier(part)):
        return True
    foreign = _FRAMEWORKS - set(index.packages)
    return any(
        one.top and one.module.partition(".")[0] in foreign for one in index.imports_in(path)
    )
