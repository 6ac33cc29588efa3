"""Two studies compared."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from pytest_brt.cli.main import main
from pytest_brt.codec import to_json
from pytest_brt.evaluate.compare_studies import comparison
from pytest_brt.types import Verdict
from tests.evaluate.studies import ONE, bug, ranking, study

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
