"""A process that a model lives in: how it is started, what became of it, and its end."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import tempfile
from contextlib import suppress
from pathlib import Path

from pytest_brt.codec import to_json
from pytest_brt.errors import ModelProblem
from pytest_brt.model.base import ModelFailed
from pytest_brt.render.models import death_words
from pytest_brt.types.model import CannotSpare, Death

#: Bytes of what a dead process printed that are looked at, and characters of its last line.
_LAST_WORDS, _SHOWN = 4096, 200


class ProcessDied(ModelProblem):
    """A model's process ended while it was asked something."""

    def __init__(self, death: Death) -> None:
        super().__init__(death_words(death))
        self.death = death


class Process:
    """A Python process that a model lives in: lines of JSON go in and come out."""

    def __init__(self, module: str, first: object) -> None:
        """Start `module` and tell it `first`.

        Raises:
            ModelFailed: there is no room for a file of what it prints.
        """
        try:
            self.said = tempfile.TemporaryFile()  # noqa: SIM115  # lives as long as the process
        except OSError as error:
            raise ModelFailed(CannotSpare(reason=str(error.strerror))) from error
        package = str(Path(__file__).parents[2])
        paths = filter(None, (package, os.environ.get("PYTHONPATH")))
        self.popen = subprocess.Popen(
            [sys.executable, "-P", "-m", module],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=self.said,
            env={
                **os.environ,
                "PYTHONPATH": os.pathsep.join(paths),
                # Threads that wait must not spin: tests run on the same cores, 3 to 5 times slower.
                "OMP_WAIT_POLICY": "passive",
            },
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

    def ends_within(self, seconds: float) -> bool:
        """Wait for so long; return whether it has ended."""
        with suppress(subprocess.TimeoutExpired):
            self.popen.wait(seconds)
        return not self.pid

    def death(self) -> Death:
        """Return how it ended, or that it hangs."""
        self.ends_within(1.0)
        self.said.seek(max(0, self.said.seek(0, os.SEEK_END) - _LAST_WORDS))
        printed = self.said.read().decode("utf-8", "replace").split("\n")
        said = next((line for line in reversed(printed) if line.strip()), "")[-_SHOWN:]
        status = self.popen.returncode
        if status is None or status >= 0:
            return Death(status=status, said=said)
        try:
            return Death(signal=signal.Signals(-status).name, said=said)
        except ValueError:
            return Death(signal=f"signal {-status}", said=said)

    def kill(self) -> None:
        """End the process and those it started, and wait for it to be gone."""
        with suppress(ProcessLookupError, PermissionError):
            os.killpg(self.popen.pid, signal.SIGKILL)
        self.popen.wait()

    def end(self) -> None:
        """End the process, and close what was open to it."""
        self.kill()
        for stream in (self.input, self.output, self.said):
            with suppress(OSError):
                stream.close()
