"""A real llama.cpp with random weights: whatever it says, attempts end, and nothing breaks."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from pytest_brt.code.index import open_index
from pytest_brt.execute.engine import Engine
from pytest_brt.model.base import Completion, Model, Prompt, Settings
from pytest_brt.model.metered import Meter, MeteredModel
from pytest_brt.model.opening import open_model
from pytest_brt.reproduce.invert import invert
from pytest_brt.reproduce.libro.run import Libro
from pytest_brt.reproduce.prompting.context import gather_hints
from tests.acceptance.examples import EXAMPLES
from tests.reproduce.examples import bench_for, issue_of, open_example
from tests.support import tiny
from tests.support.rounds import rounds

pytestmark = [pytest.mark.slow, pytest.mark.llama]
NAMES = sorted(path.parent.name for path in EXAMPLES.glob("*/example.toml"))


class Brief(MeteredModel):
    """Answers in a few tokens: of random weights more of them would be no other noise."""

    def complete(self, prompt: Prompt) -> tuple[Completion, ...]:
        sampling = replace(prompt.sampling, max_tokens=min(24, prompt.sampling.max_tokens))
        return super().complete(replace(prompt, sampling=sampling))


@pytest.fixture(scope="module")
def model(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Model]:
    path = tmp_path_factory.mktemp("tiny") / "llama.gguf"
    tiny.write_llama(path)
    settings = Settings(context=2048, threads=1)
    opened = open_model(f"gguf:{path}", settings)
    yield Brief(opened, Meter())
    opened.close()


@pytest.fixture(scope="module", params=NAMES[: rounds(3)])
def example(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[tuple[str, Engine]]:
    engine = open_example(request.param, tmp_path_factory.mktemp("tiny"))
    yield request.param, engine
    engine.close()


def test_many_batches_end_by_themselves(example: tuple[str, Engine], model: Model) -> None:
    name, engine = example
    bench = bench_for(engine, model)
    with open_index(Path(engine.subject.root)) as index:
        hints = gather_hints(issue_of(name), index, engine)
        for number in range(rounds(34, least=6)):
            told = hints if number % 3 == 0 else None
            work = Libro(issue_of(name), number, bench, index, told=told)
            work.draw(2 + number % 3)
            assert work.endings
            assert work.tests() or work.told()


def test_turning_round_ends_by_itself(example: tuple[str, Engine], model: Model) -> None:
    name, engine = example
    bench = bench_for(engine, model)
    with open_index(Path(engine.subject.root)) as index:
        for number in range(rounds(4, least=2)):
            attempt = invert(issue_of(name), number, bench, index)
            (trajectory,) = attempt.trajectories
            assert trajectory.reason
            assert all(step.cost.calls == 1 for step in trajectory.steps)
