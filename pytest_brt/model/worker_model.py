"""A model that llama.cpp runs in a worker of ours, asked over a pipe."""

from __future__ import annotations

import threading
from collections.abc import Sequence
from concurrent.futures import Future
from dataclasses import dataclass, field, replace

from pytest_brt.codec import from_json
from pytest_brt.errors import ModelProblem, StoreProblem
from pytest_brt.model.base import Completion, Prompt, failure
from pytest_brt.model.own_model import OwnModel
from pytest_brt.model.process import Process, ProcessDied
from pytest_brt.model.wire import Answer, Order, Start
from pytest_brt.types.model import Death

#: Seconds that an answer may take beyond the time it was given, before the worker counts as hung.
_GRACE = 60.0


@dataclass(slots=True, eq=False)
class Asked:
    """An order that waits for its answer, and the samples of it that have come."""

    order: Order
    #: Number of a sample → its answer.
    found: dict[int, Completion] = field(default_factory=dict)
    future: Future[Answer] = field(default_factory=Future)

    def settle(self, answer: Answer) -> None:
        """Take an answer; that of a sample is the last one when all have come."""
        if answer.completion is not None:
            self.found[answer.sample] = answer.completion
            if not self.found.keys() >= set(self.order.numbers):
                return
        self.future.set_result(answer)


class Worker(Process):
    """One life of the worker."""

    def __init__(self, start: Start) -> None:
        super().__init__("pytest_brt.model.worker.main", start)
        self.started = Asked(Order())
        self.waiting = {0: self.started}
        self.number = 0
        self.lock = threading.Lock()
        #: How it ended, None while it lives.
        self.ended: Death | None = None
        self.reader = threading.Thread(target=self._read, name="model-worker", daemon=True)
        self.reader.start()

    def ask(self, asked: Asked, seconds: float = 0.0) -> Answer:
        """Send an order and wait for its answer; for ever where `seconds` is 0.

        Raises:
            ProcessDied: the process ended, also because it had to be killed for its silence.
            ModelProblem: the order cannot be carried out.
        """
        with self.lock:
            if self.ended is not None:
                raise ProcessDied(self.ended)
            self.number += 1
            self.waiting[self.number] = asked
            self.write(replace(asked.order, id=self.number))
        return self.wait(asked, seconds)

    def wait(self, asked: Asked, seconds: float = 0.0) -> Answer:
        """Wait for the answer to what was sent; raises as `ask` does."""
        try:
            answer = asked.future.result(seconds + _GRACE if seconds else None)
        except TimeoutError:
            hung = Death(said=f"no answer {_GRACE:.0f} s after its time was over")
            self.ended = self.ended or hung
            self.kill()
            raise ProcessDied(self.ended) from None
        if answer.fault is not None:
            raise failure(answer.fault)
        if answer.problem:
            raise ModelProblem(answer.problem)
        return answer

    def _read(self) -> None:
        for line in self.output:
            try:
                answer = from_json(line, Answer)
            except StoreProblem:  # cut by the end of the process
                break
            asked = self.waiting.get(answer.id)
            if asked is not None:
                asked.settle(answer)
                if asked.future.done():
                    del self.waiting[answer.id]
        self.kill()
        with self.lock:
            self.ended = self.ended or self.death()
            left, self.waiting = list(self.waiting.values()), {}
        for asked in left:
            asked.future.set_exception(ProcessDied(self.ended))

    def end(self) -> None:
        """End the process; what waits for it ends in ProcessDied."""
        self.kill()
        self.reader.join()
        super().end()


class WorkerModel(OwnModel[Worker]):
    """Answers with llama.cpp in a worker."""

    #: Whether the model was put on a GPU.
    gpu = False

    def _start(self) -> Worker:
        return Worker(self.start)

    def _load(self, process: Worker) -> None:
        self.gpu = process.wait(process.started).gpu

    def _fill(
        self, process: Worker, prompt: Prompt, numbers: Sequence[int], found: dict[int, Completion]
    ) -> None:
        asked = Asked(Order(prompt=prompt, numbers=tuple(numbers)), found)
        process.ask(asked, prompt.seconds)

    def _count(self, process: Worker, asked: str | Prompt) -> int:
        return process.ask(Asked(Order(count=asked))).count
