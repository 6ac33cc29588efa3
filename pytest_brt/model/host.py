"""Starts, watches and ends the worker process of a model; starts another when it dies."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Mapping
from concurrent.futures import Future
from concurrent.futures import TimeoutError as Late
from contextlib import suppress
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import IO

from pytest_brt.codec import from_json, to_json
from pytest_brt.errors import ModelProblem, StoreProblem
from pytest_brt.model.base import Completion, lost_answers
from pytest_brt.model.wire import Answer, Order, Start

#: Seconds that an answer may take beyond the time it was given, before the worker counts as hung.
_GRACE = 60.0
#: Bytes of what a dead worker printed that are looked at.
_LAST_WORDS = 4096


#: What the name of a signal means, where that is known.
_HINTS = {
    "SIGILL": "llama-cpp-python was built for another CPU: build it again on this machine, "
    "with -DGGML_NATIVE=OFF, or take the wheel of a bundle ('pytest-brt bundle DIR' on a "
    "machine with a network)",
    "SIGKILL": "killed from outside, often for want of memory",
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

    def __init__(self, how: str, saved: Mapping[int, Completion] | None = None) -> None:
        """Say `how`; `saved` are the samples that had been answered by then."""
        super().__init__(how)
        self.saved = dict(saved or {})


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
        self.input: IO[bytes] = self.popen.stdin
        self.output: IO[bytes] = self.popen.stdout
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
        said = _last_line(self.said)[-200:]
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
    future: Future[Answer] = field(default_factory=Future)
    #: Number of a sample → its answer.
    found: dict[int, Completion] = field(default_factory=dict)

    def settle(self, answer: Answer | WorkerDied) -> None:
        """Take an answer, or the end of the process."""
        prompt = self.order.prompt
        if isinstance(answer, WorkerDied):
            self.future.set_exception(answer)
        elif answer.completion is None:
            self.future.set_result(answer)
        else:
            self.found[answer.sample] = answer.completion
            if prompt and len(self.found) == len(self.order.numbers or range(prompt.samples)):
                self.future.set_result(answer)


class _Process:
    """One life of the worker."""

    def __init__(self, start: Start) -> None:
        self.started = Asked(Order())
        self.waiting: dict[int, Asked] = {0: self.started}
        self.lock = threading.Lock()
        self.child = Child("pytest_brt.model.worker", start)
        self.dead = ""
        self.reader = threading.Thread(target=self._read, name="model-worker", daemon=True)
        self.reader.start()

    def ask(self, order: Order) -> Asked:
        """Send an order; its future ends in WorkerDied when the process does."""
        asked = Asked(order)
        with self.lock:
            if self.dead:
                raise WorkerDied(self.dead)
            self.waiting[order.id] = asked
            self.child.write(order)
        return asked

    def _read(self) -> None:
        for line in self.child.output:
            try:
                answer = from_json(line, Answer)
            except StoreProblem:  # cut by the end of the process
                break
            asked = self.waiting.get(answer.id)
            if asked is not None and not asked.future.done():
                asked.settle(answer)
                if asked.future.done():
                    del self.waiting[answer.id]
        self.child.kill()
        with self.lock:
            self.dead = self.dead or self.child.how()
            left, self.waiting = list(self.waiting.values()), {}
        for asked in left:
            asked.settle(WorkerDied(self.dead, asked.found))

    def end(self, why: str) -> None:
        """Kill the process and wait for it to be gone; what waits fails with `why`."""
        with self.lock:
            self.dead = self.dead or why
        self.child.kill()
        self.reader.join()
        self.child.close()


def _last_line(said: IO[bytes]) -> str:
    """Return the last line that a process printed into the file `said`."""
    size = said.seek(0, os.SEEK_END)
    said.seek(max(0, size - _LAST_WORDS))
    lines = said.read().decode("utf-8", "replace").split("\n")
    return next((line.strip() for line in reversed(lines) if line.strip()), "")


class Host:
    """The worker of one model, started when it is first needed and again when it has died."""

    def __init__(self, start: Start) -> None:
        self.start = start
        self.process: _Process | None = None
        #: Whether the model was put on a GPU.
        self.gpu = False
        self._lock = threading.Lock()
        #: After a crash prompts are asked again one by one, to find the one that kills.
        self._again = threading.Lock()
        self._number = 0
        self._closed = False
        #: Remarks about how the worker had to be started.
        self.notes: tuple[str, ...] = ()

    @property
    def pid(self) -> int:
        """The process id of the worker, 0 when there is none."""
        return self.process.child.pid if self.process and not self.process.dead else 0

    def open(self) -> None:
        """Start the worker unless it runs, and wait until it has loaded its model.

        Raises:
            ModelProblem: it cannot load the model, or dies while it does.
        """
        with self._lock:
            if self._closed:
                raise ModelProblem("the model was closed")
            if self.process is not None and not self.process.dead:
                return
            if self.process is not None:
                self.process.end("replaced")
                illegal = self.process.child.popen.returncode == -signal.SIGILL
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

    def ask(self, order: Order) -> tuple[Asked, tuple[str, ...]]:
        """Return the order with its answer, and remarks when it took more than one process.

        Of a prompt that meets a crash only the samples that were lost are asked for again, in
        the time that is left of its own.

        Raises:
            ModelProblem: the order failed, or killed the worker twice.
        """
        begin = time.monotonic()
        try:
            return self._once(order), ()
        except WorkerDied as died:
            first = died
        if self._closed:
            raise ModelProblem("the model was closed")
        prompt = order.prompt
        if prompt is not None:
            numbers = tuple(n for n in range(prompt.samples) if n not in first.saved)
            left = max(0.1, prompt.seconds - (time.monotonic() - begin)) if prompt.seconds else 0.0
            order = replace(order, prompt=replace(prompt, seconds=left), numbers=numbers)
        with self._again:
            try:
                asked = self._once(order)
            except ModelProblem as problem:
                saved = dict(first.saved)
                if isinstance(problem, WorkerDied):
                    saved |= problem.saved
                    problem = ModelProblem(
                        f"the model's worker died twice over this prompt: {problem} "
                        "(run 'pytest-brt models doctor')"
                    )
                if prompt is None or not saved:
                    raise problem from first
                note = lost_answers(prompt.samples - len(saved), prompt.samples, problem)
                return Asked(order, found=saved), (note,)
        asked.found.update(first.saved)
        return asked, (f"the model's worker died ({first}); asked again",)

    def _once(self, order: Order) -> Asked:
        self.open()
        with self._lock:
            self._number += 1
            number = self._number
            process = self.process
        if process is None:
            raise WorkerDied("closed")
        seconds = order.prompt.seconds if order.prompt is not None else 0.0
        asked = process.ask(replace(order, id=number))
        try:
            answer = asked.future.result(seconds + _GRACE if seconds else None)
        except Late:
            process.end(f"no answer {_GRACE:.0f} s after its time was over")
            raise WorkerDied(process.dead, asked.found) from None
        if answer.problem:
            raise ModelProblem(answer.problem)
        return asked

    def close(self) -> None:
        """End the worker at once; what is being asked ends in ModelProblem."""
        self._closed = True
        process = self.process
        if process is not None:
            process.end("the model was closed")
