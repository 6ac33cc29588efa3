"""An engine and a model that know what they cost; neither closes what it measures."""

from __future__ import annotations

import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager

from pytest_brt.execute.engine import Engine, Observation, Program, Row, RowResult
from pytest_brt.model.base import Completion, Model, Prompt
from pytest_brt.types.model import ModelNote


class Clock:
    """An engine that knows how long anybody waited for it, and how many tests it ran."""

    def __init__(self, engine: Engine) -> None:
        self.engine = engine
        self.subject = engine.subject
        self.level = engine.level
        self.seconds = 0.0
        self.tests = 0
        self._lock = threading.Lock()
        self._busy = 0
        self._since = 0.0

    def run(self, row: Row) -> RowResult:
        """Run a row."""
        with self._waiting():
            result = self.engine.run(row)
        with self._lock:
            self.tests += len(result.runs)
        return result

    def observe(self, program: Program) -> Observation:
        """Run a program."""
        with self._waiting():
            return self.engine.observe(program)

    def close(self) -> None:
        """Leave the engine open."""

    @contextmanager
    def _waiting(self) -> Iterator[None]:
        """Count the time in which at least one thread waits."""
        with self._lock:
            self._busy += 1
            if self._busy == 1:
                self._since = time.perf_counter()
        try:
            yield
        finally:
            with self._lock:
                self._busy -= 1
                if self._busy == 0:
                    self.seconds += time.perf_counter() - self._since


class Prompted:
    """A model that evaluates prompts, as it would, while a script gives the answers."""

    notes: tuple[ModelNote, ...] = ()

    def __init__(self, model: Model) -> None:
        self.model = model
        self.name, self.context = model.name, model.context
        #: Wall-clock seconds spent in the model.
        self.seconds = 0.0
        #: Tokens that it evaluated, and those of them that it had not seen before.
        self.evaluated = 0
        self.new = 0

    def complete(self, prompt: Prompt) -> tuple[Completion, ...]:
        """Let the model evaluate the prompt, and answer what the script says."""
        raise NotImplementedError

    def count(self, asked: str | Prompt) -> int:
        """Return the model's count; waiting for it is not the model's time."""
        return self.model.count(asked)

    def close(self) -> None:
        """Leave the model open."""
