"""Processes of ours that run the subject's code by themselves, without a worker that forks them."""

from __future__ import annotations

import os
import subprocess
import tempfile
import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import IO

from pytest_brt.codec import to_json
from pytest_brt.errors import SubjectProblem
from pytest_brt.execute.follower import Follower, wait
from pytest_brt.execute.process import INSIDE, Deadlines, Ended, end_group
from pytest_brt.execute.protocol import WARM_SECONDS, CellOrder, EngineSetting, Reply, RowOrder
from pytest_brt.execute.views import Folders, View

#: Bytes of output that are kept: the end of it.
TAIL = 16_384
#: Seconds between two looks at a process: not every system says when one ends.
PAUSE = 0.02


class Alone:
    """Runs each cell as a process of ours, without worker or forks: for systems other than Linux.

    It is the level `none` too.
    """

    def __init__(self, view: View, setting: EngineSetting, seed: int) -> None:
        self.view = view
        self.forkable = False
        self._setting = setting
        self._seed = seed

    def begin(self, order: RowOrder) -> Reply:
        """Change the tree."""
        self.view.begin_row(order.changes)
        return Reply(event="row_ready")

    def compile(self, paths: Sequence[str]) -> None:
        """Compile modules of the project, before anything is run."""
        deadlines = Deadlines(start=WARM_SECONDS, total=WARM_SECONDS)
        spec = {"paths": paths}
        order = CellOrder(deadlines=deadlines, script="warm", flags=("-I", "-S"), spec=spec)
        self._run(order, self.view.first_folders)

    def cell(self, order: CellOrder) -> Ended:
        """Run one process to its end.

        Raises:
            RowDied: the tree cannot be set back.
        """
        with self.view.cell(order.files, order.work) as folders:
            return self._run(order, folders)

    def _run(self, order: CellOrder, folders: Folders) -> Ended:
        setting, tree = self._setting, self.view.tree
        env = setting.environment(folders, self._seed)
        env["PYTHONPATH"] = os.pathsep.join(setting.subject.import_path(tree))
        return run_script(
            [setting.subject.python, *order.flags],
            order.script,
            {**order.spec, "limits": setting.rlimits()},
            Path(folders.tmp),
            env=env,
            cwd=folders.work if order.in_work else tree,
            deadlines=order.deadlines,
        )

    def end(self) -> None:
        """Nothing runs between the cells."""


def run_script(
    command: Sequence[str],
    script: str,
    spec: Mapping[str, object],
    folder: Path,
    *,
    env: Mapping[str, str],
    cwd: str,
    deadlines: Deadlines,
) -> Ended:
    """Run a script of `inside/` to its end or its deadline, and kill what is left of it.

    `command` is the interpreter with its options. What the script is given, `spec` and the
    descriptor on which it tells events, lies in a file in `folder`, which it must be able to read.

    Raises:
        SubjectProblem: it cannot be started.
    """
    begin = time.monotonic()
    place = folder / "spec.json"
    with tempfile.TemporaryFile() as output, Follower(deadlines) as follower:
        place.write_text(to_json({**spec, "fd": follower.writer}), encoding="utf-8")
        whole = [*command, str(INSIDE / "start.py"), script, str(place)]
        child = _start(whole, env, cwd, output, follower)
        try:
            while child.poll() is None and follower.may_go_on():
                wait([follower], time.monotonic() + PAUSE)
        finally:
            end_group(child)
        follower.read_rest()
        output.seek(max(0, output.seek(0, os.SEEK_END) - TAIL))
        return Ended(
            events=tuple(follower.events),
            status=child.returncode,
            timed_out=follower.timed_out,
            tail=output.read(TAIL).decode("utf-8", "replace"),
            seconds=time.monotonic() - begin,
            told=follower.received,
        )


def _start(
    command: Sequence[str],
    env: Mapping[str, str],
    cwd: str,
    output: IO[bytes],
    follower: Follower,
) -> subprocess.Popen[bytes]:
    """Start a group of processes that tell a follower what they do."""
    try:
        child = subprocess.Popen(
            command,
            env=dict(env),
            cwd=cwd,
            stdin=subprocess.DEVNULL,
            stdout=output,
            stderr=output,
            pass_fds=(follower.writer,),
            start_new_session=True,
        )
    except OSError as error:
        raise SubjectProblem(
            f"cannot start {command[0]!r}: {error.strerror} (choose another: --brt-python)"
        ) from error
    follower.close_writer()
    return child
