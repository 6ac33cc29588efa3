"""Two studies compared."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from pytest_brt.cli.main import main
from pytest_brt.evaluate.write import write_rows
from pytest_brt.types import Verdict
from tests.evaluate.studies import ONE, bug, compared, lines, ranking, study

OTHER = study(
    *(bug(name, Verdict.FAIL, Verdict.PASS) for name in "abcdef"),
    bug("g", Verdict.PASS),
    replace(bug("h"), problem="no clone"),
    ranking("a", "good", "bad"),
)


def test_what_changed_is_told_with_its_significance() -> None:
    tables = compared(ONE, OTHER)
    found = lines(tables["reproduced"], 3)
    plausible = found["replay", "r", "plausible"]
    assert (plausible["A"], plausible["B"]) == (1 / 7, 1)
    assert (plausible["gained"], plausible["lost"], plausible["p"]) == (6, 0, 2 / 64)
    candidate = found["replay", "r", "candidate"]
    assert (candidate["n"], candidate["B - A"]) == (7, 0)
    assert tables["changed"].lines[0] == ("a", "replay", 1, None, 2, 2)
    assert len(tables["changed"].lines) == 6
    mrr = lines(tables["rankers"], 2)["epr", "mrr"]
    assert (mrr["A"], mrr["B"]) == (0.5, 1.0)


def test_rankings_of_other_patches_are_not_compared() -> None:
    (ranked,) = OTHER.ranked
    one, *others = ranked.patches
    other = replace(OTHER, ranked=(replace(ranked, patches=(replace(one, name="x"), *others)),))
    assert "rankers" not in compared(ONE, other)


def test_the_only_strategies_are_compared_whatever_their_names() -> None:
    other = study(bug("a", Verdict.PASS, strategy="agent"), strategy="agent")
    tables = compared(ONE, other)
    assert lines(tables["reproduced"], 3)["replay", "r", "plausible"]["gained"] == 1
    assert ("strategies", "('replay',)", "('agent',)") in tables["about"].lines


def test_the_command(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    for name, result in (("a", ONE), ("b", OTHER)):
        write_rows(result, tmp_path / name)
    assert main(["report", str(tmp_path / "a"), str(tmp_path / "b")]) == 0
    assert "bugs whose outcome changed" in capsys.readouterr().out
    assert main(["report", str(tmp_path / "a"), str(tmp_path / "c")]) == 4
    assert "no study in" in capsys.readouterr().err
