"""The folder in which tests can be run: that of the project's own, or the top of the project."""

from __future__ import annotations

from dataclasses import dataclass

from pytest_brt.execute.engine import Engine, Row, TestTarget
from pytest_brt.types import TestRun, Verdict
from pytest_brt.types.attempt import PutAtTop

_TOP = "."


@dataclass(frozen=True, slots=True, kw_only=True)
class SuiteFolder:
    """Where tests are put."""

    #: Relative to the project; "." is its top.
    path: str
    #: Why they are not where the project has its own; None where they are.
    note: PutAtTop | None = None

    def has(self, path: str) -> bool:
        """Say whether a test file lies where tests can be run."""
        return self.note is None or not path.startswith(f"{self.note.folder}/")


def find_suite_folder(engine: Engine) -> SuiteFolder:
    """Return the folder in which a test that does nothing can be run.

    Where it cannot be run among the project's own tests, their ``conftest.py`` may need what is
    not installed. Two runs at most.
    """
    usual = engine.subject.test_root
    if usual == _TOP:
        return SuiteFolder(path=usual)
    run = _probe(engine, usual)
    if run.verdict is not Verdict.BROKEN or _probe(engine, _TOP).verdict is Verdict.BROKEN:
        return SuiteFolder(path=usual)
    note = PutAtTop(folder=usual, cause=run.cause, raised=run.raised)
    return SuiteFolder(path=_TOP, note=note)


def _probe(engine: Engine, folder: str) -> TestRun:
    target = TestTarget(
        id="probe",
        path=f"{folder}/test_brt_probe.py".removeprefix("./"),
        source="def test_probe():\n    pass\n",
        node="test_probe",
    )
    return engine.run(Row(targets=(target,))).runs[0]
