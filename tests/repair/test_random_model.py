"""A model with random weights, on real llama.cpp: whatever it says, a repair ends by itself."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path

import pytest

from pytest_brt.model.base import Completion, Prompt, Settings
from pytest_brt.model.metered import Meter, MeteredModel
from pytest_brt.model.opening import open_model
from pytest_brt.repair.bench import Without
from pytest_brt.repair.passerine import run_passerine
from pytest_brt.repair.repairagent import STATES, run_repairagent, state_after
from pytest_brt.types import Ending, Trajectory
from tests.repair.scenes import Scene
from tests.support import tiny
from tests.support.rounds import rounds
from tests.support.trees import tree_hash

RUNS = rounds(100)
AT_ONCE = 10


class Wide(MeteredModel):
    """Draws among all tokens: of random weights the 40 likeliest hardly ever end a string."""

    def complete(self, prompt: Prompt) -> tuple[Completion, ...]:
        sampling = replace(prompt.sampling, top_k=0)
        return super().complete(replace(prompt, sampling=sampling))


@pytest.mark.slow
@pytest.mark.long
def test_many_runs_end_and_leave_the_tree_as_it_is(scene: Scene, tmp_path: Path) -> None:
    tiny.write_llama(tmp_path / "tiny.gguf", context=6_144)
    model = Wide(open_model(f"gguf:{tmp_path}/tiny.gguf", Settings(threads=1)), Meter())
    before = tree_hash(scene.root)

    def run(number: int) -> Trajectory:
        # Without states all tools are at hand, write_fix and its variants too.
        without = frozenset({Without.STATES}) if number % 2 else frozenset()
        if number % 5 == 4:
            given = scene.bug().failing[0]
            done = run_passerine(number, scene.bench(model, brt=given, steps=2, seed=number))
        else:
            bench = scene.bench(model, steps=2, variants=1, seed=number, without=without)
            done = run_repairagent(1, bench)
        assert done.trajectory is not None
        return done.trajectory

    try:
        with ThreadPoolExecutor(AT_ONCE) as pool:
            trajectories = list(pool.map(run, range(RUNS)))
    finally:
        model.close()
    assert tree_hash(scene.root) == before
    assert len(trajectories) == RUNS
    for number, trajectory in enumerate(trajectories):
        assert trajectory.ending in {Ending.STEPS, Ending.LOOP, Ending.TOKENS, Ending.FINISH}
        if number % 2 or number % 5 == 4:
            continue
        for at, step in enumerate(trajectory.steps):
            if step.is_done:
                assert step.action in STATES[state_after(trajectory.steps[:at])]
    # It does not only fail: different actions are carried out.
    done = {step.action for one in trajectories for step in one.steps if step.is_done}
    assert len(done) > 1
