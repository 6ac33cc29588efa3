"""What a run writes for its user: tests as changes of the project, reports, patches."""

from __future__ import annotations

import os
from collections.abc import Callable, Collection, Iterator, Sequence
from datetime import datetime
from functools import partial
from pathlib import Path

from pytest_brt import __version__
from pytest_brt.codec import to_json
from pytest_brt.edit.source_text import Edit
from pytest_brt.errors import StoreProblem
from pytest_brt.execute.layout import CODE, contents_of, hash_of
from pytest_brt.plugin.cases import given_test_file
from pytest_brt.plugin.options import Options, Write
from pytest_brt.render.report import Report, Setting
from pytest_brt.reproduce.strategy import KEEP
from pytest_brt.sandbox.run_tests import Runner
from pytest_brt.store import write_text
from pytest_brt.types import (
    Attempt,
    CandidateTest,
    Issue,
    JudgedTest,
    Repair,
    RunRecord,
    Step,
    Trajectory,
    distinct,
)

#: Where patches of a repair are written, a folder for each report.
_PATCHES = Path("brt-patches")


def plan_edits(
    record: RunRecord, options: Options, root: Path, cache: Path | None, accepted: Collection[str]
) -> tuple[Edit, ...]:
    """Return one edit per issue that has a candidate; nothing is written here.

    With `Write.INTO` the best test goes into the existing test file where it belongs, with
    the others all tests that were kept become one new file. `cache` is where the project's
    index is kept between runs, and `accepted` are ids of tests that a person called right.

    Raises:
        EditProblem: a test cannot be placed, or would be written outside of the project.
    """
    if options.write is Write.NO:
        return ()
    from pytest_brt.edit.add_tests import plan_edit  # libcst takes half a second

    edits = []
    for issue in record.issues:
        tests = _writable(record, issue, accepted)
        if not tests and options.write is Write.DIFF:
            tests = _bug_tests(record, issue)  # shown, not written
        if tests:
            host = _host(tests[0], options, root, cache)
            edits.append(plan_edit(tests, issue, root, host=host, mark=bool(options.mark)))
    return tuple(edits)


def _host(test: CandidateTest, options: Options, root: Path, cache: Path | None) -> str:
    """Return the test file that a test is added to, "" where there is none."""
    if options.write is not Write.INTO:
        return ""
    if host := test.host or given_test_file(options.test_file, root):
        return host
    from pytest_brt.localise.host_files import choose_host

    return choose_host(test.source or "", root, cache)


def unwritten(record: RunRecord, accepted: Collection[str]) -> Iterator[str]:
    """Yield why no test is written for an issue, and what would write one."""
    for issue in record.issues:
        if _writable(record, issue, accepted):
            continue
        unsure = _bug_tests(record, issue)
        why = f"no test for {issue.source} was found"
        if unsure:
            accept = "'pytest-brt review' accepts it, and the same command then writes it"
            why = f"{unsure[0].name} is less certain ({accept})"
        yield f"not written: {why}"


def _writable(record: RunRecord, issue: Issue, accepted: Collection[str]) -> list[CandidateTest]:
    """Return the best tests of an issue that count, or were accepted."""
    return _bug_tests(record, issue, lambda judged: _counts(judged, accepted))


def _counts(judged: JudgedTest, accepted: Collection[str]) -> bool:
    return judged.judgement.counts or judged.test.id in accepted


def _bug_tests(
    record: RunRecord, issue: Issue, wanted: Callable[[JudgedTest], bool] = lambda _: True
) -> list[CandidateTest]:
    """Return the best `wanted` bug tests of an issue, whatever strategy made them."""
    candidates = [
        judged
        for attempt in record.attempts
        if attempt.issue == issue.id
        for judged in attempt.tests
        if judged.judgement.candidate and judged.test.source is not None and wanted(judged)
    ]
    candidates.sort(key=lambda judged: -judged.judgement.confidence)
    return [judged.test for judged in candidates[:KEEP]]


def rendered(kind: str, report: Report) -> tuple[str, str]:
    """Return a report's name and text; what another kind needs is not imported."""
    if kind == "json":
        return "JSON", to_json(report, indent=2) + "\n"
    if kind == "html":
        from pytest_brt.render.html import html

        return "HTML", html(report)
    from pytest_brt.render.markdown import markdown

    return "Markdown", markdown(report)


def dialogue_lines(record: RunRecord, root: Path) -> Iterator[str]:
    """Yield each dialogue with a model as a line of JSON: its steps, and the diffs of each."""
    for attempt in record.attempts:
        for trajectory in attempt.trajectories:
            yield _dialogue_line("attempt", attempt, trajectory, root)
    for repair in record.repairs:
        if repair.trajectory is not None:
            yield _dialogue_line("repair", repair, repair.trajectory, root)


def _dialogue_line(of: str, run: Attempt | Repair, told: Trajectory, root: Path) -> str:
    about = {"of": of, "issue": run.issue, "strategy": run.strategy, "index": run.index}
    steps = [_step(told.steps[:number], root) for number in range(1, len(told.steps) + 1)]
    line = {**about, "ending": told.ending, "reason": told.reason, "steps": steps}
    return to_json(line) + "\n"


def _step(steps: Sequence[Step], root: Path) -> dict[str, object]:
    """Return the last of some steps, with the diffs that it made of the project."""
    from pytest_brt.patches.text import canonical_diff

    step = steps[-1]
    diffs = list(step.diffs)
    if step.changes:
        files = {change.path: change for one in steps for change in one.changes}
        diffs.insert(0, canonical_diff(tuple(files[path] for path in sorted(files)), root))
    return {
        "action": step.action,
        "arguments": dict(step.call.arguments) if step.call else {},
        "done": step.is_done,
        "seconds": step.seconds,
        "reply": step.reply,
        "observation": step.observation,
        "diffs": [diff for diff in diffs if diff],
    }


class Files:
    """Knows what is to be written, and writes it when the run is over."""

    def __init__(self, options: Options, engine: Runner, command: str = "") -> None:
        """Read what must be read before anything runs."""
        self._options = options
        self._engine = engine
        #: What was typed.
        self._command = command
        # What is written into the project about it is no part of it.
        ours = [path.resolve() for _, path in options.reports]
        if options.repair:
            self._refuse_links(_PATCHES)
        contents = contents_of(Path(engine.subject.root), without=ours)
        #: The project before the run: what is found is found of this tree.
        self.tree = hash_of(contents)
        # Logs of this very run may be written into the project: only code is watched.
        self._code = {path: code for path, code in contents.items() if path.endswith(CODE)}

    def report(self, record: RunRecord, exit_code: int) -> Report:
        """Return the report of the run, from which all that is shown and written is made."""
        from pytest_brt.render.entries import build_report

        subject = self._engine.subject
        setting = Setting(
            command=self._command,
            ended=f"{datetime.now():%Y-%m-%d %H:%M}",
            version=__version__,
            python=f"{'.'.join(map(str, subject.python_version))} ({subject.found})",
            sandbox=record.sandbox,
            tree=self.tree,
        )
        return build_report(record, setting, exit_code)

    def writers(self, report: Report) -> Iterator[Callable[[RunRecord], str]]:
        """Yield what writes the files that were asked for, and returns a line about it."""
        options = self._options
        yield self._changed
        for kind, path in options.reports:
            yield partial(self._report, kind, path, report)
        if options.repair:
            yield self._patches

    def _patches(self, record: RunRecord) -> str:
        """Write the fixes that were found, in place of those that an earlier run put there."""
        from pytest_brt.agents.patch_files import write_fixes
        from pytest_brt.render.words import count

        repaired = {repair.issue for repair in record.repairs}
        issue = next((issue for issue in record.issues if issue.id in repaired), None)
        if issue is None:
            return ""
        stem = Path(issue.source).stem
        called = stem if stem.strip("-. ") else issue.id
        folder = _PATCHES / called
        found = distinct(record.repairs)
        write_fixes(folder, found, issue)
        if not found:
            notes = [note for repair in record.repairs for note in repair.notes]
            return f"no patch was written: {next(iter(notes), 'no fix passes the tests')}"
        many = count(len(found), "patch")
        return f"{many} in {folder}, not applied ('git apply FILE' applies one)"

    def _changed(self, _record: RunRecord) -> str:
        if contents_of(Path(self._engine.subject.root), CODE) == self._code:
            return ""
        return (
            "the project was changed while this ran: some results are about the old state and"
            " some about the new (run it again)"
        )

    def _report(self, kind: str, path: Path, report: Report, record: RunRecord) -> str:
        name, text = rendered(kind, report)
        write_text(path, text)
        root = Path(self._engine.subject.root)
        lines = "".join(dialogue_lines(record, root)) if kind == "json" else ""
        if lines:
            beside = path.with_suffix(".trajectories.jsonl")
            write_text(beside, lines)
            return f"{name} report: {path}, dialogues: {beside}"
        return f"{name} report: {path}"

    def _refuse_links(self, folder: Path) -> None:
        """Refuse a folder of ours that leads elsewhere: a project may bring what looks like one."""
        text, root = Path(os.path.normpath(folder.absolute())), self._engine.subject.root
        is_link = text.is_relative_to(root) and text != folder.resolve()
        if is_link:
            raise StoreProblem(
                f"{str(folder)!r} is a link, or has one in it, through which nothing is written "
                "(give another folder)"
            )
