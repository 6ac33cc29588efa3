"""The life of one run in our modes: what is collected, waited for, written and returned.

In order: `Session` reads the inputs and makes the plan, pytest collects the items, the run carries
out the plan while pytest waits for the items, and at the end one place writes all that is written.
"""

from __future__ import annotations

import gc
import os
import time
from collections.abc import Generator, Iterator
from concurrent.futures import Future, wait
from contextlib import ExitStack, nullcontext
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from pytest_brt import __version__
from pytest_brt.codec import content_id, to_json
from pytest_brt.errors import BrtError, ModelProblem, StoreProblem
from pytest_brt.pipeline.keeping import keep
from pytest_brt.pipeline.plan import Job
from pytest_brt.pipeline.run import Run
from pytest_brt.plugin import files
from pytest_brt.plugin.apart import TYPED, command_again
from pytest_brt.plugin.inputs import read_inputs
from pytest_brt.plugin.items import Defect, JobItem, Unheard, all_reached, status_of
from pytest_brt.plugin.options import Write, read_options
from pytest_brt.plugin.summary import header, show_summary
from pytest_brt.render.answer import reviewed
from pytest_brt.render.report import Report
from pytest_brt.render.words import count
from pytest_brt.sandbox.workspace import HeldFolder
from pytest_brt.shown import on_a_line, show
from pytest_brt.store import Journal
from pytest_brt.types import RunRecord, Status

#: Exit code when a model was asked for, none answered, and something was not reached.
NO_MODEL = 6
#: Exit code when a patch passes and none leads clearly.
NO_LEADER = 7
#: Seconds between the lines that show without ``-v`` how far long work is.
_APART = 10.0


class Session:
    """The plugin of a run in one of our modes."""

    def __init__(self, config: pytest.Config) -> None:
        """Read what the user gave.

        Raises:
            BrtError: an input cannot be used, with what to do about it.
        """
        self.config = config
        self.options = read_options(config)
        self.command = command_again(config.invocation_params.args)
        with ExitStack() as closing:
            held = HeldFolder()
            closing.callback(held.close)
            self._scratch = held.path
            self.inputs = read_inputs(config, self.options, held.path, closing)
            self.root = Path(self.inputs.workbench.engine.subject.root)
            self.tree = files.tree_hash(self.root, self.options)
            self.journal = self._open_journal()
            closing.callback(self._forget)
            #: Ends every process and removes what was only for this run, the last opened first.
            self._closing = closing.pop_all()
        self._shown = time.monotonic()
        self.run: Run | None = None
        self.report: Report | None = None
        #: Whether that was reached which was asked for.
        self.is_reached = True
        #: Lines for the end of the summary, as in "JSON report: out.json".
        self.closing: list[str] = []
        #: pytest has waited for all items, or stopped as it was told to: at a second Ctrl-C it
        #: says of the first one no more than that something failed.
        self._came_through = False
        #: All was written, and then shown, so what was finished is not needed any more.
        self._is_whole = self._is_told = False

    @property
    def unheard(self) -> str:
        """Why no model ever answered though one was asked, else ""."""
        return self.inputs.workbench.model.usage.unheard

    # -- collection ---------------------------------------------------------------------

    @pytest.hookimpl(wrapper=True)
    def pytest_sessionstart(self) -> Generator[None, object, object]:
        """Say what runs, on what, and how it is isolated."""
        result = yield
        reporter: Any = self.config.pluginmanager.getplugin("terminalreporter")
        if reporter is not None and self.config.get_verbosity() >= 0:
            for line in header(self.inputs, self.options):
                show(reporter, f"brt: {line}")
        return result

    @pytest.hookimpl(tryfirst=True)
    def pytest_collection(self, session: pytest.Session) -> bool:
        """Collect our items and nothing else, by hooks that reporters listen to.

        Raises:
            UsageError: a path is given, as for tests.
        """
        hook, config = session.config.hook, session.config
        if config.args_source.name == "ARGS":
            raise pytest.UsageError(
                f"{config.args[0]!r}: test paths are not accepted here (use --brt-tests PATH, or "
                "--rank-fixes PATH for a patch; -k NAME selects one)"
            )
        items: list[Any] = list(self._items(session))
        hook.pytest_collectreport(report=pytest.CollectReport("", "passed", None, items))
        hook.pytest_collection_modifyitems(session=session, config=config, items=items)
        session.items, session.testscollected = items, len(items)
        hook.pytest_collection_finish(session=session)
        return True

    def _items(self, session: pytest.Session) -> Iterator[JobItem]:
        """Yield the item of each job, called after the file of its patch or in its report's."""
        plan, root = self.inputs.plan, self.config.rootpath
        nodes = {
            f"{issue.source}::{job.name}": job
            for issue in plan.issues
            for job in (*plan.attempts(issue.id), *plan.fixes(issue.id))
        }
        for path, patch in self.inputs.cases.patches.items():
            is_made = path.is_relative_to(self._scratch)  # and is called by its name
            node = patch.name if is_made else Path(os.path.relpath(path, root)).as_posix()
            nodes[node] = Job.of(plan.ranked, patch)
        for node, job in nodes.items():
            name, nodeid = on_a_line(job.name), on_a_line(node)
            yield JobItem.from_parent(
                session, name=name, nodeid=nodeid, job=job, wait=self._wait_for
            )

    @pytest.hookimpl(tryfirst=True)
    def pytest_report_teststatus(self, report: Any) -> tuple[str, str, str] | None:
        """Name what came of an item: "1 reproduced" instead of "1 passed"."""
        return status_of(report)

    # -- the loop -----------------------------------------------------------------------

    @pytest.hookimpl(wrapper=True)
    def pytest_runtestloop(self, session: pytest.Session) -> Generator[None, object, object]:
        """Start the work of all selected items, then let pytest wait for them one by one."""
        if self.config.option.collectonly:
            return (yield)
        jobs = [item.job for item in session.items if isinstance(item, JobItem)]
        bench = replace(self.inputs.workbench, journal=self.journal)
        self.run = Run(self.inputs.plan, bench, jobs)
        self._closing.callback(self.run.close)
        over = self.run.start()
        try:
            result = yield
        except session.Failed:
            self._came_through = True
            raise
        self._wait(over)
        self._came_through = True
        self.is_reached = all_reached(session.items)
        return result

    def _wait_for(self, job: Job) -> tuple[Run, Any]:
        """Return the run and the result of a job."""
        assert self.run is not None, "it was started"
        future = self.run.futures[job]
        self._wait(future)
        error = future.exception()
        if isinstance(error, ModelProblem) and self.unheard:
            raise Unheard(str(error))
        if error is not None and not isinstance(error, BrtError):
            raise Defect(error) from error
        return self.run, future.result()

    def _wait(self, future: Future[Any]) -> None:
        """Wait for a result, shortly enough for Ctrl-C to be heard; show how far it is."""
        while not future.done():
            wait([future], timeout=0.5)
            self._show_progress()
        self._show_progress()

    def _show_progress(self) -> None:
        """Show what the work has said since: all with ``-v``, else the last every ten seconds."""
        verbosity = self.config.get_verbosity()
        is_due = verbosity > 0 or time.monotonic() > self._shown + _APART
        lines = self.inputs.progress.taken() if is_due else []
        reporter: Any = self.config.pluginmanager.getplugin("terminalreporter")
        capture: Any = self.config.pluginmanager.getplugin("capturemanager")
        if not lines or reporter is None or verbosity < 0:
            return
        self._shown = time.monotonic()
        with capture.global_and_fixture_disabled() if capture else nullcontext():
            for line in lines if verbosity > 0 else lines[-1:]:
                show(reporter, f"  {line}")

    # -- the end ------------------------------------------------------------------------

    @pytest.hookimpl(tryfirst=True)
    def pytest_sessionfinish(self, session: pytest.Session, exitstatus: int) -> None:
        """Stop what still runs, then write the reports: the only place that writes."""
        if self.run is None:
            return
        self.run.stop()
        interrupted = exitstatus == pytest.ExitCode.INTERRUPTED or not self._came_through
        self.closing += self.run.problems
        if self.journal is not None and self.journal.taken:
            results = count(self.journal.taken, "result")
            self.closing.append(f"{results} taken from the interrupted run")
        record = self.run.record()
        self.config.hook.pytest_brt_finished(record=record)
        report = files.build(record, self.inputs.workbench.engine, self.command, self.tree)
        leads = (ranking.answer.status in (Status.BEST, Status.ONLY) for ranking in report.rankings)
        if session.exitstatus == pytest.ExitCode.OK:
            failed = NO_MODEL if self.unheard else pytest.ExitCode.TESTS_FAILED
            clear = 0 if self.options.repair or all(leads) else NO_LEADER
            session.exitstatus = clear if self.is_reached else failed
        self.report = replace(report, exit_code=int(session.exitstatus))
        is_written = self._write(record, self.report)
        if not is_written and session.exitstatus in (pytest.ExitCode.OK, NO_LEADER):
            session.exitstatus = pytest.ExitCode.TESTS_FAILED
        if interrupted:
            again = "continue" if self.journal is not None else "start again"
            self.closing.append(f"{again}: {self.command}")
        else:
            self.closing += self._advice(self.report)
        self._is_whole = is_written and not interrupted

    def _write(self, record: RunRecord, report: Report) -> bool:
        """Write each thing that was asked for; return whether all could be written."""
        writers = [
            partial(files.write_report, path, report, record, self.root)
            for path in self.options.report
        ]
        if self.options.repair:
            writers.append(partial(files.write_patches, record, self.options.repair))
        writers += [partial(self._keep, record), partial(self._write_tests, record)]
        is_written = True
        for write in writers:
            try:
                self.closing += write()
            except BrtError as error:
                self.closing.append(str(error))
                is_written = False
        return is_written

    def _keep(self, record: RunRecord) -> Iterator[str]:
        """Keep for the next run what it may use; what cannot be kept is said, and no error."""
        folder = self.inputs.workbench.cache
        if folder is None:
            if hasattr(self.config, "cache") and (record.attempts or record.ranks):
                yield "the tests are not kept for the next run: pytest's cache cannot be written"
            return
        try:
            instead = keep(folder, record)
            if instead is not None:
                yield f"kept: the bug tests of {instead.about} ({reviewed(instead.tests)})"
        except (OSError, StoreProblem) as error:
            yield f"the tests are not kept for the next run: {error}"

    def _write_tests(self, record: RunRecord) -> Iterator[str]:
        """Write the tests into the project, where that is wanted."""
        if self.options.write in (Write.NEW, Write.INTO):
            placed = files.place_tests(record, self.options, self.inputs.workbench)
            yield from files.write_tests(placed, record, self.root)

    def _advice(self, report: Report) -> Iterator[str]:
        """Yield what the exit code means, and what to do next."""
        if self.config.get_verbosity() < 0:
            return
        if self.unheard and not self.is_reached:
            yield f"exit code {NO_MODEL}: no model answered: {self.unheard}"
        made = any(test.candidate and test.issue for test in report.tests)
        if made and self.inputs.workbench.cache is not None and not report.rankings:
            rank = "pytest-brt rank DIR" if TYPED in os.environ else "pytest --rank-fixes DIR"
            yield (
                f"next: '{rank}' ranks the patches in DIR by these tests; 'pytest-brt review' "
                "shows them, and takes which are right"
            )

    def _open_journal(self) -> Journal | None:
        """Return what keeps finished work for the case that this run is interrupted."""
        bench, earlier = self.inputs.workbench, self.inputs.earlier
        if bench.cache is None or self.config.option.collectonly:
            return None
        # What is written where, how many at a time, and how long it may take change no result.
        decisive = replace(
            self.options, replies=None, report=(), jobs=1, budget=1.0, memory=1, executor=""
        )
        subject, isolation = repr(bench.engine.subject), bench.engine.sandbox.isolation
        by = to_json(earlier) if earlier else ""
        facts = (__version__, self.tree, subject, isolation, repr(decisive), by)
        return Journal(bench.cache / "journal.jsonl", content_id(*facts))

    def pytest_terminal_summary(self, terminalreporter: pytest.TerminalReporter) -> None:
        """Show the tests and the ranking."""
        if self.report is None:
            return
        write = self.options.write
        is_written = None if write is Write.NO else write is not Write.DIFF
        show_summary(terminalreporter, self.report, self.closing, is_written=is_written)
        terminalreporter.flush()
        self._is_told = self._is_whole

    def _forget(self) -> None:
        """Remove what was finished where all was written and shown, and keep it else."""
        if self._is_told and self.journal is not None:
            self.journal.forget()
        if self._is_told and self.options.replies is None:
            self.inputs.workbench.model.unfinished.forget()

    def pytest_unconfigure(self) -> None:
        """End all, each thing whatever befalls others."""
        self._closing.close()
        gc.freeze()  # pytest will look at all objects, five times over
