"""What is counted of repairs, and how it is shown; the figures are worked out by hand."""

from __future__ import annotations

from dataclasses import replace

from pytest_brt.evaluate.record import (
    UNSTARTED,
    About,
    Bug,
    FixOutcome,
    Repaired,
    RepairRun,
    RepairSettings,
    Reproduced,
    StudyResult,
    StudySettings,
)
from pytest_brt.evaluate.rows.runs import ALONE, WITH_TEST
from pytest_brt.types import Cost, FixSource
from tests.evaluate.studies import compared, lines, tables

AGENT = "repairagent"


def run(
    *fixes: tuple[int, bool, bool],
    given: bool,
    used: bool = False,
    without: tuple[str, ...] = (),
    ending: str = "finish",
    actions: tuple[str, ...] = ("cat", "edit", "test"),
) -> RepairRun:
    """Return a run; each of its fixes is a step, whether it was kept, and whether it is right."""
    return RepairRun(
        strategy="repairagent",
        without=without,
        index=0,
        given=given,
        brt="test_it" if given else "",
        used=used,
        fixes=tuple(
            FixOutcome(
                step=step,
                source=FixSource.AGENT,
                kept=kept,
                own=True if given else None,
                right=right,
                same_as_fix=right and step == 2,
            )
            for step, kept, right in fixes
        ),
        right_steps=tuple(step for step, _, right in fixes if right),
        actions=() if ending == UNSTARTED else actions,
        endings=(ending,),
        seconds=4.0,
        tool_seconds=1.0,
        cost=Cost(tokens=100, prompt_tokens=1000),
    )


def bug(name: str, *runs: RepairRun) -> Repaired:
    numbered = tuple(replace(run, index=index) for index, run in enumerate(runs))
    return Repaired(instance=name, tests=1, runs=numbered, seconds=3.0)


#: Right with the test in a and b, without it in b. Nobody mends c, where there is no test; its
#: second run did not begin.
BUGS = (
    bug("a", run((2, True, True), given=True, used=True), run((3, True, False), given=False)),
    bug(
        "b",
        run((4, True, True), (6, True, True), given=True, used=True),
        run((9, False, True), given=True),
        run((5, True, True), given=False),
    ),
    bug("c", run(given=False), run(given=False, ending=UNSTARTED)),
)
PROJECTS = {"a": "one", "b": "two", "c": "two"}
EXTENTS = {"a": "single-line", "b": "multi-line", "c": "multi-file"}


def study(*bugs: Repaired, without: tuple[tuple[str, ...], ...] = ()) -> StudyResult:
    repairs = RepairSettings(strategies=(AGENT,), without=without)
    settings = StudySettings(strategies=("replay",), repairs=repairs)
    return StudyResult(
        about=About(version="1", dataset="d", settings=settings),
        bugs=tuple(
            Bug(id=name, repo=PROJECTS[name], extent=EXTENTS[name])
            for name in (one.instance for one in bugs)
        ),
        reproduced=tuple(Reproduced(instance=one.instance) for one in bugs),
        repaired=bugs,
    )


def test_bugs_are_repaired_with_and_without() -> None:
    found = lines(tables(study(*BUGS))["repairs"], 3)
    heads = ("bugs", "a fix", "passes our tests", "right", "equal to the fix")
    cells = {given: [found[AGENT, "", given][head] for head in heads] for (_, _, given) in found}
    assert cells == {
        WITH_TEST: [2, 1.0, 1.0, 1.0, 0.5],
        ALONE: [3, 0.667, 0.0, 0.333, 0.0],
        "all": [3, 0.667, 0.667, 0.667, 0.333],
    }
    assert found[AGENT, "", "all"]["patches tried per bug"] == 2.0  # 2, 4 and none


def test_the_difference_is_over_bugs_that_have_both() -> None:
    found = lines(tables(study(*BUGS))["gain-of-test"], 4)
    right = found[AGENT, "", WITH_TEST, "right"]
    # One pair differs: it may as well have been the other way round.
    assert (right["n"], right["A"], right["B"], right["B - A"], right["p"]) == (2, 0.5, 1, 0.5, 1)
    # As in paper 001's Figure 3: repaired with the test only, without it only, and either way.
    assert (right["gained"], right["lost"], right["both"]) == (1, 0, 1)


def test_repairs_are_counted_by_project_and_by_extent() -> None:
    found = tables(study(*BUGS))
    heads = ("bugs", "bugs with a right fix", "with one equal to the fix")
    projects = lines(found["repairs-by-project"], 2)
    cells = {key: [line[head] for head in heads] for key, line in projects.items()}
    assert cells == {
        (AGENT, "all"): [3, 2, 1],
        (AGENT, "one"): [1, 1, 1],
        (AGENT, "two"): [2, 1, 0],
    }
    extents = lines(found["repairs-by-extent"], 3)
    cells = {key: [line[head] for head in heads] for key, line in extents.items()}
    assert cells == {
        (AGENT, "", "all"): [3, 2, 1],
        (AGENT, "", "single-line"): [1, 1, 1],
        (AGENT, "", "multi-line"): [1, 1, 0],
        (AGENT, "", "multi-file"): [1, 0, 0],
    }


def test_a_run_that_did_not_begin_is_a_run_without_a_fix() -> None:
    found = tables(study(*BUGS))
    alone = lines(found["repair-runs"], 3)[AGENT, "", ALONE]
    assert (alone["runs"], alone["right"]) == (4, 0.25)
    assert lines(found["endings"], 3)["repair", AGENT, "unstarted"] == {"times": 1, "share": 1 / 7}


def test_steps_to_right_count_fixes_that_were_not_kept() -> None:
    given = lines(tables(study(*BUGS))["repair-runs"], 3)[AGENT, "", WITH_TEST]
    # Steps 2, 4 and 9.
    assert (given["steps to right, median"], given["mean"]) == (4, 5)
    assert (given["tokens made"], given["tokens read"], given["seconds"]) == (100, 1000, 4)


def test_runs_are_told_apart_by_the_use_of_the_test() -> None:
    found = lines(tables(study(*BUGS))["repairs-use"], 2)
    assert found == {
        (AGENT, "used"): {"runs": 2, "right": 1},
        (AGENT, "not-given"): {"runs": 4, "right": 0.25},
        # What it wrote was not kept.
        (AGENT, "unused"): {"runs": 1, "right": 0},
    }


def test_calls_of_write_fix_are_told_by_outcome() -> None:
    writes = ("cat", "write_fix", "write_fix")
    result = study(
        bug(
            "a",
            run((2, False, False), (3, True, True), given=True, actions=writes),
            run((3, False, True), given=False, actions=writes),
        )
    )
    assert lines(tables(result)["writes"], 2) == {
        (AGENT, "fixed"): {"times": 2, "plausible": 0.5},
        # It wrote a right one and did not keep it.
        (AGENT, "unfixed"): {"times": 2, "plausible": 0.5},
    }


def test_costs_are_told_by_outcome() -> None:
    found = tables(study(*BUGS))
    spent = lines(found["spent"], 3)
    fixed = spent[AGENT, "share_in_tools", "fixed"]
    assert (fixed["n"], fixed["mean"], fixed["median"], fixed["a quarter above"]) == (
        *(3, 0.25),
        *(0.25, 0.25),
    )
    read = spent[AGENT, "read", "unfixed"]
    assert (read["n"], read["sum"]) == (4, 4000)


def test_actions_are_told_by_outcome() -> None:
    result = study(
        bug(
            "a",
            run((1, True, True), given=True, actions=("edit", "test")),
            run((1, True, True), given=True, actions=("edit", "")),
            run(given=False, actions=("cat", "cat", "cat")),
        )
    )
    found = lines(tables(result)["calls"], 3)
    assert {key[1:]: line["per run"] for key, line in found.items()} == {
        ("fixed", "all"): 2.0,
        ("fixed", "edit"): 1.0,
        ("fixed", "test"): 0.5,
        ("fixed", "other"): 0.5,
        ("unfixed", "cat"): 3.0,
    }
    pairs = lines(tables(result)["pairs"], 3)
    assert pairs["repair", AGENT, "cat→cat"] == {"times": 2, "share": 0.5}


def test_parts_are_measured_against_the_whole() -> None:
    off = ("search", "memory")
    bugs = [
        bug(name, run((2, True, True), given=True), run((2, True, False), given=True, without=off))
        for name in "ab"
    ]
    found = tables(study(*bugs, without=(off,)))
    right = lines(found["ablations"], 4)[AGENT, WITH_TEST, "search, memory", "right"]
    assert (right["n"], right["A"], right["B"], right["p"]) == (2, 1, 0, 0.5)
    # They are no runs of the whole.
    assert lines(found["repairs-use"], 2)[AGENT, "unused"]["runs"] == 2
    assert lines(found["endings"], 3)["repair", AGENT, "finish"]["times"] == 2
    assert "ablations" not in tables(study(*BUGS))


def test_what_could_not_be_repaired_is_told() -> None:
    found = tables(study(replace(BUGS[0], problem="no hidden tests")))
    assert found["problems"].lines == (("a", "no hidden tests"),)
    assert not any(name.startswith("repairs") for name in found)


def test_repairs_of_two_studies_are_compared() -> None:
    worse = study(bug("a", run(given=True)), bug("b", run((1, True, True), given=True)))
    found = compared(study(*BUGS), worse)
    right = lines(found["repairs"], 4)[AGENT, "", WITH_TEST, "right"]
    assert (right["n"], right["A"], right["B"], right["gained"], right["lost"]) == (2, 1, 0.5, 0, 1)
    cost = lines(found["costs"], 3)["repair", "seconds", "mean"]
    assert (cost["A"], cost["B"]) == (3.0, 3.0)
