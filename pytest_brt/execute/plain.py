"""The plain engine: a process per target on a copy of the tree. The ladder's lower rungs."""

from __future__ import annotations

import json
import os
import tempfile
import threading
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path

from pytest_brt.execute.below import remove_tree
from pytest_brt.execute.canary import Canary
from pytest_brt.execute.engine import Caught, Observation, Observed, Program, Value
from pytest_brt.execute.events import Event, Places
from pytest_brt.execute.outcome import Scene
from pytest_brt.execute.process import Deadlines, Ended, inner_environment, run_process
from pytest_brt.execute.row import Limits, Row, RowResult, TestTarget, limits_of, merge
from pytest_brt.execute.scratch import Scratch
from pytest_brt.execute.subject import Subject
from pytest_brt.execute.touched import TouchedFile, touched_files, watched_files
from pytest_brt.execute.tree import TreeCopy
from pytest_brt.execute.verdict import missing_nodes, verdicts
from pytest_brt.types import FileChange, TestRun

INSIDE = Path(__file__).parent / "inside"
#: Seconds for starting Python, importing the project and collecting, at least.
STARTUP = 60.0
#: Seconds in which a process must end that said it is done.
ENDING = 10.0
#: How often the rest of a file is tried again after a test that ended the process.
RESTARTS = 200


class PlainEngine:
    """Runs each target in a process of its own, on one of a few private copies of the tree."""

    def __init__(
        self, subject: Subject, *, level: str, limits: Limits, jobs: int, remark: str = ""
    ) -> None:
        """Start nothing yet; `remark` is for the header."""
        self.subject = subject
        self.level = level
        self.remark = remark
        self._limits = limits
        self._slots = threading.BoundedSemaphore(max(1, jobs))
        self._lock = threading.Lock()
        self._free: list[TreeCopy] = []
        self._made = 0
        self._scratch = Scratch()
        self._canary = Canary(subject)

    def run(self, row: Row) -> RowResult:
        """Run the targets of `row`; see `Engine.run`."""
        begin = time.monotonic()
        with self._tree() as tree:
            runs = self._row(tree, row)
            self._canary.look(row, lambda trial: self._row(tree, trial))
        return RowResult(runs=self._canary.judge(row, runs), seconds=time.monotonic() - begin)

    def _row(self, tree: TreeCopy, row: Row) -> list[TestRun]:
        return [run for target in row.targets for run in self._target(tree, row, target)]

    def observe(self, program: Program) -> Observation:
        """Run the statements of `program`; see `Engine.observe`."""
        with self._tree() as tree:
            tree.apply(program.changes)
            with self._folder() as folder:
                return self._observe(tree, folder, program)

    def close(self) -> None:
        """Remove the copies; nothing runs between calls."""
        self._scratch.end_processes()
        self._scratch.close()

    def _target(self, tree: TreeCopy, row: Row, target: TestTarget) -> list[TestRun]:
        """Run one target, going on with the rest of a file after a test that ended all."""
        scene = Scene(
            target=target,
            places=self._places(tree),
            level=self.level,
            seconds=limits_of(row, self._limits).seconds,
            touched=bool(self._touched(row)),
        )
        runs: list[TestRun] = []
        skip: tuple[str, ...] = ()
        for _ in range(RESTARTS):
            tree.restore()
            tree.apply(row.changes)
            if target.source is not None:
                content = target.source.encode("utf-8", "surrogatepass")
                tree.apply([FileChange(path=target.path, content=content)])
            ended = self._pytest(tree, row, target, skip)
            found = verdicts(scene, ended)
            runs += found
            left = missing_nodes(ended)
            if target.node or not left or len(left) == len(skip):
                break
            skip = (*skip, *(e.node for e in ended.events if e.event == "item"))
        return [merge(runs, target)] if target.node and len(runs) > 1 else runs

    def _pytest(self, tree: TreeCopy, row: Row, target: TestTarget, skip: Sequence[str]) -> Ended:
        args = [
            *target.arguments, "-o", "addopts=", "-p", "no:cacheprovider", "-p", "no:faulthandler",
            "--rootdir", str(tree.place), "--confcutdir", str(tree.place),
            "--tb=short", "-q", *self.subject.pytest_args,
            *(f"--deselect={name}" for name in skip),
        ]  # fmt: skip
        with self._folder() as folder:
            if not self.subject.ini:
                (folder / "empty.ini").write_text("[pytest]\n", encoding="utf-8")
                args += ["-c", str(folder / "empty.ini")]
            spec: dict[str, object] = {
                "args": args,
                "packages": self.subject.packages,
                "limits": self._rlimits(),
                "root": str(tree.place),
                "target": target.path,
                "touched": [file.plain() for file in self._touched(row) or self._watched(row)],
                "mapping": bool(row.watch),
            }
            return run_process(
                lambda writer: self._command("run_tests.py", folder, {**spec, "fd": writer}),
                env=self._environment(tree, folder, row.hash_seed),
                cwd=str(tree.place),
                deadlines=test_deadlines(limits_of(row, self._limits)),
            )

    def _touched(self, row: Row) -> tuple[TouchedFile, ...]:
        subject = self.subject
        lines = subject.sees_lines or bool(row.watch)
        return touched_files(Path(subject.root), subject.source_roots, row.changes, lines=lines)

    def _watched(self, row: Row) -> tuple[TouchedFile, ...]:
        return watched_files(Path(self.subject.root), self.subject.source_roots, row.watch)

    def _observe(self, tree: TreeCopy, folder: Path, program: Program) -> Observation:
        work = folder / "work"
        copy_files(work, program.files)
        spec = {
            "statements": program.statements,
            "packages": self.subject.packages,
            "limits": self._rlimits(),
        }
        ended = run_process(
            lambda writer: self._command("observe.py", folder, {**spec, "fd": writer}),
            env=self._environment(tree, folder, 0),
            cwd=str(work),
            deadlines=statement_deadlines(program),
        )
        return observation(program, ended, self._places(tree))

    def _command(self, script: str, folder: Path, spec: Mapping[str, object]) -> list[str]:
        path = folder / "spec.json"
        path.write_text(json.dumps(spec), encoding="utf-8")
        return [self.subject.python, str(INSIDE / script), str(path)]

    def _environment(self, tree: TreeCopy, folder: Path, hash_seed: int) -> dict[str, str]:
        for name in ("home", "tmp"):
            (folder / name).mkdir(exist_ok=True)
        return inner_environment(
            tree=str(tree.place),
            source_roots=self.subject.source_roots,
            python=self.subject.python,
            home=str(folder / "home"),
            scratch=str(folder / "tmp"),
            hash_seed=hash_seed,
            extra={**dict(self.subject.env), **self._scratch.environment()},
        )

    def _rlimits(self) -> dict[str, int]:
        return resource_limits(self._limits)

    def _places(self, tree: TreeCopy) -> Places:
        return Places(tree=str(tree.place), root=self.subject.root, libraries=self.subject.paths)

    @contextmanager
    def _folder(self) -> Iterator[Path]:
        """Give a scratch folder for one process."""
        folder = Path(tempfile.mkdtemp(prefix="run-", dir=self._scratch.path))
        try:
            yield folder
        finally:
            remove_tree(folder)

    @contextmanager
    def _tree(self) -> Iterator[TreeCopy]:
        """Lend one of the copies, set back to the project's state."""
        with self._slots, self._scratch.room():
            with self._lock:
                tree = self._free.pop() if self._free else None
                self._made += tree is None
                number = self._made
            if tree is None:
                tree = TreeCopy(Path(self.subject.root), self._scratch.path / f"tree-{number}")
            else:
                tree.restore()
            try:
                yield tree
            finally:
                with self._lock:
                    self._free.append(tree)


def test_deadlines(limits: Limits) -> Deadlines:
    """Return the deadlines of a test process: for starting, for each item, for ending."""
    return Deadlines(
        start=max(limits.start_seconds, limits.seconds),
        total=limits.row_seconds,
        events=(("item", limits.seconds), ("item_end", limits.seconds), ("finish", ENDING)),
    )


def statement_deadlines(program: Program) -> Deadlines:
    """Return the deadlines of an observing process: for starting, then for each statement."""
    seconds = program.statement_seconds
    return Deadlines(
        start=STARTUP,
        total=program.total_seconds,
        events=(("statement", seconds), ("observed", seconds), ("evaluable", seconds)),
    )


def resource_limits(limits: Limits) -> dict[str, int]:
    """Return the resource limits of one process, by the names of `resource.RLIMIT_*`."""
    return {
        "AS": limits.memory_mb * 1024 * 1024,
        "CORE": 0,
        "FSIZE": 256 * 1024 * 1024,
        "NOFILE": 1024,
    }


def copy_files(folder: Path, files: Sequence[FileChange]) -> None:
    """Put the files of a program in (or beside) its working directory."""
    folder.mkdir(parents=True, exist_ok=True)
    for file in files:
        path = Path(os.path.normpath(folder / file.path))
        if not path.is_relative_to(folder.parent):
            continue
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(file.content or b"")


def observation(program: Program, ended: Ended, places: Places) -> Observation:
    """Return what the statements of a program did, from what its process told."""
    evaluable = {event.index for event in ended.events if event.event == "evaluable"}
    observed = [
        _observed(event, event.index in evaluable, places)
        for event in ended.events
        if event.event == "observed"
    ]
    if len(observed) == len(program.statements):
        how = ""
    elif ended.timed_out:
        spent = program.statement_seconds
        total = ended.seconds >= program.total_seconds
        how = f"timed out after {program.total_seconds if total else spent:g} s"
    else:
        how = ended.manner()
    return Observation(observed=tuple(observed), ended=how)


def _observed(event: Event, evaluable: bool, places: Places) -> Observed:
    value = event.value
    return Observed(
        index=event.index,
        value=None
        if value is None
        else Value(
            type=value.type,
            repr=places.text(value.repr),
            str=places.text(value.text),
            evaluable=evaluable,
            is_none=value.is_none,
        ),
        stdout=places.text(event.stdout),
        stderr=places.text(event.stderr),
        warnings=tuple(Caught(type=kind, message=text) for kind, text in event.warnings),
        raised=None if event.raised is None else places.raised(event.raised),
        database=event.database,
        seconds=event.seconds,
    )
