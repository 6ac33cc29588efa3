"""What is counted of repairs, and how it is shown; the figures are worked out by hand."""

from __future__ import annotations

from dataclasses import replace

import pytest

from pytest_brt.evaluate.compare_studies import comparison
from pytest_brt.evaluate.metrics import Gap, ratio_interval
from pytest_brt.evaluate.rates import REPAIR_RATES, Which, both_tried, gain, shares, steps_to_right
from pytest_brt.evaluate.record import (
    FixOutcome,
    Repaired,
    RepairRun,
    RepairSettings,
    Reproduced,
    StudyResult,
    StudySettings,
)
from pytest_brt.evaluate.repair_tables import per_run
from pytest_brt.evaluate.table import Cell, Table
from pytest_brt.evaluate.tables import tables_of
from pytest_brt.types import Cost, FixSource


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
        actions=actions if ending else (),
        ending=ending,
        cost=Cost(tokens=100),
    )


def bug(name: str, *runs: RepairRun) -> Repaired:
    return Repaired(instance=name, repo="r", tests=1, runs=runs, seconds=3.0)


#: Right with the test in a and b, without it in b; nobody mends c, where there is no test.
BUGS = (
    bug("a", run((2, True, True), given=True, used=True), run((3, True, False), given=False)),
    bug(
        "b",
        run((4, True, True), (6, True, True), given=True, used=True),
        run((9, False, True), given=True),
        run((5, True, True), given=False),
    ),
    bug("c", run(given=False), run((1, True, True), given=False, ending="")),
)


def study(*bugs: Repaired, without: tuple[tuple[str, ...], ...] = ()) -> StudyResult:
    repairs = RepairSettings(strategies=("repairagent",), without=without)
    return StudyResult(
        version="1",
        dataset="d",
        settings=StudySettings(strategies=("replay",), repairs=repairs),
        instances=tuple((one.instance, "r") for one in bugs),
        extents=("single-line",) * len(bugs),
        reproduced=tuple(Reproduced(instance=one.instance, repo="r") for one in bugs),
        repaired=bugs,
    )


def table(result: StudyResult, name: str) -> Table:
    return next(one for one in tables_of(result) if one.name == name)


def means(cells: tuple[Cell, ...]) -> list[object]:
    return [round(cell.mean, 3) if isinstance(cell, Gap) else cell for cell in cells]


def test_bugs_are_repaired_with_and_without() -> None:
    given = Which(strategy="repairagent", given=True).tried(BUGS)
    rates = shares(REPAIR_RATES, given)
    assert (len(given), rates["right"].mean, rates["same"].mean) == (2, 1.0, 0.5)
    # Steps 2, 4 and 9: a right fix that was not kept was written too.
    assert steps_to_right(given) == 4
    alone = Which(strategy="repairagent", given=False).tried(BUGS)
    rates = shares(REPAIR_RATES, alone)
    assert (len(alone), round(rates["right"].mean, 3), steps_to_right(alone)) == (3, 0.333, 5)
    assert rates["fix"].mean == pytest.approx(2 / 3)
    assert rates["own"].mean == 0


def test_the_difference_is_over_bugs_that_have_both() -> None:
    with_, without = (Which(strategy="repairagent", given=given) for given in (True, False))
    both = both_tried((with_.runs(one), without.runs(one)) for one in BUGS)
    assert len(both) == 2
    # One pair differs: it may as well have been the other way round.
    assert (gain(both)[0].mean, gain(both)[1]) == (0.5, 1.0)
    many = [(with_.runs(BUGS[0]), without.runs(BUGS[0]))] * 6
    assert gain(many)[1] == 2 / 64


def test_a_share_of_runs_is_drawn_by_bugs() -> None:
    found = ratio_interval([(3, 4), (0, 0), (1, 4)])
    assert (found.mean, found.n) == (0.5, 2)
    assert (found.low, found.high) == (0.25, 0.75)
    assert ratio_interval([(0, 0)]).n == 0


def test_the_tables_of_repairs() -> None:
    result = study(*BUGS)
    rows = {row[0]: means(row[1:]) for row in table(result, "repairs-repairagent").rows}
    assert rows["the failing test"] == [2, 1.0, 1.0, 1.0, 0.5, "4", ""]
    assert rows["the report alone"] == [3, 0.667, 0.0, 0.333, 0.0, "5", ""]
    assert rows["either"] == [3, 0.667, 0.667, 0.667, 0.333, "4.5", ""]
    assert rows["difference, bugs with both"] == [2, 0.0, 1.0, 0.5, 0.5, "", "1.000"]
    use = {row[1]: means(row[2:]) for row in table(result, "repairs-use").rows}
    assert use["given and used"] == [2, 1.0]
    assert use["given, not used"] == [1, 0.0]  # what it wrote was not kept
    assert use["not given"] == [3, 0.333]
    (about,) = table(result, "bugs").rows
    assert about[-1] == 3
    assert len(per_run(result).rows) == 7


def test_actions_are_told_by_outcome() -> None:
    result = study(
        bug(
            "a",
            run((1, True, True), given=True, actions=("edit", "test")),
            run((1, True, True), given=True, actions=("edit", "")),
            run(given=False, actions=("cat", "cat", "cat")),
        )
    )
    rows = {row[0]: row[1:] for row in table(result, "tools-repairagent").rows}
    assert rows == {
        "cat": (0.0, 3.0),
        "edit": (1.0, 0.0),
        "other": (0.5, 0.0),
        "test": (0.5, 0.0),
        "all": (2.0, 3.0),
    }
    behaviour = table(result, "behaviour-repair-repairagent")
    assert ("two in a row", "cat→cat", 2, 0.5) in behaviour.rows


def test_parts_are_measured_against_the_whole() -> None:
    off = ("search",)
    bugs = [
        bug(name, run((2, True, True), given=True), run((2, True, False), given=True, without=off))
        for name in "ab"
    ]
    rows = table(study(*bugs, without=(off,)), "ablations").rows
    assert means(rows[0])[:3] == ["the whole", 2, 1.0]
    assert means(rows[1])[:5] == ["without search", 2, 0.0, -1.0, "0.500"]
    assert rows[1][5:] == ("–", "100", "0.0")
    # They are no runs of the whole.
    assert table(study(*bugs, without=(off,)), "repairs-use").rows[1][2] == 2
    assert "ablations" not in {one.name for one in tables_of(study(*bugs))}


def test_what_could_not_be_repaired_is_told() -> None:
    result = study(replace(BUGS[0], problem="no hidden tests"))
    assert table(result, "problems").rows == (("a", "no hidden tests"),)
    assert not any(one.name.startswith("repairs") for one in tables_of(result))


# -- several studies ----------------------------------------------------------------------

WORSE = study(*(replace(one, runs=one.runs[-1:]) for one in BUGS))


def test_repairs_of_two_studies_are_compared() -> None:
    worse = study(bug("a", run(given=True)), bug("b", run((1, True, True), given=True)))
    tables = {one.name: one for one in comparison(study(*BUGS), worse)}
    (given,) = [row for row in tables["repairs"].rows if "with the failing test" in str(row[0])]
    assert means(given) == ["repairagent with the failing test", 2, 2, 1, 0, 1, -0.5, 1.0]
    (repair,) = [row for row in tables["seconds"].rows if row[0] == "repair"]
    assert repair[1:3] == (3.0, 3.0)


def test_settings_that_differ_are_told_in_few_words() -> None:
    one = study(*BUGS)
    text = "a long prompt " * 100
    worded = replace(one, settings=replace(one.settings, prompts=(("libro/system.j2", text),)))
    (about,) = [table for table in comparison(one, worded) if table.name == "about"]
    (row,) = [row for row in about.rows if row[0] == "prompts"]
    assert row[1] == "()"
    assert "libro/system.j2" in str(row[2])
    assert len(str(row[2])) < 60
