"""The life of one run in our modes: what is collected, waited for, written and returned.

In order: `Session` reads the inputs and makes the plan, pytest collects the items, the loop
waits for them, and at the end one writer writes the reports.
"""

from __future__ import annotations

import gc
import os
import shlex
import sys
from collections.abc import Generator, Iterable, Iterator, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from pytest_brt import __version__
from pytest_brt.codec import content_id
from pytest_brt.edit.source_text import Edit
from pytest_brt.errors import BrtError, StoreProblem
from pytest_brt.plugin.cases import absolutepath, more_patches
from pytest_brt.plugin.files import Files, plan_edits, rendered, unwritten
from pytest_brt.plugin.inputs import cache_folder, read_inputs
from pytest_brt.plugin.items import Cases, Outcome, Work, unmet_goals, work_on
from pytest_brt.plugin.options import TYPED, Write, read_options
from pytest_brt.plugin.stdout import write_report
from pytest_brt.plugin.summary import header, show_summary
from pytest_brt.render.answer import bug_tests, reviewed
from pytest_brt.render.report import Ranking, Report
from pytest_brt.render.words import count
from pytest_brt.run.futures import Run
from pytest_brt.run.keeping import (
    HeldJournal,
    accepted_tests,
    keep_ranking,
    keep_tests,
    open_journal,
)
from pytest_brt.run.plan import Case
from pytest_brt.run.pool import DaemonPool
from pytest_brt.sandbox.workspace import HeldFolder
from pytest_brt.shown import on_a_line, show
from pytest_brt.store import write_bytes
from pytest_brt.types import Patch, RunRecord, Status


def command_again(
    arguments: Sequence[str], program: str = sys.argv[0], environ: Mapping[str, str] = os.environ
) -> str:
    """Return what to type to run the same again, where this run was started.

    >>> command_again(["--brt-issue", "my issue.md"], "/usr/bin/pytest", {})
    "pytest --brt-issue 'my issue.md'"
    """
    if TYPED in environ:
        return environ[TYPED]
    path = Path(program)
    module = path.name == "__main__.py"
    name = f"python -m {path.parent.name}" if module else path.name
    return f"{name} {shlex.join(arguments)}"


#: Exit code when a model was asked for, none answered, and something was not reached.
NO_MODEL = 6
#: Exit code when a patch passes and none leads clearly.
NO_LEADER = 7


def _is_led(ranking: Ranking) -> bool:
    """Say whether some patch leads without doubt."""
    return ranking.answer.status in (Status.BEST, Status.ONLY)


def _cases(items: list[pytest.Item]) -> Iterable[Case]:
    """Return the cases that items are about, each once."""
    return {item.case.issue_id: item.case for item in items if isinstance(item, Work)}.values()


class Session:
    """The plugin of a run in one of our modes."""

    def __init__(self, config: pytest.Config) -> None:
        """Read what the user gave.

        Raises:
            BrtError: an input cannot be used, with what to do about it.
        """
        options = self.options = read_options(config)
        self._scratch = HeldFolder()
        #: Patches among pytest's own arguments.
        self._more = more_patches(config, options)
        with ExitStack() as undo:
            undo.callback(self._scratch.close)
            self.inputs = read_inputs(config, options, self._scratch.path, self._more)
            engine = self.inputs.workbench.engine
            undo.callback(engine.close)
            self.config = config
            command = command_again(config.invocation_params.args)
            self.written = Files(options, engine, command)
            self._held = self._open_journal()
            undo.pop_all()
        self.journal = self._held.journal if self._held else None
        remote = self.inputs.plan.remote
        self.executor = DaemonPool(remote.workers.threads if remote else options.jobs)
        workbench = replace(self.inputs.workbench, journal=self.journal)
        self.run = Run(self.inputs.plan, workbench, self.executor)
        self.record: RunRecord | None = None
        self.report: Report | None = None
        #: What was not reached of what was asked for, "" for nothing.
        self.unreached = ""
        #: Arguments that name no item.
        self._unknown: list[str] = []
        #: Lines for the end of the summary, as in "JSON report: out.json".
        self.closing: list[str] = []
        #: Whether the tests were kept for the next run.
        self.kept = False
        #: pytest has waited for all items, or stopped as it was told to: at a second Ctrl-C it
        #: says of the first one no more than that something failed.
        self._came_through = False
        #: All was written and shown, so what was finished is not needed any more.
        self._is_told = False
        #: The tests as changes of the project's files, shown or written at the end.
        self.edits: tuple[Edit, ...] = ()

    def pytest_report_header(self) -> list[str]:
        """Say what runs, on what, and how it is isolated."""
        lines = header(self.inputs, self.options, self.config.get_verbosity())
        return [on_a_line(line) for line in lines]

    @property
    def unheard(self) -> str:
        """Why no model ever answered though one was asked, else ""."""
        return self.inputs.workbench.model.usage.unheard

    # -- collection ---------------------------------------------------------------------

    @pytest.hookimpl(wrapper=True)
    def pytest_sessionstart(self, session: pytest.Session) -> Generator[None, object, object]:
        """Show our lines of the header alone, to those who did not type "pytest"."""
        result = yield
        reporter: Any = session.config.pluginmanager.getplugin("terminalreporter")
        if TYPED in os.environ and reporter is not None:
            for line in self.pytest_report_header():
                show(reporter, line)
        return result

    @pytest.hookimpl(tryfirst=True)
    def pytest_collection(self, session: pytest.Session) -> bool:
        """Collect our items and nothing else, by hooks that reporters listen to.

        Raises:
            UsageError: an argument is neither the id nor the file of an item.
        """
        hook, config = session.config.hook, session.config
        cases = Cases.from_parent(session, name="reports and patches", items=self._items)
        report = hook.pytest_make_collect_report(collector=cases)
        for argument in self._unknown:
            raise pytest.UsageError(
                f"{argument!r}: test paths are not accepted here (use --brt-tests PATH)"
            )
        hook.pytest_collectreport(report=report)
        items: list[pytest.Item] = [*report.result]
        hook.pytest_collection_modifyitems(session=session, config=config, items=items)
        session.items = items
        session.testscollected = len(items)
        hook.pytest_collection_finish(session=session)
        return True

    def _items(self, parent: pytest.Collector) -> Iterator[Work]:
        """Yield the items, or those among the arguments, so that a shown id can be run again."""
        asked = self.config.args if self.config.args_source.name == "ARGS" else []
        asked = [argument for argument in asked if argument not in self._more]
        wanted = dict.fromkeys(asked, False)
        for path, (case, patch) in self.inputs.paths.items():
            file = on_a_line(self._file_of(path, patch))
            for name, make in work_on(parent, self.run, self.inputs.progress, case, patch):
                node = f"{file}::{name}" if name else file
                ids = [text for text in asked if self._names(text, path, node)]
                wanted |= dict.fromkeys(ids, True)
                if ids or not asked:
                    title = name or on_a_line(patch.name if patch else file)
                    yield make(name=title, nodeid=node, path=path)
        self._unknown = [text for text, is_found in wanted.items() if not is_found]

    def _file_of(self, path: Path, patch: Patch | None) -> str:
        """Return how a file is called in ids: from the project; what was made here by its name."""
        if path.is_relative_to(self._scratch.path):
            return patch.name if patch else path.relative_to(self._scratch.path).as_posix()
        return Path(os.path.relpath(path, self.config.rootpath)).as_posix()

    def _names(self, text: str, path: Path, node: str) -> bool:
        """Say whether an argument names an item, or its file.

        Ids start at the root, paths that somebody types where they are.
        """
        starts = (self.config.rootpath, self.config.invocation_params.dir)
        return text == node or any(absolutepath(start / text) == path for start in starts)

    @pytest.hookimpl(wrapper=True)
    def pytest_runtest_makereport(
        self, item: pytest.Item, call: pytest.CallInfo[None]
    ) -> Generator[None, Any, Any]:
        """Give the report what came of the item, and the seconds of the work itself."""
        report = yield
        if call.when == "call" and isinstance(item, Work) and not report.failed:
            report.brt_outcome = item.outcome
            report.duration = report.duration if item.seconds is None else item.seconds
        return report

    @pytest.hookimpl(tryfirst=True)
    def pytest_report_teststatus(self, report: Any) -> tuple[str, str, str] | None:
        """Name what came of an item: "1 reproduced" instead of "1 passed"."""
        outcome: Outcome | None = getattr(report, "brt_outcome", None)
        return (outcome.category, outcome.letter, outcome.word) if outcome else None

    # -- the loop -----------------------------------------------------------------------

    @pytest.hookimpl(wrapper=True)
    def pytest_runtestloop(self, session: pytest.Session) -> Generator[None, object, object]:
        """Start the work of all selected items, then let pytest wait for them one by one."""
        if self.config.option.collectonly:
            return (yield)
        for item in session.items:
            if isinstance(item, Work):
                item.start()
        try:
            result = yield
        except session.Failed:
            self._came_through = True
            raise
        self._tell_apart(session.items)
        self._localise(session.items)
        self._came_through = True
        self.unreached = "; ".join(unmet_goals(session.items))
        return result

    def _tell_apart(self, items: list[pytest.Item]) -> None:
        """Have leading patches told apart where every row was asked for."""
        for case in _cases(items):
            try:
                self.run.tell_apart(case)
            except BrtError as problem:
                self.closing.append(f"leading patches were not compared further: {problem}")

    def _localise(self, items: list[pytest.Item]) -> None:
        """Look where a bug may be, for those who want to know or got no test."""
        wants_all = bool(self.options.report) or self.config.get_verbosity() > 0
        for case in _cases(items):
            tests = self.run.tests(case)
            if wants_all or not any(judged.judgement.candidate for judged in tests):
                try:
                    self.run.localise(case)
                except BrtError as problem:
                    self.closing.append(f"the likeliest places were not looked for: {problem}")

    # -- the end ------------------------------------------------------------------------

    @pytest.hookimpl(tryfirst=True)
    def pytest_sessionfinish(self, session: pytest.Session, exitstatus: int) -> None:
        """Stop what still runs, then write the reports: the only place that writes."""
        self.executor.shutdown(wait=False, cancel_futures=True)
        if self.config.option.collectonly:
            return
        interrupted = exitstatus == pytest.ExitCode.INTERRUPTED or not self._came_through
        if self.journal is not None:
            self.journal.close(interrupted=True)
            if self.journal.taken:
                taken = count(self.journal.taken, "result")
                self.closing.append(f"{taken} taken from the interrupted run")
            if self.journal.changed:
                self.closing.append(
                    f"{count(self.journal.changed, 'result')} of the interrupted run not used: "
                    "changed since"
                )
        self.record = self.run.record()
        self.config.hook.pytest_brt_finished(record=self.record)
        if self.unreached and session.exitstatus == pytest.ExitCode.OK:
            session.exitstatus = NO_MODEL if self.unheard else pytest.ExitCode.TESTS_FAILED
        report = self.written.report(self.record, 0)
        is_clear = bool(self.options.repair) or all(map(_is_led, report.rankings))
        if session.exitstatus == pytest.ExitCode.OK and not is_clear:
            session.exitstatus = NO_LEADER
        self.report = replace(report, exit_code=int(session.exitstatus))
        is_written = True
        writers = (
            *self.written.writers(self.report),
            self._print,
            self._keep,
            self._land,
        )
        for write in writers:
            try:
                self.closing += filter(None, [write(self.record)])
            except BrtError as error:
                self.closing.append(str(error))
                is_written = False
                self.unreached = "not all that was asked for could be written"
                if session.exitstatus in (pytest.ExitCode.OK, NO_LEADER):
                    session.exitstatus = pytest.ExitCode.TESTS_FAILED
        self.closing += self._advice(interrupted=interrupted, is_clear=is_clear)
        self._is_told = is_written and not interrupted

    def _advice(self, *, interrupted: bool, is_clear: bool) -> Iterator[str]:
        assert self.record is not None, "made before"
        verbosity = self.config.get_verbosity()
        if verbosity < 0:
            return
        command = command_again(self.config.invocation_params.args)
        if interrupted:
            yield f"{'continue' if self.journal is not None else 'start again'}: {command}"
            return
        if verbosity > 0 and not self.unreached and not is_clear:
            yield f"exit code {NO_LEADER}: something passes, and no patch leads clearly"
        if self.unreached and (verbosity > 0 or self.unheard):
            model = f"no model answered: {self.unheard}" if self.unheard else ""
            code = NO_MODEL if self.unheard else 1
            yield f"exit code {code}: {'; '.join(filter(None, [self.unreached, model]))}"
        if verbosity > 0:
            yield f"again: {command}"
        found = any(any(bug_tests(attempt.tests)) for attempt in self.record.attempts)
        if found and self.kept and not self.record.ranks:
            rank = "pytest-brt rank DIR" if TYPED in os.environ else "pytest --rank-fixes DIR"
            yield (
                f"next: '{rank}' ranks the patches in DIR by these tests; 'pytest-brt review' "
                "shows them, and takes which are right"
            )

    def _open_journal(self) -> HeldJournal | None:
        """Return what keeps finished work for the case that this run is interrupted."""
        folder = cache_folder(self.config)
        if folder is None or self.config.option.collectonly:
            return None
        engine = self.inputs.workbench.engine
        # What is written where, how many at a time, and how long it may take change no result.
        decisive = replace(
            self.options, replies=None, report=(), jobs=1, budget=1.0, memory=1, executor=""
        )
        by = self.inputs.earlier.digest if self.inputs.earlier else ""
        facts = (
            self.written.tree,
            repr(engine.subject),
            engine.sandbox.isolation,
            repr(decisive),
            by,
        )
        return open_journal(folder, content_id(__version__, *facts))

    def _print(self, _record: RunRecord) -> None:
        if "-" not in self.options.report or self.report is None:
            return
        try:
            write_report(self.config, rendered("json", self.report)[1])
        except OSError as error:
            raise StoreProblem(f"--brt-report -: {error.strerror}") from error

    def _keep(self, record: RunRecord) -> None:
        """Keep for the next run what it may use; what cannot be kept is said, and no error."""
        folder = cache_folder(self.config)
        if folder is None:
            if getattr(self.config, "cache", None) is not None and (
                record.attempts or record.ranks
            ):
                why = "pytest's cache cannot be written (-o cache_dir=DIR moves it)"
                self.closing.append(f"the tests are not kept for the next run: {why}")
            return
        try:
            if record.attempts:
                instead = keep_tests(folder, record)
                self.kept = True
                if instead is not None:
                    said = reviewed(instead.tests)
                    self.closing.append(f"kept: the bug tests of {instead.about} ({said})")
            if record.ranks:
                keep_ranking(folder, record)
        except (OSError, StoreProblem) as error:
            self.closing.append(f"the tests are not kept for the next run: {error}")

    def _land(self, record: RunRecord) -> None:
        unseen = self.config.get_verbosity() < 0 or record.ranks or record.not_run
        if self.options.write is Write.DIFF and unseen:
            return
        root = Path(self.inputs.workbench.engine.subject.root)
        folder = cache_folder(self.config)
        accepted = accepted_tests(folder) if folder is not None else frozenset()
        self.edits = plan_edits(record, self.options, root, folder, accepted)
        if self.options.write in (Write.NEW, Write.INTO):
            for edit in self.edits:
                if edit.before == edit.after:
                    self.closing.append(f"already there: {edit.path}")
                    continue
                write_bytes(root / edit.path, edit.after)
                self.closing.append(f"written: {edit.path}")
            self.closing += unwritten(record, accepted)

    def pytest_terminal_summary(self, terminalreporter: pytest.TerminalReporter) -> None:
        """Show the tests and the ranking."""
        if self.report is None:
            return
        is_told, self._is_told = self._is_told, False
        show_summary(terminalreporter, self.report, self.edits, self.closing)
        terminalreporter.flush()
        self._is_told = is_told

    def pytest_unconfigure(self) -> None:
        """End every process and remove what was only for this run, each whatever befalls others."""
        with ExitStack() as last_first:
            last_first.callback(self._scratch.close)
            last_first.callback(self.inputs.workbench.engine.close)
            if self._held is not None:
                last_first.callback(self._held.release)
            last_first.callback(self.run.close)
            if self.inputs.plan.remote is not None:
                last_first.callback(self.inputs.plan.remote.workers.close)
            for model in (self.inputs.workbench.editor, self.inputs.workbench.model):
                if model is not None:
                    last_first.callback(model.close)
                if model is not None and self._is_told and self.options.replies is None:
                    last_first.callback(model.unfinished.forget)
            if self.journal is not None:  # before what still runs is cut short
                last_first.callback(self.journal.close, interrupted=not self._is_told)
        gc.freeze()  # pytest will look at all objects, five times over
