"""What the runs of a repair share, by a strategy that says what it was given."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import closing
from dataclasses import replace
from io import BytesIO
from pathlib import Path

import pytest

from pytest_brt.guard import Guard
from pytest_brt.issue.load import load_issue
from pytest_brt.model.base import Model
from pytest_brt.model.metered import Meter, MeteredModel
from pytest_brt.repair.bench import RepairBench
from pytest_brt.repair.strategy import RepairStrategy
from pytest_brt.reproduce.replay.run import replay
from pytest_brt.reproduce.strategy import Workbench
from pytest_brt.run.repairs import Repairing, RepairPlan
from pytest_brt.types import Attempt, Issue, Repair
from tests.repair.scenes import Scene, open_scene, scripted

#: A model that says nothing about a test that could be read.
SILENT = "=== always\nnothing\n"


@pytest.fixture(scope="module")
def scene(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Scene]:
    with open_scene(tmp_path_factory.mktemp("repairs") / "project") as scene:
        yield scene


@pytest.fixture(scope="module")
def issue(scene: Scene) -> Issue:
    return load_issue(str(scene.root / "clamp.md"), BytesIO())


@pytest.fixture(scope="module")
def made(scene: Scene, issue: Issue) -> Attempt:
    return replay(issue, engine=scene.engine)


def what_was_given(index: int, bench: RepairBench) -> Repair:
    brt = bench.brt.test.name if bench.brt else ""
    return Repair(issue=bench.bug.issue.id, strategy="s", index=index, fixes=(), brt=brt)


def repaired(
    scene: Scene,
    model: Model,
    attempt: Attempt,
    issue: Issue,
    *,
    seed: int = 0,
) -> list[Repair]:
    plan = RepairPlan(
        issues=frozenset({issue.id}),
        strategies={"s": RepairStrategy(attempt=what_was_given, runs=6, alternates=True)},
    )
    bench = Workbench(
        engine=scene.engine, repeat=1, keep=5, model=model, say=lambda _: None, seed=seed
    )
    with closing(Repairing(plan, bench, Guard(scene.engine))) as repairing:
        return [
            repairing.repair(issue, "s", index, attempts=[attempt], given=(), deadline=float("inf"))
            for index in range(6)
        ]


def test_one_test_is_drawn_for_all_runs_on_a_bug(
    scene: Scene, made: Attempt, issue: Issue, tmp_path: Path
) -> None:
    model = scripted(tmp_path, SILENT)
    drawn = set()
    for seed in range(8):
        runs = repaired(scene, model, made, issue, seed=seed)
        with_one, without = runs[::2], runs[1::2]
        assert {repair.brt for repair in without} == {""}
        (name,) = {repair.brt for repair in with_one}
        drawn.add(name)
    assert len(drawn) > 1


def test_a_model_is_asked_about_tests_unless_it_was_when_they_were_made(
    scene: Scene, made: Attempt, issue: Issue, tmp_path: Path
) -> None:
    for strategy, is_asked in (("agent", True), ("auto", False)):
        meter = Meter()
        model = MeteredModel(scripted(tmp_path, SILENT), meter)
        repaired(scene, model, replace(made, strategy=strategy), issue)
        assert (meter.cost.calls > 0) is is_asked
