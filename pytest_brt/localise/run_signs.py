"""What points at a place in the runs of tests: the stacks of those that fail, and what they run."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from itertools import dropwhile

from pytest_brt.code.file_facts import DefinitionKind
from pytest_brt.code.index import Index
from pytest_brt.code.layout import is_product, is_test_path
from pytest_brt.localise.machinery import is_machinery
from pytest_brt.localise.quoted import miscalled
from pytest_brt.localise.sign import Sign
from pytest_brt.localise.spectrum import Coverage, rank_lines
from pytest_brt.types import Frame, TestRun
from pytest_brt.types.clue import OnTestStack, RunByTests

#: How much less each frame of a failing test says than the one below it.
_DECAY = 0.75
#: What making an object runs, and what pytest calls to explain a failing assertion.
_USUAL = frozenset({"__init__", "__new__", "__post_init__", "__repr__", "__str__"})
#: How the functions are called that fail because they are to: they ask for the test.
_ASKS = "assert"


def signs_of_runs(
    failing: Sequence[TestRun],
    bad: Sequence[Coverage],
    good: Sequence[Coverage],
    index: Index,
    reported: Collection[int],
) -> Mapping[int, list[Sign]]:
    """Return what in the runs of tests points at each passage, by its number.

    The tests `failing` fail because of the bug; `bad` and `good` are what failing and passing
    tests ran. What only helps tests is left out where the runs or the report point elsewhere;
    the passages `reported` are what the report points at.
    """
    found: defaultdict[int, list[Sign]] = defaultdict(list)
    for signs in (_of_spectrum(bad, good, index, reported), _of_stacks(failing, index)):
        for number, sign in signs.items():
            found[number].append(sign)
    said = {run.raised.message for run in failing if run.raised}
    for number, sign in miscalled("\n".join(sorted(said)), index):
        found[number].append(sign)
    helps = {number for number in found if is_machinery(index.passages[number].path, index)}
    if reported or len(helps) < len(found):
        for number in helps:
            del found[number]
    return found


def _of_stacks(failing: Iterable[TestRun], index: Index) -> dict[int, Sign]:
    """Return the functions on the stacks of failing tests, the deepest scoring most."""
    found: dict[int, Sign] = {}
    for run in failing:
        for depth, frame in enumerate(_frames(run)):
            number = index.passage_at(frame.path, frame.line)
            score = _DECAY**depth
            if number is not None and (number not in found or found[number].score < score):
                clue = OnTestStack(line=frame.line, depth=depth)
                found[number] = Sign(score, clue, (frame.line,))
    return found


def _frames(run: TestRun) -> Iterator[Frame]:
    """Yield the frames of the product below a test, the deepest first.

    What calls a test is no sign, not even where the project is what runs tests, and neither is
    what the test asks with.
    """
    frames = run.raised.frames if run.raised else ()
    below = list(dropwhile(lambda frame: not is_test_path(frame.path), frames))
    for frame in reversed(below or frames):
        asks = frame.function.startswith(_ASKS)
        if frame.project and not is_test_path(frame.path) and not asks:
            yield frame


def _of_spectrum(
    bad: Sequence[Coverage], good: Sequence[Coverage], index: Index, reported: Collection[int]
) -> dict[int, Sign]:
    """Return the functions that failing tests run, by their most suspicious lines.

    What all tests run is left out, and, where it is not `reported`, what makes objects or
    explains a failing assertion.
    """
    found: dict[int, Sign] = {}
    for suspect in rank_lines(bad, good):
        around = index.definition_at(suspect.path, suspect.line)
        number = index.passage_at(suspect.path, suspect.line)
        # What stands outside of functions ran when the module was imported.
        if around is None or number is None or around.kind is DefinitionKind.CLASS:
            continue
        usual = around.name in _USUAL or around.name.startswith(_ASKS)
        idle = suspect.is_everywhere or not is_product(suspect.path)
        if idle or (usual and number not in reported):
            continue
        if number not in found:
            clue = RunByTests(
                failing=suspect.failing,
                all_failing=suspect.all_failing,
                passing=suspect.passing,
                all_passing=suspect.all_passing,
            )
            found[number] = Sign(suspect.ochiai, clue)
        known = found[number]
        if known.score == suspect.ochiai:
            found[number] = known._replace(lines=(*known.lines, suspect.line))
    return found
