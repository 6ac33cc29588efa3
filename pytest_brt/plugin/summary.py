"""The header, and the answer at the end, through pytest's own terminal reporter."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from pathlib import Path

import pytest

from pytest_brt.edit.source_text import Edit
from pytest_brt.plugin.inputs import Inputs
from pytest_brt.plugin.options import Options
from pytest_brt.render.answer import reviewed
from pytest_brt.render.report import Report
from pytest_brt.render.text import summary
from pytest_brt.shown import show


def header(inputs: Inputs, options: Options, verbosity: int) -> list[str]:
    """Return the lines that say what runs, on what, and how it is isolated."""
    if verbosity < 0:
        return []
    engine = inputs.workbench.engine
    subject = engine.subject
    version = ".".join(str(part) for part in subject.python_version)
    strategies = ", ".join(inputs.plan.strategies) if options.issues else "ranking"
    model = inputs.workbench.model
    asked = "" if model.name == "none" else f"; model {model.name}"
    lines = [
        f"brt: {strategies}; python {version} ({subject.found}){asked}; "
        f"sandbox {engine.sandbox.isolation}; {options.jobs} jobs"
    ]
    if Path(subject.root) != Path.cwd():
        lines.append(f"brt: project {subject.root}")
    lines += [
        f"brt: sandbox {engine.sandbox.isolation}: {remark}" for remark in engine.sandbox.remarks
    ]
    if inputs.earlier:
        said = reviewed(inputs.earlier.tests)
        lines.append(
            f"brt: bug tests from the last run ({inputs.earlier.about}){said and f'; {said}'}"
        )
    if not subject.packages:
        lines.append(
            f"brt: no package or module in {subject.root!r}: is it the project's root? "
            "(start pytest there, or --rootdir DIR)"
        )
    lines += [
        f"brt: {issue.source}: {issue.unread / 1000:,.0f} KB of it are not read: only 10 KB of a "
        "paragraph, 100 KB of prose and 300 blocks of code are (put logs into a code fence)"
        for issue in inputs.plan.issues
        if issue.unread
    ]
    lines += [f"brt: {note}" for note in [inputs.cases.left_out] if note]
    if asked:
        lines.append(f"brt: model time limit: {options.budget / 60:g} min")
    return lines


def show_summary(
    reporter: pytest.TerminalReporter, report: Report, edits: Sequence[Edit], closing: Iterable[str]
) -> None:
    """Show the answer, what it rests on, and what to do next."""
    reporter.ensure_newline()
    diffs = [edit.diff() for edit in edits]
    for line in summary(report, reporter.config.get_verbosity(), diffs):
        if line.style in ("=", "-"):
            reporter.section(line.text, sep=line.style)
        else:
            show(reporter, line.text, **dict.fromkeys(line.style.split(), True))
    for said in closing:
        show(reporter, said)
