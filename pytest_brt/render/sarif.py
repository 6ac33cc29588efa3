"""Failures as SARIF 2.1.0: one result per test that fails because of the bug, where it fails.

The location is the project's own code, not the test: that is where the bug is to be looked for.
A wrong value has no such place, and the test need not be written: it lies in the report.
Format: OASIS standard "Static Analysis Results Interchange Format (SARIF) Version 2.1.0".
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from urllib.parse import quote

from pytest_brt.shown import plain
from pytest_brt.types import Frame, JudgedTest, Place, RunRecord

#: Plain data, ready to be written.
Json = dict[str, object]
_ROOT = "REPOSITORYROOT"
_SUSPECT: Json = {
    "id": "suspect",
    "shortDescription": {"text": "A place where the bug of a report may be"},
}
_SCHEMA = "https://json.schemastore.org/sarif-2.1.0.json"


def sarif(
    record: RunRecord, version: str, below: str = "", reports: Mapping[str, str] | None = None
) -> Json:
    """Return a SARIF log with every candidate of `record`, and every place where a bug may be.

    `version` is that of pytest-brt, and `below` where the project lies in its repository, as in
    "packages/a"; "" for its root. `reports` has the paths in the project of reports that are files
    of it, by id.
    """
    tests = [judged for judged in record.tests if judged.judgement.candidate]
    titles = {issue.id: issue.title for issue in record.issues}
    kinds = list(dict.fromkeys(judged.test.oracle.kind for judged in tests))
    suspects = [(found.issue, place) for found in record.localised for place in found.places]
    driver: Json = {
        "name": "pytest-brt",
        "version": version,
        "rules": [
            {"id": kind, "shortDescription": {"text": f"A bug report's claim: {kind}"}}
            for kind in kinds
        ]
        + ([_SUSPECT] if suspects else []),
    }
    run: Json = {
        "tool": {"driver": driver},
        "originalUriBaseIds": {_ROOT: {"description": {"text": "The repository"}}},
        "results": [_result(judged, kinds, titles, below, reports or {}) for judged in tests]
        + [_suspect(place, titles.get(issue, ""), len(kinds), below) for issue, place in suspects],
    }
    return {"$schema": _SCHEMA, "version": "2.1.0", "runs": [run]}


def _result(
    judged: JudgedTest,
    kinds: Sequence[str],
    titles: dict[str, str],
    below: str,
    reports: Mapping[str, str],
) -> Json:
    test, judgement = judged.test, judged.judgement
    run = judgement.runs[0] if judgement.runs else None
    raised = run.raised if run else None
    title = titles.get(test.issue, "")
    said = f"{raised.type}: {raised.message}" if raised else judgement.reason
    text = f"{title}: {said}" if title else said
    result: Json = {
        "ruleId": test.oracle.kind,
        "ruleIndex": kinds.index(test.oracle.kind),
        "level": "error" if judgement.reproduces else "note",
        "message": {"text": _message(text)},
        "locations": [_location(*_place(judged, reports), below)],
        "partialFingerprints": {"brtTest/v1": test.id},
        "properties": {
            "test": f"{test.path}::{test.name}",
            "confidence": round(judgement.confidence, 3),
            "oracle": test.oracle.sentence,
        },
    }
    frames = raised.frames if raised else ()
    # A test of ours is in no file, or on other lines of one.
    flow = _flow((f for f in frames if test.source is None or f.path != test.path), below)
    if flow:
        result["codeFlows"] = [{"threadFlows": [{"locations": flow}]}]
    return result


def _message(text: str) -> str:
    """Return text of strangers as a message: its "[words](address)" would become a link there."""
    return plain(text).replace("](", "] (")


def _suspect(place: Place, title: str, index: int, below: str) -> Json:
    name = place.function or place.path
    why = "; ".join(place.reasons)
    first = min(place.lines, default=place.line)
    return {
        "ruleId": _SUSPECT["id"],
        "ruleIndex": index,
        "level": "note",
        "message": {"text": _message(f"{title}: {name} may have the bug ({why})")},
        "locations": [_location(place.path, first, below)],
        "rank": round(min(100.0, place.score * 100 / 3), 1),
        "properties": {
            "score": round(place.score, 4),
            "lines": list(place.lines),
            "ochiai": place.ochiai,
            "dstar": place.dstar,
            "tarantula": place.tarantula,
        },
    }


def _place(judged: JudgedTest, reports: Mapping[str, str]) -> tuple[str, int]:
    """Return the deepest project frame, or the report of a test of ours, or the test's place."""
    runs = judged.judgement.runs
    raised = runs[0].raised if runs else None
    own = [frame for frame in raised.frames if frame.path == judged.test.path] if raised else []
    inside = raised.in_project if raised else None
    if inside is None and judged.test.source is not None and judged.test.issue in reports:
        return reports[judged.test.issue], 1
    frame = inside or (own[-1] if own else None)
    return (frame.path, frame.line) if frame else (judged.test.path, 1)


def _flow(frames: Iterable[Frame], below: str) -> list[Json]:
    """Return the stack from the test inwards: frames of the interpreter and libraries left out."""
    return [
        {"location": _location(frame.path, frame.line, below)}
        for frame in frames
        if not frame.path.startswith(("/", "<"))
    ]


def _location(path: str, line: int, below: str) -> Json:
    if below and not path.startswith("/"):
        path = f"{below}/{path}"
    return {
        "physicalLocation": {
            "artifactLocation": {"uri": quote(path), "uriBaseId": _ROOT},
            "region": {"startLine": max(1, line)},
        }
    }
