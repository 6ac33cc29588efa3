"""A model of random weights drives the agent: whatever it writes, every run comes to an end."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path

import pytest

from pytest_brt.agent.action import Kind, Parameter, Tool
from pytest_brt.agent.loop import converse
from pytest_brt.agent.trajectory import Log, read_trajectories
from pytest_brt.code.index import open_index
from pytest_brt.execute.engine import Engine
from pytest_brt.issue.load import load_issue
from pytest_brt.model.base import Model, Sampling, Settings
from pytest_brt.model.opening import open_model
from pytest_brt.reproduce.agent.kit import Kit
from pytest_brt.reproduce.agent.run import agent, loop_of, opening
from pytest_brt.reproduce.prompting.context import gather_hints
from pytest_brt.reproduce.strategy import Workbench
from pytest_brt.store import Journal
from pytest_brt.types import Ending, Step
from tests.acceptance.examples import EXAMPLES, NAMES, unpack
from tests.support.projects import open_on
from tests.support.rounds import rounds
from tests.support.tiny import words, write_llama

pytestmark = pytest.mark.slow
BENCH = Path(__file__).parents[2] / "bench"
#: Each example gets a third of them all; in CI one example stands for the three.
RUNS, DEEP = rounds(18, least=2), rounds(16, least=3)
PROJECTS = NAMES[: rounds(3)]
STEPS = 8
ENDED = {Ending.FINISH, Ending.STEPS, Ending.TOKENS, Ending.LOOP}


@pytest.fixture(scope="module")
def model(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Model]:
    pytest.importorskip("llama_cpp")
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


def test_runs_of_noise_that_names_real_files_end(
    engine: Engine, model: Model, tmp_path: Path
) -> None:
    root = Path(engine.subject.root)
    issue = load_issue(str(root.parent / "issue.md"), sys.stdin.buffer)
    bench = bench_of(engine, model, tmp_path)
    with open_index(root) as index, ThreadPoolExecutor(8) as pool:
        files = sorted(index.layout.files)
        tests = [path for path in files if path.rpartition("/")[2].startswith("test")][:3]
        hints = gather_hints(issue, index)

        def one(number: int) -> Ending:
            paths = (*tests, files[0])
            kit = Kit(
                issue=issue,
                bench=bench,
                index=index,
                hints=hints,
                sampling=Sampling(temperature=2.0, max_tokens=400, seed=number),
            )
            loop = loop_of(kit, *opening(kit)[:2])
            tools = {name: narrowed(tool, paths) for name, tool in loop.tools.items()}
            log = Log(issue.id, f"deep-{number:02}", journal=bench.journal, folder=bench.record)
            trajectory = converse(replace(loop, tools=tools), log)
            seen.update(step.action for step in trajectory.steps)
            return trajectory.ending

        seen: set[str] = set()
        assert set(pool.map(one, range(DEEP))) <= ENDED
    # Which ones is up to chance; at least one that looks into real files, or runs them.
    assert {"cat", "edit", "test"} & seen
    check(tmp_path, DEEP)


def narrowed(tool: Tool, paths: tuple[str, ...]) -> Tool:
    """Return the tool with a grammar that knows only these paths."""

    def known(parameter: Parameter) -> Parameter:
        return replace(parameter, choices=paths) if parameter.kind is not Kind.TEXT else parameter

    spec = replace(tool.spec, parameters=tuple(map(known, tool.spec.parameters)))
    return replace(tool, spec=spec)
