"""Two studies compared."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from pytest_brt.cli.main import main
from pytest_brt.codec import to_json
from pytest_brt.evaluate.compare_studies import comparison
from pytest_brt.evaluate.record import (
    PatchOutcome,
    Ranked,
    RankedBy,
    Reproduced,
    StudyResult,
    StudySettings,
    TestOutcome,
)
from pytest_brt.types import Verdict


def bug(name: str, *after: Verdict, strategy: str = "replay") -> Reproduced:
    tests = tuple(
        TestOutcome(
            strategy=strategy, index=0, name="t", rule="no-raise", confidence=0.5, after=verdict
        )
        for verdict in after
    )
    return Reproduced(instance=name, repo="r", tests=tests, seconds=2.0)


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
    return Ranked(instance=name, repo="r", tests=1, patches=patches, orders=orders, seconds=1.0)


def study(*found: Reproduced | Ranked, strategy: str = "replay") -> StudyResult:
    return StudyResult(
        version="1",
        dataset="d",
        settings=StudySettings(strategies=(strategy,)),
        instances=tuple((one.instance, "r") for one in found),
        extents=("single-line",) * len(found),
        reproduced=tuple(one for one in found if isinstance(one, Reproduced)),
        ranked=tuple(one for one in found if isinstance(one, Ranked)),
    )


ONE = study(
    *(bug(name, Verdict.FAIL) for name in "abcdef"),
    bug("g", Verdict.PASS),
    bug("only-one"),
    ranking("a", "bad", "good"),
)
OTHER = study(
    *(bug(name, Verdict.FAIL, Verdict.PASS) for name in "abcdef"),
    bug("g", Verdict.PASS),
    replace(bug("h"), problem="no clone"),
    ranking("a", "good", "bad"),
)


def test_what_changed_is_told_with_its_significance() -> None:
    tables = {table.name: table for table in comparison(ONE, OTHER)}
    rates = {row[0]: row[1:] for row in tables["rates-replay"].rows}
    a, b, gained, lost, _, p = rates["plausible"]
    assert (a, b, gained, lost, p) == (1, 7, 6, 0, 2 / 64)
    assert rates["candidate"][:4] == (7, 7, 0, 0)
    assert tables["changed-replay"].rows[0] == ("a", "1 candidates", "plausible at 2 of 2")
    assert len(tables["changed-replay"].rows) == 6
    about = {row[0]: row[1:] for row in tables["about"].rows}
    assert about["only in this one"] == ("1", "0")
    (row,) = [row for row in tables["rankers"].rows if row[1] == "mrr"]
    assert row[2:4] == (0.5, 1.0)


def test_the_only_strategies_are_compared_whatever_their_names() -> None:
    other = study(bug("a", Verdict.PASS, strategy="agent"), strategy="agent")
    tables = {table.name: table for table in comparison(ONE, other)}
    assert tables["rates-agent"].rows[1][1:5] == (0, 1, 1, 0)
    assert ("strategies", "('replay',)", "('agent',)") in tables["about"].rows


def test_the_command(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    for name, result in (("a", ONE), ("b", OTHER)):
        (tmp_path / name).mkdir()
        (tmp_path / name / "result.json").write_text(to_json(result), "utf-8")
    assert main(["report", str(tmp_path / "a"), str(tmp_path / "b")]) == 0
    assert "bugs whose outcome changed" in capsys.readouterr().out
    assert main(["report", str(tmp_path / "a"), str(tmp_path / "c")]) == 4
    assert "no study in" in capsys.readouterr().err
