"""A trial that a changed module is what gets imported, once per engine."""

from __future__ import annotations

import secrets
import threading
from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path

from pytest_brt.execute.row import Row, TestTarget
from pytest_brt.execute.subject import Subject
from pytest_brt.execute.touched import TouchedFile, touched_files
from pytest_brt.execute.verdict import OTHER_CODE
from pytest_brt.types import FileChange, TestRun, Verdict

Runs = Callable[[Row], Sequence[TestRun]]


class Canary:
    """Changes a module so that importing it must raise, and looks whether it does.

    When it does not, something else than the private view is imported, and no verdict about
    a patch means anything.
    """

    def __init__(self, subject: Subject) -> None:
        self._subject = subject
        self._lock = threading.Lock()
        self._asked = False
        #: Why cells of changed trees are INVALID, "" when they are not.
        self.blind = ""

    def look(self, row: Row, run: Runs) -> None:
        """Ask, if that was not done yet and the row changes a module that can be imported."""
        with self._lock:
            if self._asked:
                return
            file = self._file(row)
            if file is not None:
                self._asked = True
                self.blind = self._ask(file, run)

    def _file(self, row: Row) -> TouchedFile | None:
        """Return a module that the row changes and the project has; none that a patch brings."""
        subject = self._subject
        root = Path(subject.root)
        for file in touched_files(root, subject.source_roots, row.changes, lines=False):
            if file.digest is not None and (root / file.path).is_file():
                return file
        return None

    def _ask(self, file: TouchedFile, run: Runs) -> str:
        """Change the module, and nothing else: no patch has a say in what comes of it."""
        word = f"canary {secrets.token_hex(8)}"
        dead = FileChange(path=file.path, content=f"raise RuntimeError({word!r})\n".encode())
        folder = "" if self._subject.test_root == "." else f"{self._subject.test_root}/"
        target = TestTarget(
            id="canary",
            path=f"{folder}test_brt_canary.py",
            source=f"import importlib\n\n\ndef test_canary():\n"
            f"    importlib.import_module({file.names[0]!r})\n",
            node="test_canary",
        )
        runs = run(Row(changes=(dead,), targets=(target,)))
        if all(found.verdict is Verdict.PASS or OTHER_CODE in found.reason for found in runs):
            return f"a changed {file.path} is not what is imported as {file.names[0]}"
        return ""

    def judge(self, row: Row, runs: Sequence[TestRun]) -> tuple[TestRun, ...]:
        """Return the runs of a row, INVALID where the canary was not seen."""
        if not self.blind or not row.changes:
            return tuple(runs)
        return tuple(replace(run, verdict=Verdict.INVALID, reason=self.blind) for run in runs)
