"""Reports that are read and run once, however many ask for what came of it."""

from __future__ import annotations

import threading
from concurrent.futures import Future

from pytest_brt.execute.engine import Engine
from pytest_brt.issue.read import read_report
from pytest_brt.observe.suite_folder import SuiteFolder, find_suite_folder
from pytest_brt.observe.watch import Replayed, watch
from pytest_brt.types import Issue
from pytest_brt.types.reading import Reading


class Reports:
    """What the reports of one run say, and what their code does on the unpatched tree."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._readings: dict[str, Reading] = {}
        self._observed: dict[str, Future[Replayed]] = {}
        self._folder: SuiteFolder | None = None

    def folder(self, engine: Engine) -> SuiteFolder:
        """Return where tests can be run.

        Raises:
            SubjectProblem: the subject's interpreter cannot be started.
        """
        with self._lock:
            if self._folder is None:
                self._folder = find_suite_folder(engine)
            return self._folder

    def reading(self, issue: Issue) -> Reading:
        """Return what a report says."""
        with self._lock:
            if issue.id not in self._readings:
                self._readings[issue.id] = read_report(issue)
            return self._readings[issue.id]

    def observed(self, issue: Issue, engine: Engine) -> Replayed:
        """Return what the statements of a report do; who asks while they are run waits for it.

        Raises:
            SubjectProblem: the subject's interpreter cannot be started.
        """
        reading = self.reading(issue)
        with self._lock:
            first = issue.id not in self._observed
            future = self._observed.setdefault(issue.id, Future())
        if first:
            try:
                future.set_result(watch(reading, engine))
            except BaseException as problem:
                future.set_exception(problem)
                raise
        return future.result()
