"""A small project with a bug, its failing tests, and models that say what they are told to."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import ExitStack, closing, contextmanager
from dataclasses import dataclass, field, replace
from io import BytesIO
from pathlib import Path
from types import MappingProxyType
from typing import Any

from pytest_brt.agent.prompts import Prompts
from pytest_brt.code.index import open_index
from pytest_brt.execute.engine import Engine
from pytest_brt.guard import Guard
from pytest_brt.issue.load import load_issue
from pytest_brt.model.base import Completion, Finish, Model, Prompt, Settings, WrappedModel
from pytest_brt.model.scripted import ScriptedModel
from pytest_brt.rank.guarding import hints_of
from pytest_brt.repair.bench import RepairBench
from pytest_brt.repair.bug import Bug, guard_check, make_bug, trusted
from pytest_brt.reproduce.replay.run import replay
from tests.support.interval import CLAMP_ISSUE, SOURCE
from tests.support.projects import open_on

MODULE = "interval/__init__.py"
#: Line of the bug in it.
LINE = 1 + SOURCE.splitlines().index("    return max(low, min(value, low))")
TESTS = """\
from interval import clamp, mean


def test_clamp_below():
    assert clamp(-1, 0, 10) == 0


def test_clamp_names():
    assert clamp(value=-3, low=-2, high=2) == -2


def test_mean():
    assert mean([1, 2, 3]) == 2
"""
OTHER = '''\
"""Uses of intervals."""

from interval import clamp


class Slider:
    """A value that stays in its interval."""

    def __init__(self, low, high):
        self.low, self.high = low, high

    def moveTo(self, value):
        return clamp(value, self.low, self.high)


def percent_of(value):
    return clamp(value, 0, 100)
'''


#: As if somebody had written down what the code did: the right fix changes it.
WRONG_TEST = """

def test_percent_of_much():
    from interval.slider import percent_of

    assert percent_of(250) == 0
"""


def write_project(root: Path, files: Mapping[str, str]) -> Path:
    """Write the project to `root`, with `files` besides or instead, and return it."""
    (root / "interval").mkdir(parents=True)
    (root / "tests").mkdir()
    (root / MODULE).write_text(SOURCE, encoding="utf-8")
    (root / "interval/slider.py").write_text(OTHER, encoding="utf-8")
    (root / "tests/test_interval.py").write_text(TESTS, encoding="utf-8")
    (root / "clamp.md").write_text(CLAMP_ISSUE, encoding="utf-8")
    for path, text in files.items():
        (root / path).write_text(text, encoding="utf-8")
    return root


def scripted(folder: Path, text: str, *, context: int = 0) -> ScriptedModel:
    """Return a model that answers what `text` says."""
    path = folder / "replies.txt"
    path.write_text(text, encoding="utf-8")
    return ScriptedModel(str(path), Settings(context=context))


class Listener(WrappedModel):
    """A model that keeps what it was asked."""

    def __init__(self, model: Model) -> None:
        super().__init__(model)
        self.asked: list[Prompt] = []

    def complete(self, prompt: Prompt) -> tuple[Completion, ...]:
        self.asked.append(prompt)
        return self.model.complete(prompt)

    def texts(self) -> list[str]:
        return ["\n".join(message.text for message in prompt.messages) for prompt in self.asked]


class ShortModel(WrappedModel):
    """A model whose answers to one kind of question are too long, and end where they are cut."""

    def __init__(self, model: Model, purpose: str) -> None:
        super().__init__(model)
        self.purpose = purpose

    def complete(self, prompt: Prompt) -> tuple[Completion, ...]:
        answers = self.model.complete(prompt)
        finish = Finish.LENGTH if prompt.purpose == self.purpose else Finish.STOP
        return tuple(replace(answer, finish=finish) for answer in answers)


@dataclass(frozen=True, slots=True, kw_only=True)
class Scene:
    """The project, and what a bench is made of."""

    root: Path
    engine: Engine
    #: What is closed at its end.
    opened: ExitStack
    #: Those made so far: what one repair found out, all others know, as those of one report do.
    bugs: dict[tuple[tuple[str, ...], bool], Bug] = field(default_factory=dict)

    def bug(self, *, given: tuple[str, ...] = (), tests: bool = True) -> Bug:
        """Return the bug of the project."""
        if (given, tests) not in self.bugs:
            self.bugs[given, tests] = self._made(given, tests=tests)
        return self.bugs[given, tests]

    def bench(
        self, model: Model, *, given: tuple[str, ...] = (), tests: bool = True, **more: Any
    ) -> RepairBench:
        """Return a bench that asks `model`."""
        return RepairBench(bug=self.bug(given=given, tests=tests), model=model, **more)

    @contextmanager
    def with_file(
        self, path: str, text: str, model: Model, *, tests: bool = True, **more: Any
    ) -> Iterator[RepairBench]:
        """Put a file into the project for a while; yield a bench that knows of it."""
        (self.root / path).write_text(text, encoding="utf-8")
        try:
            yield RepairBench(bug=self._made((), tests=tests), model=model, **more)
        finally:
            (self.root / path).unlink()

    def _made(self, given: tuple[str, ...], *, tests: bool) -> Bug:
        issue = load_issue(str(self.root / "clamp.md"), BytesIO())
        failing = trusted(replay(issue, engine=self.engine).tests) if tests else ()
        guard, hints = Guard(self.engine), hints_of(failing)
        return make_bug(
            issue,
            engine=self.engine,
            index=self.opened.enter_context(open_index(self.root)),
            failing=failing,
            guard=guard,
            check=guard_check(guard, hints, 5.0),
            hints=hints,
            prompts=Prompts(),
            given=given,
        )


@contextmanager
def open_scene(root: Path, files: Mapping[str, str] = MappingProxyType({})) -> Iterator[Scene]:
    """Write the project, and open an engine on it."""
    with ExitStack() as opened, closing(open_on(write_project(root, files))) as engine:
        yield Scene(root=root, engine=engine, opened=opened)
