"""The answer of a run for a coding agent: what was found, in few lines, and what to do next."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import groupby

from pytest_brt.answers import answer_issue, answer_ranking, bug_tests
from pytest_brt.render.answer import issue_sentence, of_ranking, place_of
from pytest_brt.render.causes import run_words
from pytest_brt.render.table import repairs, shortened, table
from pytest_brt.types import Issue, JudgedTest, Leader, OnlyOne, RunRecord
from pytest_brt.types.answer import NotHere, PossiblyReproduced, Reproduced

#: Reports and patches that are told of, and characters of a line that is no sentence.
_REPORTS, _PATCHES, _WIDTH = 2, 3, 160


def agent_lines(record: RunRecord, closing: Sequence[str], command: str) -> Iterator[str]:
    """Yield at most ten lines: answers, what they rest on, `closing`, and the next command.

    `command` is what was typed.
    """
    for issue in record.issues[:_REPORTS]:
        yield from _of_report(record, issue)
    groups = [tuple(g) for _, g in groupby(record.ranks, key=lambda rank: rank.result.issue)]
    for ranks in groups[:1]:
        yield of_ranking(ranks)
        heading, *rows = table(ranks)
        for line in (heading, *rows[:_PATCHES]):
            yield shortened(line.text, _WIDTH)
    for line in [*repairs(record)][:_PATCHES]:
        yield shortened(line.text, _WIDTH)
    yield from list(closing)[:1]
    yield f"next: {_next(record, command)}"


def _of_report(record: RunRecord, issue: Issue) -> Iterator[str]:
    attempts = [attempt for attempt in record.attempts if attempt.issue == issue.id]
    if not attempts:
        return
    yield f"{issue.source}: {issue_sentence(answer_issue(attempts))}"
    sure, possible = bug_tests(test for attempt in attempts for test in attempt.tests)
    best = next(iter((*sure, *possible)), None)
    if best is not None and not record.ranks:
        yield shortened(f"  {_failure(best)}", _WIDTH)


def _failure(judged: JudgedTest) -> str:
    run = next(iter(judged.judgement.runs), None)
    if run is None:
        return judged.judgement.reason
    place = place_of(run)
    return f"{run_words(run)}{f', {place}' if place else ''}"


def _next(record: RunRecord, command: str) -> str:
    """Return what to type next, or what to do before."""
    if record.ranks:
        match answer_ranking(record.ranks):
            case OnlyOne(patch=name) | Leader(patch=name, doubt=None):
                return f"read {name}, then apply it with git apply"
            case _:
                return "'pytest-brt diff PATCH PATCH' says how two differ; -v shows every test"
    answers = [
        answer_issue([a for a in record.attempts if a.issue == issue.id])
        for issue in record.issues
        if any(attempt.issue == issue.id for attempt in record.attempts)
    ]
    if any(isinstance(answer, Reproduced | PossiblyReproduced) for answer in answers):
        return (
            f"'{command} --brt-write new' writes the test; 'pytest --rank-fixes DIR' ranks patches"
        )
    if any(isinstance(answer, NotHere) for answer in answers):
        return "nothing to mend, if this is the version that the report is about"
    report = record.issues[0].source if record.issues else "FILE"
    return f"write a test yourself, then 'pytest-brt check TEST --issue {report}' judges it"
