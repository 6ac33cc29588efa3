"""A study, as a study writes it."""

from __future__ import annotations

from pytest_brt.evaluate.columns import Cell
from pytest_brt.evaluate.comparison import compare_studies
from pytest_brt.evaluate.estimates import Estimate
from pytest_brt.evaluate.record import (
    About,
    Bug,
    PatchOutcome,
    Ranked,
    RankedBy,
    Reproduced,
    StudyResult,
    StudySettings,
    TestOutcome,
)
from pytest_brt.evaluate.rows.study import rows_of
from pytest_brt.evaluate.tables import Table
from pytest_brt.evaluate.write import tables_of
from pytest_brt.types import Verdict


def bug(name: str, *after: Verdict, strategy: str = "replay") -> Reproduced:
    tests = tuple(
        TestOutcome(
            strategy=strategy, index=0, name="t", rule="no-raise", confidence=0.5, after=verdict
        )
        for verdict in after
    )
    return Reproduced(instance=name, tests=tests, seconds=2.0)


def ranking(name: str, *order: str) -> Ranked:
    patches = tuple(
        PatchOutcome(
            name=patch,
            system="",
            applies=True,
            right=patch == "good",
            same_as_fix=False,
            epr=None,
            score=None,
        )
        for patch in ("bad", "good")
    )
    groups = tuple((patch,) for patch in order)
    orders = (RankedBy(ranker="epr", groups=groups),)
    return Ranked(instance=name, tests=1, patches=patches, orders=orders, seconds=1.0)


def study(
    *found: Reproduced | Ranked, strategy: str = "replay", agree: int | None = None
) -> StudyResult:
    return StudyResult(
        about=About(
            version="1", dataset="d", settings=StudySettings(strategies=(strategy,), agree=agree)
        ),
        bugs=tuple(
            Bug(id=name, repo="r", extent="single-line")
            for name in dict.fromkeys(one.instance for one in found)
        ),
        reproduced=tuple(one for one in found if isinstance(one, Reproduced)),
        ranked=tuple(one for one in found if isinstance(one, Ranked)),
    )


def bug_with(*outcomes: TestOutcome, name: str) -> Reproduced:
    return Reproduced(instance=name, tests=outcomes)


def tables(result: StudyResult) -> dict[str, Table]:
    """Return the tables of a study, by name."""
    return {table.name: table for table in tables_of(rows_of(result))}


def lines(table: Table, keys: int = 1) -> dict[tuple[Cell, ...], dict[str, Cell]]:
    """Return the lines of a table by their first cells; of means without their ends."""
    return {
        line[:keys]: {
            head: round(cell.mean, 3) if isinstance(cell, Estimate) else cell
            for head, cell in zip(table.heads[keys:], line[keys:], strict=True)
        }
        for line in table.lines
    }


def compared(one: StudyResult, other: StudyResult) -> dict[str, Table]:
    tables = compare_studies((one.about, rows_of(one)), (other.about, rows_of(other)))
    return {table.name: table for table in tables}


ONE = study(
    *(bug(name, Verdict.FAIL) for name in "abcdef"),
    bug("g", Verdict.PASS),
    bug("only-one"),
    ranking("a", "bad", "good"),
)
