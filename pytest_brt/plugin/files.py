"""What a run writes for its user: reports, dialogues, patches, and tests into the project."""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from dataclasses import replace
from datetime import datetime
from pathlib import Path

from pytest_brt import __version__
from pytest_brt.codec import to_json
from pytest_brt.edit.source_text import Placement
from pytest_brt.errors import EditProblem, StoreProblem
from pytest_brt.execute.layout import contents_of, hash_of
from pytest_brt.plugin.options import Options, Write
from pytest_brt.render.answer import bug_tests
from pytest_brt.render.report import Report, Setting
from pytest_brt.render.words import run_words
from pytest_brt.reproduce.strategy import KEEP, Workbench
from pytest_brt.sandbox.placing import Test
from pytest_brt.sandbox.run_tests import Runner
from pytest_brt.store import write_bytes, write_text
from pytest_brt.types import (
    Attempt,
    FileChange,
    Issue,
    JudgedTest,
    Repair,
    RunRecord,
    Trajectory,
    Verdict,
    distinct,
)

#: Where patches of a repair are written, a folder for each report.
_PATCHES = Path("brt-patches")
#: What the kinds of reports are called, by the endings of their names.
_NAMES = {".html": "HTML", ".md": "Markdown", ".json": "JSON"}


def tree_hash(root: Path, options: Options) -> str:
    """Return the SHA-256 of the project's files, but for reports of ours among them.

    Raises:
        StoreProblem: patches would be written through a link.
    """
    folder = Path(os.path.normpath(_PATCHES.absolute()))
    if options.repair and folder.is_relative_to(root) and folder != _PATCHES.resolve():
        raise StoreProblem(
            f"{str(_PATCHES)!r} is a link, or has one in it, through which nothing is written "
            "(give another folder)"
        )
    return hash_of(contents_of(root, without=[path.resolve() for path in options.report]))


def build(record: RunRecord, engine: Runner, command: str, tree: str) -> Report:
    """Return the report of a run, from which all that is shown and written is made."""
    from pytest_brt.render.report import build_report

    subject = engine.subject
    setting = Setting(
        command=command,
        ended=f"{datetime.now():%Y-%m-%d %H:%M}",
        version=__version__,
        python=f"{'.'.join(map(str, subject.python_version))} ({subject.found})",
        sandbox=record.sandbox,
        tree=tree,
    )
    return build_report(record, setting, 0)


# -- reports and dialogues ----------------------------------------------------------------------


def write_report(path: Path, report: Report, record: RunRecord, root: Path) -> Iterator[str]:
    """Write a report, and the dialogues with a model beside one for programs; yield a line.

    Raises:
        StoreProblem: it cannot be written.
    """
    beside = ""
    if path.suffix == ".html":  # what another kind needs is not imported
        from pytest_brt.render.page import html

        write_text(path, html(report))
    elif path.suffix == ".md":
        from pytest_brt.render.page import markdown

        write_text(path, markdown(report))
    else:
        write_text(path, to_json(report, indent=2) + "\n")
        if lines := "".join(dialogue_lines(record, root)):
            write_text(path.with_suffix(".trajectories.jsonl"), lines)
            beside = f", dialogues: {path.with_suffix('.trajectories.jsonl')}"
    yield f"{_NAMES[path.suffix]} report: {path}{beside}"


def dialogue_lines(record: RunRecord, root: Path) -> Iterator[str]:
    """Yield each dialogue with a model as a line of JSON: its steps, and the diffs of each."""
    tests = [("attempt", run, talk) for run in record.attempts for talk in run.trajectories]
    fixes = [("repair", run, run.trajectory) for run in record.repairs if run.trajectory]
    runs: list[tuple[str, Attempt | Repair, Trajectory]] = [*tests, *fixes]
    for of, run, talk in runs:
        line = {"of": of, "issue": run.issue, "strategy": run.strategy, "index": run.index}
        line |= {"ending": talk.ending, "reason": talk.reason, "steps": [*_steps(talk, root)]}
        yield to_json(line) + "\n"


def _steps(talk: Trajectory, root: Path) -> Iterator[dict[str, object]]:
    """Yield the steps of a dialogue, with the diffs that each made of the project."""
    from pytest_brt.patches.text import canonical_diff

    files: dict[str, FileChange] = {}
    for step in talk.steps:
        files |= {change.path: change for change in step.changes}
        diffs = step.diffs
        if step.changes:
            diffs = (canonical_diff(tuple(files[path] for path in sorted(files)), root), *diffs)
        yield {
            "action": step.action,
            "arguments": dict(step.call.arguments) if step.call else {},
            "done": step.is_done,
            "seconds": step.seconds,
            "reply": step.reply,
            "observation": step.observation,
            "diffs": [diff for diff in diffs if diff],
        }


# -- patches ------------------------------------------------------------------------------------


def write_patches(record: RunRecord, source: str) -> Iterator[str]:
    """Write the fixes that were found for the report `source`, in place of an earlier run's.

    Raises:
        StoreProblem: one cannot be written.
    """
    from pytest_brt.agents.patch_files import write_fixes
    from pytest_brt.render.words import count

    if not record.repairs:
        return
    issue = next(issue for issue in record.issues if issue.source == source)
    stem, fixes = Path(source).stem, distinct(record.repairs)
    folder = _PATCHES / (stem if stem.strip("-. ") else issue.id)
    write_fixes(folder, fixes, issue)
    if fixes:
        many = count(len(fixes), "patch")
        yield f"{many} in {folder}, not applied ('git apply FILE' applies one)"
    else:
        notes = (note for repair in record.repairs for note in repair.notes)
        yield f"no patch was written: {next(notes, 'no fix passes the tests')}"


# -- tests --------------------------------------------------------------------------------------


def place_tests(record: RunRecord, options: Options, bench: Workbench) -> tuple[Placement, ...]:
    """Return one change for each issue that has a bug test; nothing is written here.

    With `Write.INTO` the best test goes into the existing test file where it belongs, if it fails
    there, too; else all tests that were kept become one new file.

    Raises:
        EditProblem: a test cannot be placed, or would be written outside of the project.
        SubjectProblem: the project's interpreter cannot be started.
    """
    placed = []
    for issue in record.issues:
        tests = [judged for judged in _bug_tests(record, issue) if judged.judgement.counts]
        if tests:
            placed.append(_place(tests[:KEEP], issue, options, bench))
    return tuple(placed)


def _place(
    tests: Sequence[JudgedTest], issue: Issue, options: Options, bench: Workbench
) -> Placement:
    from pytest_brt.edit.add_tests import plan_edit  # libcst takes half a second

    root, is_marked = Path(bench.engine.subject.root), bool(options.mark)
    sources = [judged.test for judged in tests]
    host = _host(tests[0], bench) if options.write is Write.INTO else ""
    if not host:
        return plan_edit(sources, issue, root, mark=is_marked)
    try:
        placed = plan_edit(sources, issue, root, host=host)
        why_not = _runs_otherwise(placed, bench)
        if not why_not:
            return plan_edit(sources, issue, root, host=host, mark=is_marked)
    except EditProblem as problem:
        why_not = str(problem)
    placed = plan_edit(sources[:1], issue, root, mark=is_marked)
    return replace(placed, elsewhere=f"not in {host}: {why_not}")


def _runs_otherwise(placed: Placement, bench: Workbench) -> str:
    """Say what a test does in the file that it was added to, "" where it fails there."""
    edit = placed.edit
    test = Test(id="placed", path=edit.path, nodes=placed.nodes)
    for run in bench.engine.run((test,), (edit.change(),)):
        if run.verdict is not Verdict.FAIL:
            return f"the test does not fail there ({run_words(run) or run.verdict})"
    return ""


def write_tests(placed: Sequence[Placement], record: RunRecord, root: Path) -> Iterator[str]:
    """Write tests into the project; yield what was written, and why others were not.

    Raises:
        StoreProblem: one cannot be written.
    """
    for place in placed:
        edit = place.edit
        is_there = edit.before == edit.after
        if not is_there:
            write_bytes(root / edit.path, edit.after)
        yield f"{'already there' if is_there else 'written'}: {edit.path}"
        yield from filter(None, [place.elsewhere])
    for issue in record.issues:
        tests = _bug_tests(record, issue)
        if not tests:
            yield f"not written: no test for {issue.source} was found"
        elif not any(judged.judgement.counts for judged in tests):
            yield (
                f"not written: {tests[0].test.name} is less certain ('pytest-brt review' accepts "
                "it, and the same command then writes it)"
            )


def _host(judged: JudgedTest, bench: Workbench) -> str:
    """Return the test file that a test is added to, "" where there is none."""
    if host := judged.test.host or bench.host:
        return host
    from pytest_brt.localise.host_files import choose_host

    root, runs = Path(bench.engine.subject.root), judged.judgement.runs
    raised = runs[0].raised if runs else None
    frame = raised.in_project if raised else None
    return choose_host(judged.test.source or "", root, bench.cache, frame.path if frame else "")


def _bug_tests(record: RunRecord, issue: Issue) -> list[JudgedTest]:
    """Return the bug tests of an issue, whatever strategy made them, best first."""
    attempts = (attempt for attempt in record.attempts if attempt.issue == issue.id)
    sure, possible = bug_tests(judged for attempt in attempts for judged in attempt.tests)
    return [judged for judged in (*sure, *possible) if judged.test.source is not None]
