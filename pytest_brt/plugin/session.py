"""The life of one run in our modes: what is collected, waited for, written and returned.

In order: `Session` reads the inputs and makes the plan, pytest collects the items, the run carries
out the plan while pytest waits for the items, and at the end one place writes all that is written.

An item waits for the result of a job. It passes once its work is done, whatever came of that, is
skipped where a patch does not apply, and fails only where we do: what came of all of them is the
exit code's, and the summary's, to say.
"""

from __future__ import annotations

import gc
import logging
import os
import time
from collections import deque
from collections.abc import Callable, Generator, Iterable, Iterator
from concurrent.futures import Future, wait
from contextlib import ExitStack
from dataclasses import replace
from datetime import datetime
from traceback import format_exception
from typing import Any

import pytest

from pytest_brt.errors import BrtError, ModelProblem
from pytest_brt.pipeline import Job
from pytest_brt.pipeline.run import Run
from pytest_brt.plugin import files
from pytest_brt.plugin.inputs import read_inputs
from pytest_brt.plugin.option_list import TYPED
from pytest_brt.plugin.options import read_options
from pytest_brt.render.answer import bug_tests
from pytest_brt.render.report import Report, build_report
from pytest_brt.render.text import summary
from pytest_brt.render.words import count
from pytest_brt.shown import in_a_log, on_a_line, plain, show
from pytest_brt.types import Attempt, JudgedTest, PatchResult, Repair, Status, Verdict

#: Exit code when a model was asked for, none answered, and something was not reached.
NO_MODEL = 6
#: Exit code when a patch passes and none leads clearly.
NO_LEADER = 7
#: Seconds between the lines that show without ``-v`` how far long work is.
_APART = 10.0

#: What came of an item → what pytest shows while it runs, where that is no point.
_LETTERS = {
    "not-reproduced": "F",
    "without-a-patch": "F",
    "failing": "x",
    "not-tried": "x",
    "not-applied": "x",
}


class JobItem(pytest.Item):
    """A job that pytest shows as a test."""

    job: Job
    #: Waits for what came of a job, and why.
    wait: Callable[[Job], tuple[str, str]]

    def runtest(self) -> None:
        """Wait for the result, and say what came of it."""
        outcome, refused = self.wait(self.job)
        self.user_properties.append(("brt", outcome))
        if refused:
            pytest.skip(refused)

    def reportinfo(self) -> tuple[Any, int | None, str]:
        """Return the heading of a failure."""
        # pytest takes the dots of a name that ends the id for those of a module.
        return self.path, None, f"patch {self.name}" if self.job.patch else self.name


def outcome_of(
    result: Attempt | PatchResult | Repair, tests: Iterable[JudgedTest]
) -> tuple[str, bool]:
    """Return what came of a job, and whether that is reached with it which was asked for.

    `tests` are those by which a patch is ranked.
    """
    if isinstance(result, Attempt):
        found = bug_tests(result.tests)
        if any(test.judgement.reproduces for test in found):
            return "reproduced", True
        is_sure = any(test.judgement.counts for test in found)
        return "possibly-reproduced" if found else "not-reproduced", is_sure
    if isinstance(result, Repair):
        is_good = any(not fix.broken for fix in result.fixes)
        return "patched" if is_good else "without-a-patch", is_good
    if result.refused or not (result.verdicts or result.passes_own):
        return "not-applied" if result.refused else "not-tried", False
    # Where some tests are sure, only those count.
    found = bug_tests(tests)
    sure = [test for test in found if test.judgement.counts]
    verdicts = {result.verdicts.get(judged.test.id) for judged in sure or found}
    passes = not result.regressions and verdicts <= {Verdict.PASS, None}
    return "passing" if passes else "failing", passes


class Session:
    """The plugin of a run in one of our modes."""

    def __init__(self, config: pytest.Config) -> None:
        """Read what the user gave.

        Raises:
            BrtError: an input cannot be used, with what to do about it.
        """
        self.config = config
        self.options = read_options(config)
        #: What the threads of the run said that was not shown yet, and when some of it was.
        self._said: deque[str] = deque()
        self._shown = time.monotonic()
        with ExitStack() as closing:
            self.inputs = read_inputs(config, self.options, self._say, closing)
            #: Ends every process and removes what was only for this run, the last opened first.
            self._closing = closing.pop_all()
        self.run: Run | None = None
        self.report: Report | None = None
        #: What was asked for, by its report, and whether it was reached.
        self._goals: dict[tuple[str, bool], bool] = {}
        #: Lines for the end of the summary, as in "JSON report: out.json".
        self._last_lines: list[str] = []
        #: pytest has waited for all items, or stopped as it was told to; and all was written.
        self._came_through = self._is_written = False

    # -- collection ---------------------------------------------------------------------

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
        items: list[Any] = []
        for node, job in self.inputs.nodes.items():
            name, nodeid = on_a_line(job.name), on_a_line(node)
            item: JobItem = JobItem.from_parent(session, name=name, nodeid=nodeid)
            item.job, item.wait = job, self._outcome
            # A project's `-W error` is about its own code, not about ours.
            item.add_marker(pytest.mark.filterwarnings("ignore"))
            items.append(item)
        hook.pytest_collectreport(report=pytest.CollectReport("", "passed", None, items))
        hook.pytest_collection_modifyitems(session=session, config=config, items=items)
        session.items, session.testscollected = items, len(items)
        hook.pytest_collection_finish(session=session)
        return True

    def pytest_report_collectionfinish(self) -> list[str]:
        """Say what runs, on what, and how it is isolated."""
        lines = self.inputs.header(self.options) if self.config.get_verbosity() >= 0 else ()
        return [in_a_log(on_a_line(f"brt: {line}")) for line in lines]

    @pytest.hookimpl(tryfirst=True)
    def pytest_report_teststatus(self, report: Any) -> tuple[str, str, str] | None:
        """Name what came of an item: "1 reproduced" instead of "1 passed"."""
        outcome = dict(report.user_properties).get("brt")
        if report.when != "call" or not isinstance(outcome, str):
            return None
        words = outcome.replace("-", " ")
        return words, _LETTERS.get(outcome, "."), words.upper()

    # -- the loop -----------------------------------------------------------------------

    @pytest.hookimpl(wrapper=True)
    def pytest_runtestloop(self, session: pytest.Session) -> Generator[None, object, object]:
        """Start the work of all selected items, then let pytest wait for them one by one."""
        if self.config.option.collectonly:
            return (yield)
        jobs = [item.job for item in session.items if isinstance(item, JobItem)]
        self.run = Run(self.inputs.plan, self.inputs.bench, jobs)
        over = self.run.start()
        try:
            result = yield
            self._wait(over)
        except session.Failed:
            self._came_through = True
            raise
        self._came_through = True
        return result

    def _outcome(self, job: Job) -> tuple[str, str]:
        """Wait for a job, and return what came of it, and why a patch was refused."""
        assert self.run is not None, "it was started"
        future = self.run.futures[job]
        self._wait(future)
        error, refused = future.exception(), None
        if error is None:
            result = future.result()
            outcome, is_reached = outcome_of(result, self.run.tests(job.issue))
            refused = getattr(result, "refused", None)
        elif isinstance(error, ModelProblem) and self._unheard:  # nothing of ours is broken
            outcome = "without-a-patch" if job.is_repair else "not-reproduced"
            is_reached = False
        else:
            text = str(error)
            if not isinstance(error, BrtError):
                frames = "".join(format_exception(error))
                text = (
                    f"internal error in pytest-brt: please report it with what follows\n\n{frames}"
                )
            pytest.fail(plain(text), pytrace=False)
        # What is repaired need not be reproduced too, as tests may have been given.
        if job.patch or job.is_repair or not self.inputs.plan.fixes(job.issue):
            goal = job.issue, job.patch is None
            self._goals[goal] = self._goals.get(goal, False) or is_reached
        return outcome, plain(refused.text) if refused else ""

    @property
    def _unheard(self) -> str:
        """Why no model ever answered though one was asked, else ""."""
        return self.inputs.bench.model.usage.unheard

    def _wait(self, future: Future[Any]) -> None:
        """Wait for a result, shortly enough for Ctrl-C to be heard; show how far it is."""
        while not future.done():
            wait([future], timeout=0.5)
            self._show_progress()
        self._show_progress()

    def _say(self, text: str) -> None:
        """Take what a thread says; ``--log-cli-level=info`` shows it, too."""
        logging.getLogger("pytest_brt").info("%s", plain(text))
        self._said.append(text)

    def _show_progress(self) -> None:
        """Show what the work has said since: all with ``-v``, else the last every ten seconds."""
        verbosity, now = self.config.get_verbosity(), time.monotonic()
        if self._said and (verbosity > 0 or (verbosity == 0 and now > self._shown + _APART)):
            self._shown, lines = now, [self._said.popleft() for _ in range(len(self._said))]
            plugin: Any = self.config.pluginmanager.getplugin
            with plugin("capturemanager").global_and_fixture_disabled():
                for line in lines if verbosity > 0 else lines[-1:]:
                    show(plugin("terminalreporter"), f"  {line}")

    # -- the end ------------------------------------------------------------------------

    @pytest.hookimpl(tryfirst=True)
    def pytest_sessionfinish(self, session: pytest.Session) -> None:
        """Stop what still runs, then write the reports: the only place that writes."""
        if self.run is None:
            return
        self.run.stop()
        self._last_lines += self.run.problems
        journal = self.inputs.bench.journal
        if journal is not None and journal.taken:
            results = count(journal.taken, "result")
            self._last_lines.append(f"{results} taken from the interrupted run")
        record = self.run.record()
        self.config.hook.pytest_brt_finished(record=record)
        ended = f"{datetime.now():%Y-%m-%d %H:%M}"
        report = build_report(record, replace(self.inputs.setting, ended=ended), 0)
        code = self._exit_code(report) if session.exitstatus == 0 else session.exitstatus
        self.report = replace(report, exit_code=int(code))
        writers = files.writers(self.report, record, self.options, self.inputs)
        if self.inputs.bench.cache is None and hasattr(self.config, "cache"):
            problem = "the tests are not kept for the next run: pytest's cache cannot be written"
            self._last_lines.append(problem)
        self._is_written = True
        for write in writers:
            try:
                self._last_lines += write()
            except BrtError as error:
                self._last_lines.append(str(error))
                self._is_written = False
        failed = code in (0, NO_LEADER) and not self._is_written
        session.exitstatus = pytest.ExitCode.TESTS_FAILED if failed else code
        if not self._came_through:
            again = "start again" if journal is None else "continue"
            self._last_lines.append(f"{again}: {self.inputs.setting.command}")
        elif self.config.get_verbosity() >= 0:
            self._last_lines += self._advice(self.report)

    def _exit_code(self, report: Report) -> int:
        """Return the exit code of a run that nothing broke: docs/options.md."""
        if not all(self._goals.values()):
            return NO_MODEL if self._unheard else 1
        leads = [ranking.answer.status in (Status.BEST, Status.ONLY) for ranking in report.rankings]
        return 0 if self.options.repair or all(leads) else NO_LEADER

    def _advice(self, report: Report) -> Iterator[str]:
        """Yield what the exit code means, and what to do next."""
        if report.exit_code == NO_MODEL:
            yield f"exit code {NO_MODEL}: no model answered: {self._unheard}"
        made = any(test.candidate and test.issue for test in report.tests)
        if made and self.inputs.bench.cache is not None and not report.rankings:
            rank = "pytest-brt rank DIR" if TYPED in os.environ else "pytest --rank-fixes DIR"
            yield (
                f"next: '{rank}' ranks the patches in DIR by these tests; 'pytest-brt review' "
                "shows them, and takes which are right"
            )

    def pytest_terminal_summary(self, terminalreporter: pytest.TerminalReporter) -> None:
        """Show the tests and the ranking."""
        if self.report is None:
            return
        write, bench = self.options.write, self.inputs.bench
        is_written = None if write == "no" else write != "diff"
        show_summary(terminalreporter, self.report, self._last_lines, is_written=is_written)
        terminalreporter.flush()
        # All was written and shown, so what was finished is not needed any more.
        if self._came_through and self._is_written:
            if bench.journal is not None:
                bench.journal.forget()
            if self.options.replies is None:
                bench.model.unfinished.forget()

    def pytest_unconfigure(self) -> None:
        """End all, each thing whatever befalls others."""
        self._closing.close()
        gc.freeze()  # pytest will look at all objects, five times over


def show_summary(
    reporter: pytest.TerminalReporter,
    report: Report,
    last_lines: Iterable[str],
    *,
    is_written: bool | None = False,
) -> None:
    """Show the answer, what it rests on, the tests, and what to do next."""
    reporter.ensure_newline()
    for line in summary(report, reporter.config.get_verbosity(), is_written=is_written):
        if line.style in ("=", "-"):
            reporter.section(line.text, sep=line.style)
        else:
            show(reporter, line.text, **dict.fromkeys(line.style.split(), True))
    for text in last_lines:
        show(reporter, text)
