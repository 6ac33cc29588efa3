"""Plots and the page: there, complete, and the same for the same data."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from pytest_brt.evaluate.plots import thresholds
from pytest_brt.evaluate.record import (
    About,
    Bug,
    FixOutcome,
    PatchOutcome,
    Ranked,
    RankedBy,
    Repaired,
    RepairRun,
    RepairSettings,
    Reproduced,
    StudiedRun,
    StudyResult,
    StudySettings,
    TestOutcome,
)
from pytest_brt.evaluate.rows.study import rows_of
from pytest_brt.evaluate.write import read_study, write_study
from pytest_brt.types import Verdict

# Here, so that a test of pytester's does not unload what cannot be loaded again.
pytest.importorskip("matplotlib.figure")


def patch(name: str, right: bool) -> PatchOutcome:
    return PatchOutcome(
        name=name, system="s", applies=True, right=right, same_as_fix=False, epr=1.0, score=0.5
    )


def study() -> StudyResult:
    test = TestOutcome(
        strategy="agent", index=0, name="t", rule="no-raise", confidence=1.0, after=Verdict.PASS
    )
    told = StudiedRun(
        strategy="agent",
        index=0,
        actions=("search", "edit", "<test>"),
        endings=("finish",),
    )
    ranked = Ranked(
        instance="a",
        tests=1,
        patches=(patch("x", True), patch("y", False)),
        orders=(RankedBy(ranker="epr", groups=(("x",), ("y",))),),
    )
    fix = FixOutcome(step=2, source="a", kept=True, own=True, right=True, same_as_fix=False)
    runs = tuple(
        RepairRun(
            strategy="passerine",
            index=index,
            given=index == 0,
            fixes=(fix,) if index == 0 else (),
            actions=("cat", "edit", "test"),
            endings=("finish",),
        )
        for index in range(2)
    )
    return StudyResult(
        about=About(
            version="1",
            dataset="d & co",
            settings=StudySettings(
                strategies=("agent",), repairs=RepairSettings(strategies=("passerine",))
            ),
        ),
        bugs=(
            Bug(id="a", repo="r", extent="single-line"),
            Bug(id="b", repo="r", extent="multi-file"),
        ),
        reproduced=(
            Reproduced(instance="a", tests=(test,), runs=(told,), seconds=1.0),
            Reproduced(instance="b", problem="no <clone>"),
        ),
        ranked=(ranked,),
        repaired=(Repaired(instance="a", runs=runs, seconds=2.0),),
    )


@pytest.mark.slow
def test_the_same_data_gives_the_same_bytes(tmp_path: Path) -> None:
    lines = write_study(study(), tmp_path / "one")
    assert read_study(tmp_path / "one") == (study().about, rows_of(study()))
    write_study(study(), tmp_path / "two")
    files = sorted(path.relative_to(tmp_path / "one") for path in (tmp_path / "one").rglob("*.*"))
    plots = {path.name for path in files if path.parent.name == "plots"}
    stems = (
        *("top-k", "thresholds", "actions-reproduce-agent", "actions-repair-passerine"),
        *("repair-steps-passerine", "repair-cost-passerine", "repair-tokens-passerine"),
    )
    assert plots == {f"{stem}.{kind}" for stem in stems for kind in ("svg", "png")}
    for path in files:
        assert (tmp_path / "one" / path).read_bytes() == (tmp_path / "two" / path).read_bytes()
    page = (tmp_path / "one/report.md").read_text("utf-8")
    assert "no &lt;clone>" in page
    assert page.count("](plots/") == len(stems)
    assert "http" not in page
    assert any("no <clone>" in line for line in lines)


def test_an_empty_study_is_written_too(tmp_path: Path) -> None:
    nothing = replace(study(), reproduced=(), ranked=(), repaired=())
    (line, *_) = write_study(nothing, tmp_path)
    assert line.startswith("result:")
    assert not (tmp_path / "plots").exists()


def test_a_threshold_that_selects_nothing_has_no_precision() -> None:
    (ranked,) = study().ranked
    half = tuple(replace(patch, epr=0.5) for patch in ranked.patches)
    rows = rows_of(replace(study(), ranked=(replace(ranked, patches=half),)))["thresholds"]
    curves = thresholds(rows)
    assert list(curves) == ["precision", "recall", "F1", "MRR"]
    assert curves["precision"][0][-1] == 0.5
    assert len(curves["recall"][0]) == 101
