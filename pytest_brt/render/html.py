"""Everything a run found out as one HTML page: no script, and nothing loaded from elsewhere."""

from __future__ import annotations

import re
from collections.abc import Sequence
from itertools import dropwhile, groupby
from pathlib import Path

from markupsafe import Markup
from pygments import highlight  # type: ignore[import-untyped]  # comes with pytest, untyped
from pygments.formatters import HtmlFormatter  # type: ignore[import-untyped]
from pygments.lexers import PythonLexer  # type: ignore[import-untyped]

from pytest_brt.answers import bug_tests
from pytest_brt.render.answer import does, how_sure, of_ranking, of_report, tests_of
from pytest_brt.render.causes import cause_words, run_words
from pytest_brt.render.disputes import dispute_sentences
from pytest_brt.render.notes import attempt_words
from pytest_brt.render.table import existing, note, place
from pytest_brt.render.template import filled
from pytest_brt.render.values import tellings, values
from pytest_brt.types import Cell, Issue, JudgedTest, Rank, Review, RunRecord, TestRun, Verdict

_TEMPLATE = Path(__file__).parent / "page.html.jinja"
#: A part of the page, as the template names its fields.
Part = dict[str, object]
#: Existing tests, of those that a patch breaks, that have a column of their own.
_COLUMNS = 12


def html(record: RunRecord, *, facts: Sequence[str]) -> str:
    """Return the page; `facts` says what the run was made with, a few words each."""
    ranks = {key: tuple(group) for key, group in groupby(record.ranks, lambda r: r.result.issue)}
    issues: list[Issue | None] = list(record.issues) or [None]
    parts = [_part(record, issue, ranks.get(issue.id if issue else "", ())) for issue in issues]
    title = record.issues[0].title if len(record.issues) == 1 else "Bug reproduction tests"
    page = {"title": title, "facts": facts, "parts": parts}
    return filled(_TEMPLATE, page=page)


def _part(record: RunRecord, issue: Issue | None, ranks: tuple[Rank, ...]) -> Part:
    made = [a for a in record.attempts if issue is not None and a.issue == issue.id]
    missing = next((m for m in record.not_run if issue is None or m.issue == issue.id), None)
    considered = tests_of(record, issue.id if issue else "")
    sure, possible = bug_tests(considered)
    tests = [*sure, *possible]
    broken = _broken(ranks)
    return {
        "title": issue.title if issue else "",
        "answer": of_report(made) if made else "",
        "reproduced": bool(sure),
        "verdict": of_ranking(ranks, missing) if ranks or missing else "",
        "report": _marked(issue.text, sure) if issue else (),
        "is_marked": any(test.test.oracle.quote for test in sure),
        "patches": [_patch(rank, at, ranks, tests, broken) for at, rank in enumerate(ranks)],
        "leaders": [_patch(rank, 0, ranks, (), ()) for rank in _leaders(ranks)],
        "groups": _groups(ranks),
        "broken": broken,
        "remarks": [
            *existing(ranks),
            *tellings(record.tellings, issue.id if issue else ""),
            *values(ranks),
            *dispute_sentences(record.disputes, issue.id if issue else "", whole=True),
        ],
        "tests": [_test(judged, ranks) for judged in tests],
        "rejected": [_name(test) for test in considered if test.review is Review.REJECTED],
        "notes": [words for attempt in made for words in attempt_words(attempt)],
    }


def _broken(ranks: Sequence[Rank]) -> list[str]:
    """Return the existing tests that some patch breaks, as many as have room."""
    broken = (regression.test for rank in ranks for regression in rank.result.regressions)
    return list(dict.fromkeys(broken))[:_COLUMNS]


def _leaders(ranks: Sequence[Rank]) -> list[Rank]:
    """Return the two patches at the top that are not the same patch; none where there is one."""
    tried = [rank for rank in ranks if rank.epr is not None]
    others = [rank for rank in tried[1:] if rank.name not in tried[0].copies]
    return [tried[0], others[0]] if others else []


def _groups(ranks: Sequence[Rank]) -> list[Part]:
    groups: dict[int, list[Rank]] = {}
    for rank in ranks:
        if rank.group:
            groups.setdefault(rank.group, []).append(rank)
    return [
        {"names": [rank.name for rank in group], "does": does(group[0])}
        for group in groups.values()
        if len(group) > 1
    ]


def _marked(text: str, tests: Sequence[JudgedTest]) -> list[tuple[bool, str]]:
    """Return a report in stretches, each with whether a bug test quotes it."""
    quotes = [test.test.oracle.quote for test in tests if test.test.oracle.quote]
    # Where a quotation was wrapped, or the report was, only the blanks differ.
    patterns = [r"\s+".join(map(re.escape, quote.split())) for quote in quotes]
    if not patterns:
        return [(False, text)]
    parts = re.split(f"({'|'.join(dict.fromkeys(patterns))})", text)
    return [(at % 2 == 1, part) for at, part in enumerate(parts) if part]


def _patch(
    rank: Rank,
    number: int,
    ranks: tuple[Rank, ...],
    tests: Sequence[JudgedTest],
    broken: Sequence[str],
) -> Part:
    result, guarded = rank.result, rank.result.guarded
    cells = {cell.test: cell for cell in result.cells}
    breaks = {item.test: cause_words(item.cause, item.raised) for item in result.regressions}
    low, high = rank.interval or (0.0, 0.0)
    return {
        "anchor": f"patch-{number + 1}-{result.patch.id}",
        "name": result.patch.name,
        "place": place(rank, ranks),
        "cells": [_square(cells.get(judged.test.id), _name(judged)) for judged in tests],
        "passed": f"{rank.passed}/{rank.total} pass" if rank.total else "–",
        "broken": [
            _glyph("fail", "✗", f"breaks {test}: {breaks[test]}")
            if test in breaks
            else _glyph("none", "·", f"does not break {test}, or did not run it")
            for test in (broken if guarded else ())
        ],
        "regressed": f"{len(guarded.regressions)}/{guarded.ran} break" if guarded else "–",
        "score": "–" if rank.score is None else f"{rank.score:.2f}",
        "span": f"{low:.2f} to {high:.2f}" if rank.interval else "",
        "note": note(rank),
        "because": rank.because,
        "regressions": result.regressions,
        "lines": [_line(line) for line in result.patch.text.splitlines()],
    }


def _square(cell: Cell | None, test: str) -> Part:
    if cell is None or cell.verdict is Verdict.INVALID:
        return _glyph("none", "·", f"{test} did not run")
    kinds = {Verdict.PASS: ("pass", "✓"), Verdict.FAIL: ("fail", "✗")}
    return _glyph(
        *kinds.get(cell.verdict, ("other", "!")), f"{test}: {cell.verdict} {run_words(cell)}"
    )


def _glyph(kind: str, glyph: str, title: str) -> Part:
    return {"kind": kind, "glyph": glyph, "title": title}


def _name(judged: JudgedTest) -> str:
    test = judged.test
    return test.name if test.source else f"{test.path}::{test.name}"


def _coloured(source: str) -> Markup:
    formatter = HtmlFormatter(nowrap=True, classprefix="py-")
    return Markup(highlight(source, PythonLexer(stripnl=False), formatter))  # it escapes the text


def _line(line: str) -> tuple[str, str]:
    added = line.startswith("+") and not line.startswith("+++")
    removed = line.startswith("-") and not line.startswith("---")
    return ("add" if added else "del" if removed else "ctx", line or " ")


def _test(judged: JudgedTest, ranks: tuple[Rank, ...]) -> Part:
    test, judgement = judged.test, judged.judgement
    cells = [
        (rank.name, cell) for rank in ranks for cell in rank.result.cells if cell.test == test.id
    ]
    runs = judgement.runs
    return {
        "name": _name(judged),
        "state": "" if judged.review is Review.OPEN else f"{judged.review} by you",
        "kind": test.oracle.kind,
        "sentence": test.oracle.sentence,
        "sure": how_sure(judgement.confidence, judgement.evidence, judgement.measured),
        "is_possible": not judgement.reproduces,
        "source": _coloured(test.source or f"# in the tree: {test.path}"),
        "before": _failure(runs[0]) if runs else judgement.reason,
        "after": [
            f"{name}: {'passes' if cell.verdict is Verdict.PASS else run_words(cell)}"
            for name, cell in cells
        ],
    }


def _failure(run: TestRun) -> str:
    """Return what a test failed with, and where, outermost frame first."""
    if run.raised is None:
        return run_words(run)
    # What lies before the first frame of the tree is how pytest came there.
    ours = dropwhile(lambda frame: frame.path.startswith(("/", "<")), run.raised.frames)
    frames = [
        f"{frame.path}:{frame.line} in {frame.function}" + ("  (project)" if frame.project else "")
        for frame in ours
    ]
    values = [f"    {name} = {value}" for name, value in run.raised.values]
    return "\n".join([*frames, *values, f"{run.raised.type}: {run.raised.message}"])
