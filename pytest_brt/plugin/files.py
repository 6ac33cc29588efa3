"""What a run writes for its user: reports, dialogues, patches, and tests into the project."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import suppress
from functools import partial
from pathlib import Path

from pytest_brt.bounded import read_bounded
from pytest_brt.codec import to_json
from pytest_brt.edit.source_text import Edit
from pytest_brt.errors import BrtError, EditProblem, StoreProblem
from pytest_brt.pipeline.run import distinct
from pytest_brt.plugin.options import FORMS, Options
from pytest_brt.render.report import Report
from pytest_brt.reproduce.strategy import KEEP, Workbench
from pytest_brt.sandbox.placing import Test
from pytest_brt.shown import on_a_line
from pytest_brt.store import keep, write_bytes, write_text
from pytest_brt.types import (
    Attempt,
    FileChange,
    Issue,
    JudgedTest,
    Repair,
    RunRecord,
    Trajectory,
    Verdict,
    bug_tests,
    made_tests,
)

#: Where patches of a repair are written, a folder for each report.
_PATCHES = Path("brt-patches")
#: Begins every patch of ours, in a header for people.
_OURS = b"#pytest-brt:"


def write_all(
    report: Report, record: RunRecord, options: Options, bench: Workbench
) -> Iterator[str | BrtError]:
    """Write what was asked for; yield a line about each thing, or why it was not written."""
    writing = [_write_report(path, report, record, bench.root) for path in options.report]
    if record.repairs:
        writing.append(_write_patches(record, options.repair))
    writing.append(_keep(bench.cache, record))
    if options.write in ("new", "into"):
        writing.append(_write_tests(record, options, bench))
    for lines in writing:
        try:
            yield from lines
        except BrtError as error:
            yield error


def _keep(cache: Path | None, record: RunRecord) -> Iterator[str]:
    """Keep for the next run what it may use; this one has its answer without."""
    try:
        if cache is None:
            raise StoreProblem("pytest's cache cannot be written")
        keep(cache, record)
    except StoreProblem as problem:
        yield f"the tests are not kept for the next run: {problem}"


# -- reports and dialogues ----------------------------------------------------------------------


def _write_report(
    path: Path, report: Report, record: RunRecord, root: Path
) -> Iterator[str]:
    """Write a report, and the dialogues with a model beside one for programs."""
    beside = ""
    if path.suffix == ".json":
        write_text(path, to_json(report, indent=2) + "\n")
        if lines := "".join(_dialogues(record, root)):
            talks = path.with_suffix(".trajectories.jsonl")
            write_text(talks, lines)
            beside = f", dialogues: {talks}"
    else:
        from pytest_brt.render.forms import html, markdown  # what another kind needs

        write_text(path, html(report) if path.suffix == ".html" else markdown(report))
    yield f"{FORMS[path.suffix]} report: {path}{beside}"


def _dialogues(record: RunRecord, root: Path) -> Iterator[str]:
    """Yield each dialogue with a model as a line of JSON: its steps, and the diffs of each."""
    runs: tuple[Attempt | Repair, ...] = (*record.attempts, *record.repairs)
    for one in runs:
        talks = one.trajectories if isinstance(one, Attempt) else [one.trajectory]
        for talk in filter(None, talks):
            line = {
                "of": "attempt" if isinstance(one, Attempt) else "repair",
                "issue": one.issue,
                "strategy": one.strategy,
                "index": one.index,
                "ending": talk.ending,
                "reason": talk.reason,
                "steps": list(_steps(talk, root)),
            }
            yield to_json(line) + "\n"


def _steps(talk: Trajectory, root: Path) -> Iterator[dict[str, object]]:
    """Yield the steps of a dialogue, with the diffs that each made of the project."""
    from pytest_brt.patches.apply import canonical_diff

    files: dict[str, FileChange] = {}
    for step in talk.steps:
        diffs = list(step.diffs)
        if step.changes:
            files |= {change.path: change for change in step.changes}
            diffs.append(canonical_diff(tuple(files[path] for path in sorted(files)), root))
        yield {
            "action": step.action,
            "arguments": dict(step.call.arguments) if step.call else {},
            "done": step.is_done,
            "seconds": step.seconds,
            "reply": step.reply,
            "observation": step.observation,
            "diffs": list(filter(None, diffs)),
        }


# -- patches ------------------------------------------------------------------------------------


def _write_patches(record: RunRecord, source: str) -> Iterator[str]:
    """Write the fixes that were found for the report `source`, in place of an earlier run's."""
    from pytest_brt.agents.prompts import render

    issue = next(issue for issue in record.issues if issue.source == source)
    folder = _PATCHES / (issue.id if source == "-" else Path(source).stem)
    if folder.resolve() != Path.cwd() / folder:
        raise StoreProblem(
            f"{str(folder)!r} is, or lies in, a link: nothing is written through it"
        )
    for old in folder.glob("fix-*.diff"):
        with suppress(OSError):  # what cannot be read is none of ours
            if read_bounded(old).startswith(_OURS):
                old.unlink()
    fixes = distinct(record.repairs)
    for fix, repair in fixes:
        header = render("patch", line=on_a_line, fix=fix, repair=repair, issue=issue)
        write_text(folder / fix.patch.name, f"{header}\n{fix.patch.text}")
    if fixes:
        yield f"{len(fixes)} in {folder}, not applied ('git apply FILE' applies one)"
    else:
        yield "no patch was written"


# -- tests --------------------------------------------------------------------------------------


def _write_tests(record: RunRecord, options: Options, bench: Workbench) -> Iterator[str]:
    """Write the tests of each report into the project, and say why others were not.

    Raises:
        EditProblem: a test cannot be placed, or would be written outside of the project.
        StoreProblem: one cannot be written.
    """
    made = made_tests(record.attempts)
    for issue in record.issues:
        found = bug_tests(one for one in made if one.test.issue == issue.id)
        sure = [judged for judged in found if judged.judgement.counts]
        if sure:
            edit, why_there = _place(sure[:KEEP], issue, options, bench)
            file = bench.root / edit.path
            if file.exists() and file.read_bytes() == edit.after:
                yield f"already there: {edit.path}"
            else:
                write_bytes(file, edit.after)
                yield f"written: {edit.path}"
            if why_there:
                yield why_there
        elif found:
            yield (
                f"not written: {found[0].test.name} is less certain ('pytest-brt review' accepts"
                " it, and the same command then writes it)"
            )
        else:
            yield f"not written: no test for {issue.source} was found"


def _place(
    tests: Sequence[JudgedTest], issue: Issue, options: Options, bench: Workbench
) -> tuple[Edit, str]:
    """Return the change that puts tests into the project, and why it is not where it belongs.

    With `--brt-write into` the best test goes into the existing test file where it belongs, if it
    fails there, too; else all of them become one new file. Nothing is written here.
    """
    from pytest_brt.edit.add_tests import plan_edit  # libcst takes half a second

    sources, why_not = [judged.test for judged in tests], ""
    plan = partial(plan_edit, sources, issue, bench.root)
    host = _host(tests[0], bench) if options.write == "into" else ""
    if host:
        try:
            _demand_failure(plan(host=host), bench)
            return plan(host=host, mark=bool(options.mark)), ""
        except EditProblem as problem:
            why_not = f"not in {host}: {problem}"
    return plan(mark=bool(options.mark)), why_not


def _demand_failure(placed: Edit, bench: Workbench) -> None:
    """Run a test in the file that it was added to.

    Raises:
        EditProblem: it does not fail there.
    """
    tests = [Test(id=node, path=placed.path, node=node) for node in placed.nodes]
    change = FileChange(path=placed.path, content=placed.after)
    for run in bench.engine.run(tests, (change,)):
        # It may be there from an earlier run, marked.
        if run.verdict not in (Verdict.FAIL, Verdict.XFAIL):
            does = run.cause.text or run.verdict
            raise EditProblem(f"the test does not fail there ({does})")


def _host(judged: JudgedTest, bench: Workbench) -> str:
    """Return the test file that a test is added to, "" where there is none."""
    from pytest_brt.localise.suspects import host_of

    if host := judged.test.host or bench.host:
        return host
    raised = judged.judgement.runs[0].raised  # a bug test was run
    frame = raised.in_project if raised else None
    with bench.open_index() as index:
        return host_of(judged.test.source or "", index, frame.path if frame else "")
