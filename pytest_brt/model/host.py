"""A model in a worker process, which is started, watched and ended; another one when it dies."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import tempfile
import threading
import time
from concurrent.futures import Future
from contextlib import suppress
from dataclasses import dataclass, field, replace
from pathlib import Path

from pytest_brt.codec import from_json, to_json
from pytest_brt.errors import ModelProblem, StoreProblem
from pytest_brt.model.base import Completion, Prompt, in_the_rest, lost_answers
from pytest_brt.model.wire import Answer, Order, Start

#: Seconds that an answer may take beyond the time it was given, before the worker counts as hung.
_GRACE = 60.0
#: Bytes of what a dead worker printed that are looked at.
_LAST_WORDS = 4096
#: What the name of a signal means, where that is known.
_HINTS = {
    "SIGILL": "llama-cpp-python was built for another CPU: build it again, on this machine or "
    "with CMAKE_ARGS=-DGGML_NATIVE=OFF",
    "SIGKILL": "killed from outside, often because memory ran out",
}
#: llama.cpp uses what the CPU announces; a virtual machine may announce more than it lets run.
_PLAIN_WEIGHTS = (
    "this machine does not let some instructions run that llama.cpp uses for rearranged weights: "
    "going on without them, slower (run 'pytest-brt models doctor')"
)


def no_room(error: OSError) -> ModelProblem:
    """Return the problem that a model's process needs a temporary file and gets none."""
    return ModelProblem(
        f"the model's process needs a temporary file, and none can be had: {error.strerror} "
        "(make room on the disk, or name a folder that has some in TMPDIR)"
    )


class WorkerDied(ModelProblem):
    """The worker process ended in the middle; the text says how."""


class Child:
    """A Python process that a model lives in: lines of JSON go in and come out."""

    def __init__(self, module: str, first: object) -> None:
        """Start `module` and tell it `first`.

        Raises:
            ModelProblem: there is no room for a file of what it prints.
        """
        try:
            self.said = tempfile.TemporaryFile()  # noqa: SIM115  # lives as long as the process
        except OSError as error:
            raise no_room(error) from error
        env = dict(os.environ)
        # Threads that wait must not spin: tests run on the same cores (3 to 5 times slower if so).
        env["OMP_WAIT_POLICY"] = "passive"
        package = str(Path(__file__).parents[2])
        env["PYTHONPATH"] = os.pathsep.join(p for p in (package, env.get("PYTHONPATH", "")) if p)
        self.popen = subprocess.Popen(
            [sys.executable, "-P", "-m", module],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=self.said,
            env=env,
            start_new_session=True,  # Ctrl-C is for the parent, which ends this process itself
        )
        assert self.popen.stdin is not None
        assert self.popen.stdout is not None
        self.input, self.output = self.popen.stdin, self.popen.stdout
        self.write(first)

    @property
    def pid(self) -> int:
        """Its process id, 0 when it has ended."""
        return self.popen.pid if self.popen.poll() is None else 0

    def write(self, message: object) -> None:
        """Send a line; a process that is gone is noticed by whoever reads from it."""
        with suppress(OSError, ValueError):
            self.input.write(to_json(message).encode() + b"\n")
            self.input.flush()

    def how(self) -> str:
        """Say in words how it ended, or that it hangs."""
        with suppress(subprocess.TimeoutExpired):
            self.popen.wait(1.0)
        code = self.popen.returncode
        self.said.seek(max(0, self.said.seek(0, os.SEEK_END) - _LAST_WORDS))
        said = self.said.read().decode("utf-8", "replace").strip().rpartition("\n")[2][-200:]
        if code is None or code >= 0:
            how = "it hangs" if code is None else f"exit status {code}"
            return f"{how}: {said}" if said else how
        try:
            name = signal.Signals(-code).name
        except ValueError:
            name = f"signal {-code}"
        hint = _HINTS.get(name, said)
        return f"{name}, {hint}" if hint else name

    def kill(self) -> None:
        """End the process and those it started, and wait for it to be gone."""
        with suppress(ProcessLookupError, PermissionError):
            os.killpg(self.popen.pid, signal.SIGKILL)
        self.popen.wait()

    def close(self) -> None:
        """Close what was open to a process that has been killed."""
        for stream in (self.input, self.output, self.said):
            with suppress(OSError):
                stream.close()


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
            if self.order.prompt and len(self.found) < self.order.prompt.samples:
                return
        self.future.set_result(answer)

    def rest(self, begin: float) -> Asked:
        """Return what is still to be asked, in the time that is left of what was begun then."""
        prompt = self.order.prompt
        if prompt is None:
            return Asked(self.order)
        missing = tuple(n for n in range(prompt.samples) if n not in self.found)
        order = replace(self.order, prompt=in_the_rest(prompt, begin), numbers=missing)
        return Asked(order, self.found)


class _Process(Child):
    """One life of the worker."""

    def __init__(self, start: Start) -> None:
        super().__init__("pytest_brt.model.worker", start)
        self.started = Asked(Order())
        self.waiting: dict[int, Asked] = {0: self.started}
        self.number = 0
        self.lock = threading.Lock()
        self.dead = ""
        self.reader = threading.Thread(target=self._read, name="model-worker", daemon=True)
        self.reader.start()

    def ask(self, asked: Asked) -> None:
        """Send an order; its future ends in WorkerDied when the process does."""
        with self.lock:
            if self.dead:
                raise WorkerDied(self.dead)
            self.number += 1
            self.waiting[self.number] = asked
            self.write(replace(asked.order, id=self.number))

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
            self.dead = self.dead or self.how()
            left, self.waiting = list(self.waiting.values()), {}
        for asked in left:
            asked.future.set_exception(WorkerDied(self.dead))

    def end(self, why: str) -> None:
        """Kill the process and wait for it to be gone; what waits fails with `why`."""
        with self.lock:
            self.dead = self.dead or why
        self.kill()
        self.reader.join()
        self.close()


class LocalModel:
    """Answers with llama.cpp in a worker, which starts when it is first needed or has died."""

    def __init__(self, start: Start, thinking: int, notes: tuple[str, ...]) -> None:
        """Start as in `start`; `thinking` tokens may go before the answer to a weighty question."""
        self.start = start
        self.thinking = thinking
        #: Remarks about the file, the memory, and how the worker had to be started.
        self.notes = (*start.plan.notes, *notes)
        self.context = start.plan.longest - thinking
        self.name = start.name
        self.process: _Process | None = None
        #: Whether the model was put on a GPU.
        self.gpu = False
        self._lock = threading.Lock()
        #: After a crash prompts are asked again one by one, to find the one that kills.
        self._again = threading.Lock()
        self._closed = False

    @property
    def pid(self) -> int:
        """The process id of the worker, 0 when there is none."""
        process = self.process  # another thread may take it away meanwhile
        return process.pid if process and not process.dead else 0

    def complete(self, prompt: Prompt) -> tuple[Completion, ...]:
        """Return the answers; a prompt that meets a crash is asked once more, and says so.

        Raises:
            ModelProblem: the model cannot be loaded, the prompt does not fit, its grammar
                cannot be used, or the worker died twice over it.
        """
        if prompt.weighty and not prompt.thinking:
            prompt = replace(prompt, thinking=self.thinking)
        asked, notes = self._ask(Order(prompt=prompt))
        answers = (asked.found[number] for number in sorted(asked.found))
        return tuple(replace(done, notes=(*done.notes, *notes)) for done in answers)

    def count(self, asked: str | Prompt) -> int:
        """Return how many tokens a text or a prompt has, by the model's own tokenizer."""
        return self._ask(Order(count=asked))[0].future.result().count

    def close(self) -> None:
        """End the worker at once; what is being asked ends in ModelProblem."""
        self._closed = True
        process = self.process
        if process is not None:
            process.end("the model was closed")

    def _ask(self, order: Order) -> tuple[Asked, tuple[str, ...]]:
        """Return the order with its answer, and remarks when it took more than one process.

        Of a prompt that meets a crash only the samples that were lost are asked for again.
        """
        begin = time.monotonic()
        asked = Asked(order)
        try:
            self._once(asked)
            return asked, ()
        except WorkerDied as error:
            died = error
        self._refuse_if_closed()
        rest, prompt = asked.rest(begin), order.prompt
        with self._again:
            try:
                self._once(rest)
            except ModelProblem as error:
                problem = error
                if isinstance(error, WorkerDied):
                    problem = ModelProblem(
                        f"the model's worker died twice over this prompt: {error} "
                        "(run 'pytest-brt models doctor')"
                    )
                if prompt is None or not rest.found:
                    raise problem from died
                lost = prompt.samples - len(rest.found)
                return rest, (lost_answers(lost, prompt.samples, problem),)
        return rest, (f"the model's worker died ({died}); asked again",)

    def _once(self, asked: Asked) -> None:
        """Wait for the answer of one process, which dies when it is too late."""
        process = self._open()
        process.ask(asked)
        seconds = asked.order.prompt.seconds if asked.order.prompt is not None else 0.0
        try:
            answer = asked.future.result(seconds + _GRACE if seconds else None)
        except TimeoutError:
            process.end(f"no answer {_GRACE:.0f} s after its time was over")
            raise WorkerDied(process.dead) from None
        if answer.problem:
            raise ModelProblem(answer.problem)

    def _open(self) -> _Process:
        """Return the worker, started unless it runs, with its model loaded."""
        with self._lock:
            self._refuse_if_closed()
            if self.process is not None:
                if not self.process.dead:
                    return self.process
                self.process.end("replaced")
                illegal = self.process.popen.returncode == -signal.SIGILL
                if illegal and self.start.rearrange:
                    self.start = replace(self.start, rearrange=False)
                    self.notes = (*self.notes, _PLAIN_WEIGHTS)
            self.process = process = _Process(self.start)
            try:
                answer = process.started.future.result()
                if not answer.ready:
                    raise ModelProblem(answer.problem)
            except BaseException as problem:
                process.end("start given up")
                self.process = None
                if not isinstance(problem, WorkerDied):
                    raise
                raise ModelProblem(
                    f"the model's worker died while it loaded {self.start.path!r}: {problem} "
                    "(run 'pytest-brt models doctor')"
                ) from None
            self.gpu = answer.gpu
            return process

    def _refuse_if_closed(self) -> None:
        if self._closed:
            raise ModelProblem("the model was closed")
