"""Everything a run found out as one HTML page: no script, and nothing loaded from elsewhere."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from itertools import dropwhile, groupby
from pathlib import Path

from jinja2 import Environment

from pytest_brt.render.answer import bug_tests, of_ranking, of_report, tests_of
from pytest_brt.render.table import existing, note, place
from pytest_brt.shown import plain
from pytest_brt.types import (
    Cell,
    Issue,
    JudgedTest,
    Rank,
    RunRecord,
    TestRun,
    Verdict,
)

_TEMPLATE = Path(__file__).parent / "page.html.jinja"
#: A part of the page, as the template names its fields.
Part = dict[str, object]
_LONGEST_NAME = 40


def html(
    record: RunRecord,
    *,
    facts: Sequence[str],
    labels: Mapping[str, bool] | None = None,
) -> str:
    """Return the page.

    Args:
        record: what a run found out.
        facts: what the run was made with, a few words each.
        labels: patch name → whether it is right, where that is known: adds curves.
    """
    ranks = {key: tuple(group) for key, group in groupby(record.ranks, lambda r: r.result.issue)}
    issues: list[Issue | None] = list(record.issues) or [None]
    parts = []
    for issue in issues:
        key = issue.id if issue else ""
        part = _part(record, issue, ranks.get(key, ()), labels or {})
        parts.append(part)
    title = record.issues[0].title if len(record.issues) == 1 else "Bug reproduction tests"
    page = {"title": title, "facts": facts, "notes": record.notes, "parts": parts}
    template = Environment(autoescape=True, trim_blocks=True).from_string(
        _TEMPLATE.read_text(encoding="utf-8")
    )
    return _readable(template.render(page=page))


def _part(
    record: RunRecord, issue: Issue | None, ranks: tuple[Rank, ...], labels: Mapping[str, bool]
) -> Part:
    made = [a for a in record.attempts if issue is not None and a.issue == issue.id]
    missing = next((m for m in record.not_run if issue is None or m.issue == issue.id), None)
    sure, possible = bug_tests(tests_of(record, issue.id if issue else ""))
    tests = [*sure, *possible]
    return {
        "title": issue.title if issue else "",
        "answer": of_report(made) if made else "",
        "verdict": of_ranking(ranks, missing) if ranks or missing else "",
        "report": _marked(issue.text, sure) if issue else (),
        "is_marked": any(_quoted(test.test.oracle.sentence) for test in sure),
        "is_weighted": any(rank.score is not None for rank in ranks),
        "patches": [_patch(rank, number, ranks) for number, rank in enumerate(ranks)],
        "remarks": list(existing(ranks)),
        "matrix": _matrix(ranks, tests) if ranks and tests else None,
        "curves": _curves(ranks, labels) if labels else None,
        "tests": [_test(judged, ranks) for judged in tests],
        "notes": [note for attempt in made for note in attempt.notes],
    }


def _marked(text: str, tests: Sequence[JudgedTest]) -> list[tuple[bool, str]]:
    """Return a report in stretches, each with whether a bug test quotes it."""
    quotes = [quote for test in tests for quote in _quoted(test.test.oracle.sentence)]
    # Where a quotation was wrapped, or the report was, only the blanks differ.
    patterns = [r"\s+".join(map(re.escape, quote.split())) for quote in quotes]
    if not patterns:
        return [(False, text)]
    parts = re.split(f"({'|'.join(dict.fromkeys(patterns))})", text)
    return [(at % 2 == 1, part) for at, part in enumerate(parts) if part]


def _quoted(sentence: str) -> list[str]:
    """Return what an oracle's sentence quotes of the report, as in 'Report: "It should be 5."'."""
    _, _, quote = sentence.partition('Report: "')
    quote = quote.rstrip().removesuffix('"').strip()
    return [quote] if quote else []


def _patch(rank: Rank, number: int, ranks: tuple[Rank, ...]) -> Part:
    result, guarded = rank.result, rank.result.guarded
    low, high = rank.interval or (0.0, 0.0)
    return {
        "anchor": f"patch-{number + 1}-{result.patch.id}",
        "name": result.patch.name,
        "place": place(rank, ranks),
        "epr": rank.epr,
        "score": rank.score,
        "low": low,
        "high": high,
        "passed": f"{rank.passed} of {rank.total}" if rank.total else "–",
        "regressed": f"breaks {len(guarded.regressions)} of {guarded.ran}" if guarded else "–",
        "group": rank.group or "–",
        "note": note(rank),
        "because": rank.because,
        "regressions": guarded.regressions if guarded else (),
        "lines": [_line(line) for line in result.patch.text.splitlines()],
    }


def _line(line: str) -> tuple[str, str]:
    added = line.startswith("+") and not line.startswith("+++")
    removed = line.startswith("-") and not line.startswith("---")
    return ("add" if added else "del" if removed else "ctx", line or " ")


def _test(judged: JudgedTest, ranks: tuple[Rank, ...]) -> Part:
    test = judged.test
    cells = [
        (rank.result.patch.name, cell)
        for rank in ranks
        for cell in rank.result.cells
        if cell.test == test.id
    ]
    runs = judged.judgement.runs
    return {
        "name": test.name if test.source else f"{test.path}::{test.name}",
        "kind": test.oracle.kind,
        "sentence": test.oracle.sentence,
        "confidence": judged.judgement.confidence,
        "is_possible": not judged.judgement.reproduces,
        "source": test.source or f"in the tree: {test.path}",
        "before": _failure(runs[0]) if runs else judged.judgement.reason,
        "after": [f"{name}: {cell.verdict}, {cell.reason}" for name, cell in cells],
    }


def _failure(run: TestRun) -> str:
    """Return what a test failed with, and where, outermost frame first."""
    if run.raised is None:
        return run.reason
    # What lies before the first frame of the tree is how pytest came there.
    ours = dropwhile(lambda frame: frame.path.startswith(("/", "<")), run.raised.frames)
    frames = [
        f"{frame.path}:{frame.line} in {frame.function}" + ("  (project)" if frame.project else "")
        for frame in ours
    ]
    values = [f"    {name} = {value}" for name, value in run.raised.values]
    return "\n".join([*frames, *values, f"{run.raised.type}: {run.raised.message}"])


def _matrix(ranks: tuple[Rank, ...], tests: Sequence[JudgedTest]) -> Part:
    """Return the picture's places: a row per patch, a column per test."""
    names = [_clipped(rank.result.patch.name) for rank in ranks]
    left = 16 + int(7.4 * max(len(name) for name in names))
    rows = []
    for number, rank in enumerate(ranks):
        cells = {cell.test: cell for cell in rank.result.cells}
        row = [
            _square(cells.get(judged.test.id), f"{rank.result.patch.name}, T{place + 1}")
            | {"x": left + 26 * place}
            for place, judged in enumerate(tests)
        ]
        rows.append({"y": 24 + 22 * number, "label": names[number], "cells": row})
    columns = [{"x": left + 26 * at, "label": f"T{at + 1}"} for at in range(len(tests))]
    width, height = left + 26 * len(tests) + 10, 24 + 22 * len(ranks) + 6
    return {"width": width, "height": height, "rows": rows, "columns": columns}


def _square(cell: Cell | None, where: str) -> Part:
    if cell is None or cell.verdict is Verdict.INVALID:
        return {"kind": "none", "glyph": "·", "title": f"{where}: did not run"}
    kinds = {Verdict.PASS: ("pass", "✓"), Verdict.FAIL: ("fail", "✗")}
    kind, glyph = kinds.get(cell.verdict, ("other", "!"))
    return {"kind": kind, "glyph": glyph, "title": f"{where}: {cell.verdict}, {cell.reason}"}


def _curves(ranks: tuple[Rank, ...], labels: Mapping[str, bool]) -> Part:
    """Return precision and recall of selecting by EPR, thresholds from 0 to 1 (paper 001)."""
    known = [
        (rank.epr, labels[name]) for rank in ranks if (name := rank.result.patch.name) in labels
    ]
    rights = sum(right for _, right in known)
    precision, recall = [], []
    for step in range(101):
        chosen = [right for epr, right in known if epr is not None and epr >= step / 100]
        x = 40 + 3 * step
        if chosen:
            precision.append(f"{x},{200 - 180 * sum(chosen) / len(chosen):.1f}")
        if rights:
            recall.append(f"{x},{200 - 180 * sum(chosen) / rights:.1f}")
    return {"precision": " ".join(precision), "recall": " ".join(recall)}


def _clipped(name: str) -> str:
    return name if len(name) <= _LONGEST_NAME else f"…{name[1 - _LONGEST_NAME :]}"


def _readable(text: str) -> str:
    """Return text that every parser of HTML takes: no undecoded bytes, no control characters."""
    return plain(text.encode("utf-8", "replace").decode("utf-8"))
