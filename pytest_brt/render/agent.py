"""The answer of a run for a coding agent: what was found, in few lines, and what to do next."""

from __future__ import annotations

import shlex
from collections.abc import Iterator, Mapping, Sequence

from pytest_brt.render.report import IssueEntry, Report, candidates
from pytest_brt.render.table import is_writable, repairs, table
from pytest_brt.render.words import shortened
from pytest_brt.types import Leader, OnlyOne
from pytest_brt.types.answer import NotHere, PossiblyReproduced, Reproduced

#: Reports and patches that are told of, and characters of a line that is no sentence.
_REPORTS, _PATCHES, _WIDTH = 2, 3, 160


def agent_lines(
    report: Report, closing: Sequence[str], command: str, files: Mapping[str, str]
) -> Iterator[str]:
    """Yield at most ten lines: answers, what they rest on, `closing`, and the next command.

    `command` is what was typed; `files` has the path of each patch that is one file, by its name.
    """
    for issue in report.issues[:_REPORTS]:
        if issue.answer is not None:
            yield f"{issue.source}: {issue.verdict}"
            yield from _best(report, issue)
    for ranking in report.rankings[:1]:
        yield ranking.verdict
        heading, *rows = table(ranking.patches)
        for line in (heading, *rows[:_PATCHES]):
            yield shortened(line.text, _WIDTH)
    for line in [*repairs(report)][:_PATCHES]:
        yield shortened(line.text, _WIDTH)
    yield from list(closing)[:1]
    yield f"next: {_next(report, command, files)}"


def _best(report: Report, issue: IssueEntry) -> Iterator[str]:
    """Yield how the best test of a report fails, where no patch is ranked by it."""
    best = candidates(report.made_for(issue.id))[:1]
    if not report.rankings:
        for test in best:
            parts = [test.failure.reason, test.failure.at] if test.failure else [test.reason]
            yield shortened(f"  {', '.join(filter(None, parts))}", _WIDTH)


def _next(report: Report, command: str, files: Mapping[str, str]) -> str:
    """Return what to type next, or what to do before."""
    for ranking in report.rankings[:1]:
        match ranking.answer:
            case OnlyOne(patch=name) | Leader(patch=name, doubt=None) if name in files:
                apply = shlex.join(["git", "apply", files[name]])
                return f"read {files[name]}, then '{apply}' applies it"
            case OnlyOne(patch=name) | Leader(patch=name, doubt=None):
                return f"read {name}, then apply it"
            case _:
                return "read the patches: -v shows what every test did on each"
    answers = [issue.answer for issue in report.issues]
    if any(isinstance(answer, Reproduced | PossiblyReproduced) for answer in answers):
        write = f"'{command} --brt-write new' writes the test"
        if not is_writable(report):
            write = f"'pytest-brt review --accept T1' accepts the test, then {write}"
        return f"{write}; 'pytest --rank-fixes DIR' ranks patches"
    if any(isinstance(answer, NotHere) for answer in answers):
        return "nothing to mend, if this is the version that the report is about"
    source = report.issues[0].source if report.issues else "FILE"
    return f"write a test yourself, then 'pytest-brt check TEST --issue {source}' judges it"
