"""What is said to have a row, and cells of it, and what comes back."""

from __future__ import annotations

import os
import resource
import socket
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path

from pytest_brt.codec import from_json, to_json
from pytest_brt.errors import StoreProblem
from pytest_brt.execute.engine import Limits
from pytest_brt.execute.process import Deadlines, Places, Seconds, Text, Whole, scrubbed
from pytest_brt.execute.sandbox import Sandbox, tasks_of
from pytest_brt.execute.scratch import MARK, Scratch
from pytest_brt.execute.touched import TouchedFile
from pytest_brt.execute.views import Folders, View
from pytest_brt.types import FileChange
from pytest_brt.types.subject import Subject

#: Seconds within which what the project needs must have been loaded, or compiled.
WARM_SECONDS = 300.0
#: Seconds in which a process must end that said it is done.
ENDING = 10.0
#: Seconds within which a message must have been taken.
SEND_SECONDS = 120.0
#: Bytes of one message from there.
MESSAGE_MOST = 4 * 1024 * 1024
#: Set where the user does not: threads of libraries would stand in the way of forking.
ONE_THREAD = ("OPENBLAS_NUM_THREADS", "OMP_NUM_THREADS", "MKL_NUM_THREADS")


class WorkerGone(Exception):
    """The zygote, or what holds it, ended or fell silent; never seen outside this layer."""


class WorkerSilent(WorkerGone):
    """The zygote lives, but nothing was heard of it in time."""


class RowNotReady(WorkerGone):
    """A process could not be started or set up: no code of the project had any part in it."""


@dataclass(frozen=True, slots=True, kw_only=True)
class EngineSetting:
    """What is the same for all rows of an engine."""

    subject: Subject
    limits: Limits
    sandbox: Sandbox
    scratch: Scratch

    def rlimits(self) -> dict[str, int]:
        """Return the resource limits of a row begun now, by the names of `resource.RLIMIT_*`."""
        sandbox = self.sandbox
        found = {
            "AS": self.limits.memory_mb * 1024 * 1024,
            "CORE": 0,
            "FSIZE": 256 * 1024 * 1024,
            "NOFILE": 1024,
        }
        if sandbox.processes is not None:
            apart = sandbox.level == "ns"
            found["NPROC"] = sandbox.processes + (0 if apart else tasks_of(sandbox.uid))
        return found

    def environment(self, folders: Folders, seed: int) -> dict[str, str]:
        """Return the environment of a process of the subject, except for its import path.

        The interpreter's folder is the first on PATH, so that the tests' own subprocesses find
        the same one.
        """
        given = {**dict(self.subject.env), MARK: str(self.scratch.path)}
        env = scrubbed(given)
        env["PATH"] = os.pathsep.join([str(Path(self.subject.python).parent), env["PATH"]])
        env["PYTHONHASHSEED"] = str(seed)
        env["PYTHONDONTWRITEBYTECODE"] = "1"
        env["PYTEST_BRT_INNER"] = "1"
        env["PYTEST_DISABLE_PLUGIN_AUTOLOAD"] = "1"
        env.setdefault("USER", "nobody")
        env.setdefault("LOGNAME", env["USER"])
        return {**folders.env(), **env}

    def specification(self, view: View, seed: int) -> dict[str, object]:
        """Return what the launcher of a zygote takes, and the zygote after it."""
        env = self.environment(view.first_folders, seed)
        for name in ONE_THREAD:
            env.setdefault(name, "1")
        return self.sandbox.specification(self.subject, view.tree, view.writable, env)

    def changed_environment(self, folders: Folders) -> dict[str, str]:
        """Return what the folders of a test change in its environment."""
        given = dict(self.subject.env)
        return {name: value for name, value in folders.env().items() if name not in given}

    def places(self, tree: str) -> Places:
        """Return the map from paths as processes name them to the project's own."""
        return Places(tree=tree, root=self.subject.root, libraries=self.subject.paths)


def test_deadlines(limits: Limits) -> Deadlines:
    """Return the deadlines of a test process: for starting, for each item, for ending."""
    return Deadlines(
        start=max(limits.start_seconds, limits.seconds),
        total=limits.row_seconds,
        events={"item": limits.seconds, "item_end": limits.seconds, "finish": ENDING},
    )


@dataclass(frozen=True, kw_only=True)
class RowOrder:
    """What the process of a row is to be; it goes to `inside/row.py` as it is."""

    #: "fork" for one that imports the project and configures pytest, to fork its cells; "exec"
    #: for one whose cells are new interpreters.
    kind: str = "exec"
    changes: Sequence[FileChange] = ()
    imports: Sequence[str] = ()
    #: Files of which each test tells whether changed lines were executed, and those of which it
    #: tells which lines were.
    touched: Sequence[TouchedFile] = ()
    watch: Sequence[str] = ()
    args: Sequence[str] = ()


@dataclass(frozen=True, kw_only=True)
class CellOrder:
    """What one cell is to do; it goes to `inside/row.py` as it is."""

    #: They are watched by the tool alone.
    deadlines: Deadlines
    #: Files of the tree, and of the parent of the working directory.
    files: Sequence[FileChange] = ()
    work: Sequence[FileChange] = ()
    #: For pytest, in a row that was forked.
    args: Sequence[str] = ()
    #: The file of tests, relative to the tree.
    target: str = ""
    #: Whole node ids that are not run again.
    skip: Sequence[str] = ()
    #: Nodes below the file, to be run before the others.
    first: Sequence[str] = ()
    #: For a new interpreter, in a row that was not: a script of `inside/`, by its name.
    script: str = ""
    #: Its interpreter's own options.
    flags: Sequence[str] = ()
    spec: Mapping[str, object] = field(default_factory=dict)
    in_work: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Reply:
    """What a zygote or a row says of itself, or of how a test ended."""

    event: Text
    text: Text = ""
    status: Whole = 0
    tail: Text = ""
    seconds: Seconds = 0.0
    cpu: Seconds = 0.0
    modules: tuple[Text, ...] = ()
    #: It can be forked: it has no second thread, and pytest is not the subject itself.
    forks: bool = False


def _may_send_many() -> None:
    """Raise our limit on open files above that of any row, as far as we may.

    A user's files on their way to other processes count for all of them (unix(7), ETOOMANYREFS):
    what rows have sent and not taken must not keep us from sending.
    """
    _, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    with suppress(ValueError, OSError):
        resource.setrlimit(resource.RLIMIT_NOFILE, (hard, hard))


class Line:
    """Our end of one connection.

    Its methods raise WorkerGone where nobody is at the other end, what comes from there cannot be
    understood, or our own end was closed meanwhile.
    """

    def __init__(self) -> None:
        """Make the pair; `theirs` is for the process that is to be spoken with."""
        _may_send_many()
        self._socket, self.theirs = socket.socketpair()
        self._pending = bytearray()
        #: How far it has been looked through for the end of a line.
        self._seen = 0
        #: The other side has closed its end.
        self.ended = False

    def fileno(self) -> int:
        """Return the descriptor, for `wait`."""
        descriptor = self._socket.fileno()
        if descriptor < 0:
            raise WorkerGone("ended")
        return descriptor

    def send(
        self,
        message: Mapping[str, object],
        passed: int | None = None,
        *,
        seconds: float = SEND_SECONDS,
    ) -> None:
        """Send one message; with `passed`, that descriptor goes along."""
        data = to_json(message).encode("utf-8") + b"\n"
        try:
            self._socket.settimeout(seconds)
            if passed is not None:
                data = data[socket.send_fds(self._socket, [data], [passed]) :]
            self._socket.sendall(data)
            self._socket.settimeout(None)  # what is received is never waited for
        except OSError as error:
            raise WorkerGone(f"cannot be asked: {error}") from error

    def take(self) -> Reply | None:
        """Return the next message, without waiting for it; None where it is not there yet."""
        while (end := self._pending.find(b"\n", self._seen)) < 0:
            self._seen = len(self._pending)
            if self._seen > MESSAGE_MOST:
                raise WorkerGone("said more than can be kept")
            if not self._receive():
                return None
        self._seen = 0
        line = bytes(self._pending[:end])
        del self._pending[: end + 1]
        try:
            return from_json(line, Reply)
        except StoreProblem as error:
            raise WorkerGone(f"said what cannot be understood: {line[:80]!r}") from error

    def _receive(self) -> bool:
        """Take in what there is; return whether there was anything."""
        try:
            data = self._socket.recv(1 << 16, socket.MSG_DONTWAIT)
        except BlockingIOError:
            return False
        except OSError as error:
            if self._socket.fileno() < 0:
                raise WorkerGone(f"ended: {error}") from error
            data = b""
        self.ended = self.ended or not data
        self._pending += data
        return bool(data)

    def close(self) -> None:
        """Close both ends, as far as they are here."""
        self.theirs.close()
        self._socket.close()
