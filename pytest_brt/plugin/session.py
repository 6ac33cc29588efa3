"""A run of ours: pytest without the project's settings and code, and the plugin that leads it.

In order: `Session` reads the inputs and makes the plan, pytest collects the items, the run carries
out the plan while pytest waits for the items, and at the end one place writes all that is written.

An item waits for the result of a job. It passes once its work is done, whatever came of that, is
skipped where a patch does not apply, and fails only where we do: what came of all of them is the
exit code's, and the summary's, to say.
"""

from __future__ import annotations

import os
import shlex
import signal
import sys
import time
from collections import deque
from collections.abc import Callable, Generator, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import Future, wait
from dataclasses import replace
from datetime import datetime
from functools import partial
from pathlib import Path
from traceback import format_exception
from typing import TYPE_CHECKING, Any

import pytest

from pytest_brt import __version__
from pytest_brt.codec import content_id
from pytest_brt.errors import BrtError, ModelProblem, UsageProblem
from pytest_brt.pipeline import Job, Plan
from pytest_brt.pipeline.run import Run, distinct
from pytest_brt.plugin import inputs
from pytest_brt.plugin.files import write_all
from pytest_brt.plugin.option_list import SESSION
from pytest_brt.plugin.options import read_options
from pytest_brt.project.layout import hash_of
from pytest_brt.project.pytest_config import find_root
from pytest_brt.render.forms import filled, show_summary
from pytest_brt.render.report import Report, Setting, build_report
from pytest_brt.render.words import count
from pytest_brt.reproduce.strategy import Workbench
from pytest_brt.sandbox.run_tests import Runner
from pytest_brt.shown import in_a_log, on_a_line, plain, show
from pytest_brt.store import Journal, LastRun, load_last_run
from pytest_brt.types import PatchResult, RunRecord, Status, Verdict

if TYPE_CHECKING:
    from pytest_brt.agents.loop import Agent
    from pytest_brt.reproduce.strategy import Strategy

#: Set by what starts a run in another way than by pytest's options: what was typed.
TYPED = "PYTEST_BRT_TYPED"
#: Exit code when a model was asked for, none answered, and something was not reached.
NO_MODEL = 6
#: Exit code when a patch passes and none leads clearly.
NO_LEADER = 7
#: What a ranking comes to that has a clear leader.
_LEADS = (Status.BEST, Status.ONLY)
#: Seconds between two signs of life, where not all is shown.
_APART = 10.0
#: How pytest ends what did not come to its end.
_BROKEN_OFF = (pytest.ExitCode.INTERRUPTED, pytest.ExitCode.INTERNAL_ERROR)


def run_apart(
    typed: Sequence[str], root: str | None = None, plugins: Sequence[object] = ()
) -> int:
    """Run pytest with what a user typed, and nothing from the project's settings.

    These may need packages that only the project's interpreter has, or be the very bug. The tests
    that we start load them as usual. `root` is the project's, which is looked for as pytest does.
    """
    folder = Path(root).resolve() if root else find_root(Path.cwd())
    settings = ["-c", os.devnull, f"--rootdir={folder}", "--noconftest", "--assert=plain"]
    # What pytest says of itself is about these settings; our own lines are shown all the same.
    # Nothing but ours writes in this process, so that lines need not be let through a capture.
    settings += ["--no-header", "--capture=sys"]
    return int(pytest.main([*settings, *typed], plugins=[*plugins, Session(typed)]))


class Hooks:
    """What other plugins may add; in runs of ours alone, so implementations are optional hooks."""

    @staticmethod
    def pytest_brt_strategies(  # type: ignore[empty-body]
        config: pytest.Config,
    ) -> Mapping[str, Strategy | Agent]:
        """Return strategies for ``--brt-strategy``: name → how tests are made, or fixes.

        They add to those that are built in, or take their places.

        In a plugin::

            import pytest
            from pytest_brt.reproduce.strategy import Strategy

            @pytest.hookimpl(optionalhook=True)
            def pytest_brt_strategies(config):
                return {"mine": Strategy(attempt=my_attempt)}
        """

    @staticmethod
    def pytest_brt_finished(report: Report) -> None:
        """Look at all that a run found out, by the names of the JSON report, before it is shown."""


class JobItem(pytest.Item):
    """A job that pytest shows as a test."""

    job: Job
    #: Waits until its job is done.
    wait: Callable[[JobItem], None]

    def runtest(self) -> None:
        """Wait for the result."""
        self.wait(self)

    def reportinfo(self) -> tuple[Path, None, str]:
        """Return the heading of a failure."""
        # Where a node id ends in it, pytest takes dots of it for those of a module.
        return self.path, None, f"result of {self.name}"


class Session:
    """The plugin of a run of ours; its hooks stand in the order in which they are called."""

    #: pytest knows it by this.
    __name__ = SESSION

    def __init__(self, typed: Sequence[str]) -> None:
        #: What to type to run the same again, where this run was started.
        self.command = os.environ.get(TYPED) or f"pytest {shlex.join(typed)}"
        #: Before pytest captures.
        self._stdin = sys.stdin
        self.run: Run | None = None
        self.report: Report | None = None
        #: What the threads of the run said that was not shown yet.
        self._said: deque[str] = deque()
        #: When something was shown last, as `time.monotonic` counts.
        self._shown = time.monotonic()
        #: Lines for the end of the summary, as in "JSON report: out.json".
        self._last_lines: list[str] = []

    # -- the start ----------------------------------------------------------------------

    def pytest_configure(self, config: pytest.Config) -> None:
        """Read what the user gave; what is opened is closed with pytest.

        Raises:
            UsageError: an input cannot be used, with what to do about it.
        """
        self.config, option = config, config.option
        # Before xdist looks: one process drives all work, and its ``-n K`` means jobs.
        if getattr(option, "numprocesses", None):
            option.brt_jobs = option.brt_jobs or [str(option.numprocesses)]
            option.dist = "no"
        config.pluginmanager.add_hookspecs(Hooks)
        _interrupt_on_signals(config)
        try:
            self.options = read_options(option, config.rootpath)
            self._plan_run()
        except BrtError as error:
            # pytest shows it after "ERROR: ", and names of files may be a stranger's.
            raise pytest.UsageError(in_a_log(on_a_line(str(error)))) from None

    def _plan_run(self) -> None:
        """Read and check what the options name; nothing is started where something is wrong."""
        config, options, root = self.config, self.options, self.config.rootpath
        if config.args_source.name == "ARGS":
            raise UsageProblem(
                f"{config.args[0]!r}: test paths are not accepted here (use --brt-tests PATH, or "
                "--rank-fixes PATH for a patch; -k NAME selects one)"
            )
        tests, fixes = inputs.choose_strategies(config, options)
        issues = inputs.read_issues(options, root, self._stdin)
        engine = inputs.open_project(root, options)
        config.add_cleanup(engine.close)
        places = [
            inputs.python_file("--brt-buggy-file", one, root) for one in options.buggy_file
        ]
        self.bench = self._open_bench(engine, places)
        patches, cache = inputs.read_patches(options, root), self.bench.cache
        last = load_last_run(cache) if cache else LastRun()
        self._last = None if options.tests or issues else inputs.rankable(last, patches)
        ranked = (issue.id for issue in issues if options.repair in (None, issue.source))
        elsewhere, jobs = None, options.jobs
        if options.executor:
            from pytest_brt.pipeline.ranking import Workers  # imported late: start-up time

            workers = Workers(
                options.executor, partial(inputs.shut_in, options), engine.limits
            )
            config.add_cleanup(workers.close)
            elsewhere, jobs = workers.run, workers.threads
        self.plan = Plan(
            issues=issues,
            patches=patches,
            reviewed=last.reviewed,
            ranked=next(ranked, ""),
            strategies=tests,
            agents=fixes,
            given=inputs.given_tests(options, self.bench, self._last),
            guard=options.guard,
            places=tuple(places),
            elsewhere=elsewhere,
            jobs=jobs,
            wants_places=bool(options.report) or config.get_verbosity() > 0,
        )

    def _open_bench(self, engine: Runner, places: Iterable[str]) -> Workbench:
        """Return what strategies work with: the project, models, and what is kept."""
        options, root, subject = self.options, self.config.rootpath, engine.subject
        self.setting = Setting(
            command=self.command,
            ended="",
            version=__version__,
            python=f"{subject.python_version} ({subject.found})",
            sandbox=engine.sandbox.isolation,
            tree=hash_of(root, without=[path.resolve() for path in options.report]),
        )
        cache, host = inputs.cache_folder(self.config), options.test_file
        models = inputs.open_models(self.config, options, cache)
        isolation, limits = engine.sandbox.isolation, engine.limits
        facts = repr((__version__, self.setting.tree, subject, isolation, limits))
        # What an interrupted run had finished is taken by one that is asked for the same alone.
        asked = repr({**vars(options), "report": (), "jobs": 0})
        return Workbench(
            engine=engine,
            model=models[0],
            editor=models[-1],
            say=self._said.append,
            samples=options.samples,
            steps=options.steps,
            buggy=tuple(place.partition(":")[0] for place in places),
            host=inputs.python_file("--brt-test-file", host, root) if host else "",
            deadline=time.monotonic() + options.budget,
            journal=Journal(cache and cache / "journal.jsonl", content_id(facts, asked)),
            existing=Journal(cache and cache / "existing.jsonl", content_id(facts)),
            cache=cache,
        )

    @pytest.hookimpl(tryfirst=True)
    def pytest_make_collect_report(
        self, collector: pytest.Collector
    ) -> pytest.CollectReport:
        """Collect our items and nothing else."""
        plan, items = self.plan, list[Any]()
        sources = {issue.id: issue.source for issue in plan.issues}
        for job in (*plan.attempts(), *plan.fixes(), *plan.rows(plan.patches)):
            node = (
                f"patches/{job.name}" if job.patch else f"{sources[job.issue]}::{job.name}"
            )
            item: JobItem = JobItem.from_parent(
                collector, name=job.name, nodeid=in_a_log(on_a_line(node))
            )
            item.job, item.wait = job, self._wait_for
            items.append(item)
        return pytest.CollectReport("", "passed", None, items)

    def pytest_report_collectionfinish(self) -> list[str]:
        """Say what runs, on what, and how it is isolated."""
        if self.config.get_verbosity() < 0:
            return []
        lines = filled(
            "header.txt.jinja",
            plan=self.plan,
            python=self.setting.python,
            model=self.bench.model,
            sandbox=self.bench.engine.sandbox,
            last=self._last,
        )
        return [in_a_log(line) for line in lines.splitlines()]

    # -- the loop -----------------------------------------------------------------------

    @pytest.hookimpl(wrapper=True)
    def pytest_runtestloop(
        self, session: pytest.Session
    ) -> Generator[None, object, object]:
        """Start the work of all selected items, then let pytest wait for them one by one."""
        if self.config.option.collectonly:
            return (yield)
        self._jobs = [item.job for item in session.items if isinstance(item, JobItem)]
        self.run = Run(self.plan, self.bench, self._jobs)
        over = self.run.start()
        result = yield
        self._wait(over)
        return result

    def _wait_for(self, item: JobItem) -> None:
        """Wait for a job; a patch that is refused is skipped. ``--junitxml`` has what it passes."""
        assert self.run is not None, "it was started"
        future = self.run.futures[item.job]
        self._wait(future)
        error = future.exception()
        if error is None:
            result = future.result()
            if isinstance(result, PatchResult):
                if result.refused:
                    pytest.skip(in_a_log(plain(result.refused.text)))
                verdicts = list(result.verdicts.values())
                passed = f"{verdicts.count(Verdict.PASS)} of {len(verdicts)}"
                item.user_properties.append(("bug tests passed", passed))
        elif not (isinstance(error, ModelProblem) and self._why_no_answer):
            pytest.fail(in_a_log(_failure(error)), pytrace=False)

    @property
    def _why_no_answer(self) -> str:
        """Why no model ever answered though one was asked, else ""."""
        return self.bench.model.usage.unheard

    @pytest.hookimpl(tryfirst=True)
    def pytest_report_teststatus(
        self, report: pytest.TestReport
    ) -> tuple[str, str, str] | None:
        """Say that a job was done, whatever came of it: "6 judged" in place of "6 passed"."""
        is_judged = report.when == "call" and report.passed
        return ("judged", ".", "JUDGED") if is_judged else None

    def _wait(self, future: Future[Any]) -> None:
        """Wait for a result, shortly enough for Ctrl-C to be heard; show how far it is."""
        while wait([future], timeout=0.5).not_done:
            self._show_progress()
        self._show_progress()

    def _show_progress(self) -> None:
        """Show what the work has said since: all with ``-v``, else the last every ten seconds."""
        verbosity, now = self.config.get_verbosity(), time.monotonic()
        if verbosity < 0 or (verbosity == 0 and now < self._shown + _APART):
            return
        reporter: Any = self.config.pluginmanager.getplugin("terminalreporter")
        lines = [self._said.popleft() for _ in range(len(self._said))]
        for line in lines if verbosity > 0 else lines[-1:]:
            self._shown = now
            show(reporter, f"  {line}")

    # -- the end ------------------------------------------------------------------------

    @pytest.hookimpl(tryfirst=True)
    def pytest_sessionfinish(self, session: pytest.Session) -> None:
        """Stop what still runs, then write the reports: the only place that writes."""
        if self.run is None:
            return
        if not self.run.is_over and not session.exitstatus:
            session.exitstatus = pytest.ExitCode.INTERRUPTED  # as pytest told of Ctrl-C
        self.run.stop()
        record, bench, code = self.run.record(), self.bench, session.exitstatus
        is_over = code not in _BROKEN_OFF
        setting = replace(self.setting, ended=f"{datetime.now():%Y-%m-%d %H:%M}")
        report = build_report(record, setting, int(code))
        code = code or self._exit_code(report, record)
        self.report = replace(report, exit_code=int(code))
        self.config.hook.pytest_brt_finished(report=self.report)
        said = list(write_all(self.report, record, self.options, bench))
        self._last_lines += [*self.run.problems, *map(str, said)]
        is_written = not any(isinstance(one, BrtError) for one in said)
        failed = code in (0, NO_LEADER) and not is_written
        session.exitstatus = pytest.ExitCode.TESTS_FAILED if failed else code
        if bench.journal.taken:
            results = count(bench.journal.taken, "result")
            self._last_lines.append(f"{results} taken from the interrupted run")
        if not is_over:
            self._last_lines.append(f"continue: {self.command}")
        elif self.config.get_verbosity() >= 0:
            self._last_lines += self._advice(self.report)
        if is_over and is_written:  # what was kept in case that it does not end
            bench.journal.forget()
            if self.options.replies is None:
                bench.model.unfinished.forget()

    def _exit_code(self, report: Report, record: RunRecord) -> int:
        """Return the exit code of a run that nothing broke: docs/ci.md."""
        # What is repaired need not be reproduced, as tests may be given.
        if self.options.repair:
            has_succeeded = any(not fix.broken for fix, _ in distinct(record.repairs))
        else:
            issues = {job.issue for job in self._jobs if not job.patch}
            sure = [test for test in report.tests if test.counts]
            has_succeeded = issues <= {test.issue for test in sure if not test.brought_by}
            if any(job.patch for job in self._jobs):
                ids = {test.id for test in sure}
                has_succeeded &= any(_passes(rank.result, ids) for rank in record.ranks)
        if not has_succeeded:
            return NO_MODEL if self._why_no_answer else 1
        has_leader = all(one.answer.status in _LEADS for one in report.rankings)
        return 0 if self.options.repair or has_leader else NO_LEADER

    def _advice(self, report: Report) -> Iterator[str]:
        """Yield what the exit code means, and what to do next."""
        if report.exit_code == NO_MODEL:
            yield f"exit code {NO_MODEL}: no model answered: {self._why_no_answer}"
        made = any(test.candidate and test.issue for test in report.tests)
        if made and self.bench.cache is not None and not report.rankings:
            yield (
                "next: 'pytest-brt rank DIR' ranks the patches in DIR by these tests; 'pytest-brt "
                "review' shows them, and takes which are right"
            )

    def pytest_terminal_summary(self, terminalreporter: pytest.TerminalReporter) -> None:
        """Show the tests and the ranking."""
        if self.report is not None:
            show_summary(terminalreporter, self.report, self.options.write)
            for text in self._last_lines:
                show(terminalreporter, text)


def _passes(result: PatchResult, sure: set[str]) -> bool:
    """Return whether a patch passes the bug tests, the sure ones where there are such."""
    failed = {test for test, did in result.verdicts.items() if did is not Verdict.PASS}
    if sure:
        failed &= sure
    is_tried = bool(result.verdicts or result.passes_own)
    return is_tried and not result.regressions and not failed


def _failure(error: BaseException) -> str:
    """Return what to say of an error: of one that is our fault, where it was raised."""
    if isinstance(error, BrtError):
        return plain(str(error))
    frames = "".join(format_exception(error))
    return plain(
        f"internal error in pytest-brt: please report it with what follows\n\n{frames}"
    )


def _interrupt_on_signals(config: pytest.Config) -> None:
    """Treat SIGTERM and SIGHUP as Ctrl-C: results so far are written, and copies are removed."""
    for number in (signal.SIGTERM, signal.SIGHUP):
        if signal.getsignal(number) is signal.SIG_DFL:  # under nohup one is ignored
            signal.signal(number, signal.default_int_handler)
            config.add_cleanup(partial(_restore_default, number))


def _restore_default(number: int) -> None:
    signal.signal(number, signal.SIG_DFL)
