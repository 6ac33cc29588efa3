"""The header, and the answer at the end, through pytest's own terminal reporter."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from pathlib import Path

import pytest

from pytest_brt.plugin.inputs import Inputs
from pytest_brt.plugin.options import Options
from pytest_brt.render.answer import reviewed
from pytest_brt.render.report import Report
from pytest_brt.render.text import summary
from pytest_brt.shown import show


def header(inputs: Inputs, options: Options) -> Iterator[str]:
    """Yield what runs, on what, and how it is isolated."""
    engine, model = inputs.workbench.engine, inputs.workbench.model
    subject, sandbox = engine.subject, engine.sandbox
    version = ".".join(str(part) for part in subject.python_version)
    strategies = ", ".join(inputs.plan.strategies) if options.issues else "ranking"
    asked = "" if model.name == "none" else f"; model {model.name}"
    yield (
        f"{strategies}; python {version} ({subject.found}){asked}; sandbox {sandbox.isolation}; "
        f"{options.jobs} jobs"
    )
    if Path(subject.root) != Path.cwd():
        yield f"project {subject.root}"
    for remark in sandbox.remarks:
        yield f"sandbox {sandbox.isolation}: {remark}"
    if inputs.earlier:
        review = reviewed(inputs.earlier.tests)
        yield f"bug tests from the last run ({inputs.earlier.about}){review and f'; {review}'}"
    for issue in inputs.plan.issues:
        if issue.unread:
            yield (
                f"{issue.source}: {issue.unread / 1000:,.0f} KB of it are not read: only 10 KB of "
                "a paragraph, 100 KB of prose and 300 blocks of code are (put logs into a code "
                "fence)"
            )
    if inputs.cases.left_out:
        yield inputs.cases.left_out
    if asked:
        yield f"model time limit: {options.budget / 60:g} min"


def show_summary(
    reporter: pytest.TerminalReporter,
    report: Report,
    closing: Iterable[str],
    *,
    is_written: bool | None = False,
) -> None:
    """Show the answer, what it rests on, the tests, and what to do next."""
    reporter.ensure_newline()
    verbosity = reporter.config.get_verbosity()
    for line in summary(report, verbosity, is_written=is_written):
        if line.style in ("=", "-"):
            reporter.section(line.text, sep=line.style)
        else:
            show(reporter, line.text, **dict.fromkeys(line.style.split(), True))
    for said in closing:
        show(reporter, said)
