"""A model of random weights drives the agent: whatever it writes, every run comes to an end."""

from __future__ import annotations

import re
import sys
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path

import pytest

from pytest_brt.agent.loop import run_agent
from pytest_brt.agent.trajectory import Log, read_trajectories
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
from pytest_brt.types import Ending, Step
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
    engine = open_on(root, sandbox="process", seconds=20)
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
        record=folder,
        steps=STEPS,
    )


def check(folder: Path, runs: int) -> None:
    """Every dialogue has ended, is kept whole, and could be taken up from the journal."""
    kept = read_trajectories(folder)
    journal = Journal(folder / "journal.jsonl", "noise")
    assert len(kept) == runs
    for found in kept:
        assert found.ending in ENDED, found
        assert [step.number for step in found.steps] == list(range(1, len(found.steps) + 1))
        for step in found.steps:
            assert journal.get(Step, "step", found.issue, found.name, str(step.number)) == step


def test_runs_of_noise_end(engine: Engine, model: Model, tmp_path: Path) -> None:
    root = Path(engine.subject.root)
    issue = load_issue(str(root.parent / "issue.md"), sys.stdin.buffer)
    bench = bench_of(engine, model, tmp_path)
    with open_index(root) as index, ThreadPoolExecutor(8) as pool:

        def one(number: int) -> Ending:
            made = agent(issue, number, bench, index)
            return made.trajectories[0].ending

        assert set(pool.map(one, range(RUNS))) <= ENDED
    check(tmp_path, RUNS)


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

        def one(number: int) -> Ending:
            task = TestTask(issue=issue, bench=bench, index=index, hints=hints, strategy="agent")
            session = session_of(task, number, top_k=0, longest=400)
            log = Log(issue.id, f"deep-{number:02}", journal=bench.journal, folder=bench.record)
            sampling = replace(session.sampling, temperature=2.0)
            session = replace(session, log=log, sampling=sampling)
            trajectory = run_agent(BrtAgent(task), session)
            seen.update(step.action for step in trajectory.steps)
            return trajectory.ending

        seen: set[str] = set()
        assert set(pool.map(one, range(DEEP))) <= ENDED
    # Which ones is up to chance; at least one that looks into real files, or runs them.
    assert {"cat", "edit", "test"} & seen, seen
    check(tmp_path, DEEP)
