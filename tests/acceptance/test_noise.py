"""A model of random weights drives the agent: whatever it writes, every run comes to an end."""

from __future__ import annotations

import re
import sys
from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path

import pytest

from pytest_brt.agent.loop import run_agent
from pytest_brt.agent.trajectory import Log
from pytest_brt.code.index import open_index
from pytest_brt.execute.engine import Engine
from pytest_brt.issue.load import load_issue
from pytest_brt.model.base import Completion, Model, Prompt, Settings, WrappedModel
from pytest_brt.model.opening import open_model
from pytest_brt.reproduce.agent.run import agent, session_of
from pytest_brt.reproduce.agent.task import TestTask
from pytest_brt.reproduce.agent.writers import BrtAgent
from pytest_brt.reproduce.prompting.context import gather_hints
from pytest_brt.reproduce.strategy import Workbench
from pytest_brt.store import Journal
from pytest_brt.types import Ending, Issue, Step, Trajectory
from tests.acceptance.examples import EXAMPLES, NAMES, unpack
from tests.support.projects import open_on
from tests.support.rounds import rounds
from tests.support.tiny import words, write_llama

pytestmark = [pytest.mark.slow, pytest.mark.llama]
BENCH = Path(__file__).parents[2] / "bench"
#: Each example gets a third of them all; in CI one example stands for the three.
RUNS, DEEP = rounds(18, least=2), rounds(16, least=3)
PROJECTS = NAMES[: rounds(3)]
STEPS = 8
ENDED = {Ending.FINISH, Ending.STEPS, Ending.TOKENS, Ending.LOOP}


@pytest.fixture(scope="module")
def model(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Model]:
    path = write_llama(tmp_path_factory.mktemp("noise") / "noise.gguf", words=words(3000))
    model = open_model(f"gguf:{path}", Settings(context=2048, threads=1))
    yield model
    model.close()


@pytest.fixture(scope="module", params=PROJECTS)
def engine(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Engine]:
    root = unpack(EXAMPLES / request.param, tmp_path_factory.mktemp("noise"))
    (root.parent / "issue.md").write_text(
        (EXAMPLES / request.param / "issue.md").read_text("utf-8"), "utf-8"
    )
    engine = open_on(root, sandbox="auto", seconds=20)
    yield engine
    engine.close()


def bench_of(engine: Engine, model: Model, folder: Path) -> Workbench:
    return Workbench(
        engine=engine,
        repeat=1,
        keep=5,
        model=model,
        say=lambda text: None,
        journal=Journal(folder / "journal.jsonl", "noise"),
        steps=STEPS,
    )


def check(folder: Path, issue: Issue, found: Mapping[str, Trajectory]) -> None:
    """Every dialogue has ended, and could be taken up from the journal."""
    journal = Journal(folder / "journal.jsonl", "noise")
    for name, trajectory in found.items():
        assert trajectory.ending in ENDED, trajectory
        numbers = range(1, len(trajectory.steps) + 1)
        assert [step.number for step in trajectory.steps] == list(numbers)
        for step in trajectory.steps:
            assert journal.get(Step, "step", issue.id, name, str(step.number)) == step


def test_runs_of_noise_end(engine: Engine, model: Model, tmp_path: Path) -> None:
    root = Path(engine.subject.root)
    issue = load_issue(str(root.parent / "issue.md"), sys.stdin.buffer)
    bench = bench_of(engine, model, tmp_path)
    with open_index(root) as index, ThreadPoolExecutor(8) as pool:

        def one(number: int) -> Trajectory:
            return agent(issue, number, bench, index).trajectories[0]

        made = list(pool.map(one, range(RUNS)))
    check(tmp_path, issue, {f"agent-{number:02}": one for number, one in enumerate(made)})


class Rewording(WrappedModel):
    """Says what a model says with a real file in place of the first path of each reply."""

    def __init__(self, model: Model, paths: Sequence[str]) -> None:
        super().__init__(model)
        self.paths = paths

    def complete(self, prompt: Prompt) -> tuple[Completion, ...]:
        return tuple(map(self._reworded, self.model.complete(prompt)))

    def _reworded(self, answer: Completion) -> Completion:
        path = self.paths[answer.seed % len(self.paths)]
        known = f'"path": "{path}"'
        text = re.sub(r'"path": "(?:[^"\\]|\\.)*"?', known, answer.text, count=1)
        return replace(answer, text=text)


def test_runs_of_noise_that_names_real_files_end(
    engine: Engine, model: Model, tmp_path: Path
) -> None:
    root = Path(engine.subject.root)
    issue = load_issue(str(root.parent / "issue.md"), sys.stdin.buffer)
    with open_index(root) as index, ThreadPoolExecutor(8) as pool:
        files = sorted(index.layout.files)
        tests = [path for path in files if path.rpartition("/")[2].startswith("test")][:3]
        reworded = Rewording(model, (*tests, files[0]))
        bench = bench_of(engine, reworded, tmp_path)
        hints = gather_hints(issue, index)

        def one(number: int) -> Trajectory:
            task = TestTask(issue=issue, bench=bench, index=index, hints=hints, strategy="agent")
            session = session_of(task, number, top_k=0, longest=400)
            log = Log(issue.id, f"deep-{number:02}", bench.journal)
            sampling = replace(session.sampling, temperature=2.0)
            session = replace(session, log=log, sampling=sampling)
            return run_agent(BrtAgent(task), session)

        made = list(pool.map(one, range(DEEP)))
    seen = {step.action for trajectory in made for step in trajectory.steps}
    # Which ones is up to chance; at least one that looks into real files, or runs them.
    assert {"cat", "edit", "test"} & seen, seen
    check(tmp_path, issue, {f"deep-{number:02}": one for number, one in enumerate(made)})
