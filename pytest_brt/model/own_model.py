"""A model in a process of ours, which is started, watched and ended; another one when it dies."""

from __future__ import annotations

import threading
import time
from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Generic, TypeVar

from pytest_brt.errors import ModelProblem
from pytest_brt.model.base import Completion, ModelFailed, Prompt, answers_had, in_the_rest
from pytest_brt.model.gguf import parts_of
from pytest_brt.model.process import Process, ProcessDied
from pytest_brt.model.wire import Start
from pytest_brt.types.model import (
    Closed,
    Death,
    DiedLoading,
    DiedTwice,
    ModelNote,
    PlainWeights,
    Restarted,
)

#: Either kind of process.
P = TypeVar("P", bound=Process)


class OwnModel(ABC, Generic[P]):
    """Asks a process, which starts when it is first needed or has died."""

    def __init__(self, start: Start, thinking: int, notes: tuple[ModelNote, ...]) -> None:
        """Start as in `start`; `thinking` tokens may go before the answer to a weighty question."""
        self.start = start
        self.thinking = thinking
        #: What is known of the file, the memory, and how the process had to be started.
        self.notes = (*start.plan.notes, *notes)
        self.context = start.plan.longest - thinking
        self.name = start.name
        self.process: P | None = None
        self._lock = threading.Lock()
        #: After a crash questions are asked again one by one, to find the one that kills.
        self._again = threading.Lock()
        self._closed = False

    @abstractmethod
    def _start(self) -> P:
        """Return a new process.

        Raises:
            ModelFailed: it needs a file, and there is no room for one.
        """

    @abstractmethod
    def _load(self, process: P) -> None:
        """Wait until `process` has loaded the model.

        Raises:
            ProcessDied: it ended before it had.
            ModelProblem: the model cannot be loaded.
        """

    @abstractmethod
    def _fill(
        self, process: P, prompt: Prompt, numbers: Sequence[int], found: dict[int, Completion]
    ) -> None:
        """Ask `process` for the samples `numbers` of `prompt`; put each into `found`.

        Raises:
            ProcessDied: it ended before all were had.
            ModelProblem: the prompt cannot be answered.
        """

    @abstractmethod
    def _count(self, process: P, asked: str | Prompt) -> int:
        """Return how many tokens a text or a prompt has; raises as `_fill` does."""

    def _deserves_thought(self, prompt: Prompt) -> bool:
        """Whether a prompt that sets no budget for thoughts gets the model's."""
        return prompt.weighty and not prompt.thinking

    @property
    def identity(self) -> tuple[str | Path, ...]:
        """What tells this model from all others: its files, and how they are run."""
        start = self.start
        files = parts_of(Path(start.path))
        how = (type(self).__name__, start.template, start.cache_type, str(self.thinking))
        return (*how, *files)

    @property
    def pid(self) -> int:
        """The process id, 0 when there is none."""
        process = self.process  # another thread may take it away meanwhile
        return process.pid if process else 0

    def complete(self, prompt: Prompt) -> tuple[Completion, ...]:
        """Return the answers; those lost by a crash are asked for once more, and say so.

        Raises:
            ModelProblem: the model cannot be loaded, the prompt does not fit, its grammar
                cannot be used, or two processes died over it.
        """
        if self._deserves_thought(prompt):
            prompt = replace(prompt, thinking=self.thinking)
        begin = time.monotonic()
        found: dict[int, Completion] = {}
        death: Death | None = None
        problem: ModelProblem | None = None

        def ask(process: P) -> None:
            missing = [number for number in range(prompt.samples) if number not in found]
            self._fill(process, in_the_rest(prompt, begin), missing, found)

        try:
            death = self._twice(ask)
        except ModelProblem as error:
            problem = error
        answers = answers_had(prompt, found, problem)
        if death is None:
            return answers
        note = Restarted(death=death)
        return tuple(replace(answer, notes=(*answer.notes, note)) for answer in answers)

    def count(self, asked: str | Prompt) -> int:
        """Return how many tokens a text or a prompt has, by the model's own tokenizer."""
        counts: list[int] = []
        self._twice(lambda process: counts.append(self._count(process, asked)))
        return counts[0]

    def close(self) -> None:
        """End the process at once; what is being asked ends in ModelProblem."""
        self._closed = True
        process = self.process
        if process is not None:
            process.end()

    def _twice(self, ask: Callable[[P], None]) -> Death | None:
        """Ask a process, and another one where that dies; return how it died, None if it lives."""
        try:
            ask(self._open())
        except ProcessDied as died:
            first = died.death
        else:
            return None
        with self._again:
            try:
                ask(self._open())
            except ProcessDied as died:
                self._refuse_if_closed()
                raise ModelFailed(DiedTwice(death=died.death)) from died
        return first

    def _open(self) -> P:
        """Return the process, started unless it runs, with its model loaded."""
        with self._lock:
            self._refuse_if_closed()
            if self.process is not None:
                if self.process.pid:
                    return self.process
                self._bury(self.process)
            self.process = process = self._start()
            try:
                self._load(process)
            except BaseException as problem:
                process.end()
                self.process = None
                self._refuse_if_closed()
                if not isinstance(problem, ProcessDied):
                    raise
                fault = DiedLoading(path=self.start.path, death=problem.death)
                raise ModelFailed(fault) from problem
            return process

    def _bury(self, process: P) -> None:
        """Take a process away that has died."""
        death = process.death()
        process.end()
        self.process = None
        self.notes = (*self.notes, Restarted(death=death))
        # llama.cpp uses what the CPU announces; a virtual machine may let less of it run.
        if death.signal == "SIGILL" and self.start.rearrange:
            self.start = replace(self.start, rearrange=False)
            self.notes = (*self.notes, PlainWeights())

    def _refuse_if_closed(self) -> None:
        if self._closed:
            raise ModelFailed(Closed())
