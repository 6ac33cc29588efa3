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
from dataclasses import replace
from pathlib import Path
from typing import IO

from pytest_brt.codec import from_json, to_json
from pytest_brt.errors import BrtError, ModelProblem, StoreProblem
from pytest_brt.model.base import Completion, Prompt
from pytest_brt.model.wire import Answer, Order, Ready, Start

#: Seconds that an answer may take beyond the time it was given, before the worker counts as hung.
_GRACE = 60.0
#: Bytes of what a dead worker printed that are looked at.
_LAST_WORDS = 4096


#: llama.cpp uses what the CPU announces; a virtual machine may announce more than it lets run.
_PLAIN_WEIGHTS = (
    "this machine does not let some instructions run that llama.cpp uses for rearranged weights: "
    "going on without them, slower (run 'pytest-brt models doctor')"
)


class WorkerDied(ModelProblem):
    """The worker process ended in the middle; the text says how."""

    def __init__(self, how: str, saved: Mapping[int, Completion] | None = None) -> None:
        """Say `how`; `saved` are the samples that had been answered by then."""
        super().__init__(how)
        self.saved = dict(saved or {})


class _Process:
    """One life of the worker."""

    def __init__(self, start: Start) -> None:
        self.started: Future[Answer] = Future()
        self.waiting: dict[int, Future[Answer]] = {0: self.started}
        #: Order → number of a sample → its answer, while others of the order are to come.
        self.parts: dict[int, dict[int, Completion]] = {}
        self.lock = threading.Lock()
        self.said = tempfile.TemporaryFile()  # noqa: SIM115  # lives as long as the process
        self.popen = subprocess.Popen(
            [sys.executable, "-P", "-m", "pytest_brt.model.worker"],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=self.said,
            env=environment(),
            start_new_session=True,  # Ctrl-C is for the parent, which ends this process itself
        )
        assert self.popen.stdin is not None
        assert self.popen.stdout is not None
        self.input: IO[bytes] = self.popen.stdin
        self.output: IO[bytes] = self.popen.stdout
        self.dead = ""
        #: It died of an instruction that the CPU did not take.
        self.illegal = False
        self.reader = threading.Thread(target=self._read, name="model-worker", daemon=True)
        self.reader.start()
        self._write(to_json(start))

    def ask(self, order: Order) -> Future[Answer]:
        """Send an order; the future ends in WorkerDied when the process does."""
        future: Future[Answer] = Future()
        with self.lock:
            if self.dead:
                raise WorkerDied(self.dead)
            self.waiting[order.id] = future
        self._write(to_json(order))
        return future

    def tell(self, order: Order) -> None:
        """Send an order that has no answer."""
        self._write(to_json(order))

    def _write(self, line: str) -> None:
        # A dead process is noticed by the reader, which fails what is waiting.
        with self.lock, suppress(OSError, ValueError):
            self.input.write(line.encode() + b"\n")
            self.input.flush()

    def _read(self) -> None:
        for line in self.output:
            try:
                answer = from_json(line, Answer)
            except StoreProblem:  # cut by the end of the process
                break
            with self.lock:
                if answer.part >= 0:
                    self.parts.setdefault(answer.id, {})[answer.part] = answer.completions[0]
                    continue
                future = self.waiting.pop(answer.id, None)
                self.parts.pop(answer.id, None)
            if future is not None:
                _settle(future, answer)
        self.popen.kill()
        code = self.popen.wait()
        how = _how(code, last_line(self.said))
        with self.lock:
            self.dead = self.dead or how
            self.illegal = code == -signal.SIGILL
            lost, self.waiting = list(self.waiting.values()), {}
        for future in lost:
            _settle(future, WorkerDied(self.dead))

    def end(self, why: str) -> None:
        """Kill the process and wait for it to be gone; what waits fails with `why`."""
        with self.lock:
            self.dead = self.dead or why
        self.popen.kill()
        if threading.current_thread() is not self.reader:
            self.reader.join()
        with suppress(OSError):
            self.input.close()
        self.output.close()
        self.said.close()


def _settle(future: Future[Answer], outcome: Answer | BrtError) -> None:
    if future.set_running_or_notify_cancel():
        if isinstance(outcome, BrtError):
            future.set_exception(outcome)
        else:
            future.set_result(outcome)


def _how(code: int, said: str) -> str:
    """Say in words how a process ended."""
    if code >= 0:
        return f"exit status {code}" + (f": {said[-200:]}" if said else "")
    try:
        name = signal.Signals(-code).name
    except ValueError:
        name = f"signal {-code}"
    hints = {
        "SIGILL": "llama-cpp-python was built for another CPU: build it again on this machine, "
        "with -DGGML_NATIVE=OFF, or take the wheel of a bundle ('pytest-brt bundle DIR' on a "
        "machine with a network)",
        "SIGKILL": "killed from outside, often for want of memory",
        "SIGABRT": said[-200:],
    }
    hint = hints.get(name, "")
    return f"{name}, {hint}" if hint else name


def last_line(said: IO[bytes]) -> str:
    """Return the last line that a process printed into the file `said`."""
    size = said.seek(0, os.SEEK_END)
    said.seek(max(0, size - _LAST_WORDS))
    lines = said.read().decode("utf-8", "replace").split("\n")
    return next((line.strip() for line in reversed(lines) if line.strip()), "")


def environment() -> dict[str, str]:
    """Return the environment of a process that runs a model."""
    env = dict(os.environ)
    # Threads that wait must not spin: tests run on the same cores (3 to 5 times slower if so).
    env["OMP_WAIT_POLICY"] = "passive"
    package = str(Path(__file__).parents[2])
    env["PYTHONPATH"] = os.pathsep.join(p for p in (package, env.get("PYTHONPATH", "")) if p)
    return env


class Host:
    """The worker of one model, started when it is first needed and again when it has died."""

    def __init__(self, start: Start) -> None:
        self.start = start
        self.process: _Process | None = None
        self.ready: Ready | None = None
        #: Times a new process was needed.
        self.restarts = 0
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
        return self.process.popen.pid if self.process and not self.process.dead else 0

    def open(self) -> Ready:
        """Start the worker unless it runs, and wait until it has loaded its model.

        Raises:
            ModelProblem: it cannot load the model, or dies while it does.
        """
        with self._lock:
            if self._closed:
                raise ModelProblem("the model was closed")
            if self.process is not None and not self.process.dead and self.ready is not None:
                return self.ready
            if self.process is not None:
                self.process.end("replaced")
                self.restarts += 1
                if self.process.illegal and self.start.rearrange:
                    self.start = replace(self.start, rearrange=False)
                    self.notes = (*self.notes, _PLAIN_WEIGHTS)
            self.process = _Process(self.start)
            answer = self._wait_for_start(self.process)
            self.ready = answer.ready
            if answer.ready is None:
                self.process.end(answer.problem)
                self.process = None
                raise ModelProblem(answer.problem)
            return answer.ready

    def _wait_for_start(self, process: _Process) -> Answer:
        try:
            return process.started.result()
        except WorkerDied as died:
            self._abandon(process)
            raise ModelProblem(
                f"the model's worker died while it loaded {self.start.path!r}: {died} "
                "(run 'pytest-brt models doctor')"
            ) from None
        except BaseException:
            self._abandon(process)
            raise

    def _abandon(self, process: _Process) -> None:
        process.end("start given up")
        self.process = None

    def ask(
        self, do: str, *, prompt: Prompt | None = None, texts: tuple[str, ...] = (),
        adapter: str = "",
    ) -> tuple[Answer, tuple[str, ...]]:  # fmt: skip
        """Return the answer to an order, and remarks when it took more than one process.

        Of a prompt that meets a crash only the samples that were lost are asked for again, in
        the time that is left of its own.

        Raises:
            ModelProblem: the order failed, or killed the worker twice.
        """
        order = Order(do=do, id=0, prompt=prompt, texts=texts, adapter=adapter)
        begin = time.monotonic()
        try:
            return self._once(order), ()
        except WorkerDied as died:
            first = died
        if self._closed:
            raise ModelProblem("the model was closed")
        if prompt is not None:
            lost = tuple(n for n in range(prompt.samples) if n not in first.saved)
            left = max(0.1, prompt.seconds - (time.monotonic() - begin)) if prompt.seconds else 0.0
            order = replace(order, prompt=replace(prompt, seconds=left), numbers=lost)
        with self._again:
            try:
                answer = self._once(order)
            except WorkerDied as died:
                raise ModelProblem(
                    f"the model's worker died twice over this prompt: {died} "
                    "(run 'pytest-brt models doctor')"
                ) from died
        found = {**first.saved, **dict(zip(order.numbers, answer.completions, strict=False))}
        answer = replace(answer, completions=tuple(found[number] for number in sorted(found)))
        return answer, (f"the model's worker died ({first}); asked again",)

    def _once(self, order: Order) -> Answer:
        self.open()
        with self._lock:
            self._number += 1
            number = self._number
            process = self.process
        if process is None:
            raise WorkerDied("closed")
        seconds = order.prompt.seconds if order.prompt is not None else 0.0
        future = process.ask(replace(order, id=number))
        try:
            answer = future.result(seconds + _GRACE if seconds else None)
        except Late:
            process.end(f"no answer {_GRACE:.0f} s after its time was over")
            raise WorkerDied(process.dead, process.parts.get(number, {})) from None
        except WorkerDied as died:
            raise WorkerDied(str(died), process.parts.get(number, {})) from None
        except BrtError:
            raise
        except BaseException:  # Ctrl-C: let the worker stop what nobody waits for
            process.tell(Order(do="drop", id=number, adapter=order.adapter))
            raise
        if answer.problem:
            raise ModelProblem(answer.problem)
        return answer

    def close(self) -> None:
        """End the worker at once; what is being asked ends in ModelProblem."""
        self._closed = True
        process = self.process
        if process is not None:
            process.end("the model was closed")
