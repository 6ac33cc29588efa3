"""The JSON report, as documented in docs/json.md; `SCHEMA` counts its incompatible changes."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from pytest_brt.answers import answer_issue, answer_ranking
from pytest_brt.render.answer import ranking_sentence
from pytest_brt.render.causes import cause_words, run_words, shortfall_words
from pytest_brt.render.clues import clue_words
from pytest_brt.render.disputes import dispute_sentence
from pytest_brt.render.notes import attempt_words
from pytest_brt.render.refusals import refusal_sentence
from pytest_brt.render.remarks import remark_sentence
from pytest_brt.render.values import telling_sentence
from pytest_brt.types import (
    Attempt,
    Cell,
    Guarded,
    IssueAnswer,
    JudgedTest,
    Localised,
    PatchResult,
    Rank,
    Repair,
    RunRecord,
)

SCHEMA = 1

#: Plain data and dataclasses whose fields are called as in the report, ready for `to_json`.
Json = dict[str, object]


def record_json(record: RunRecord, selected: Mapping[str, Sequence[Rank]] | None = None) -> Json:
    """Return everything that a run found out, and the patches that options select."""
    return {
        "schema": SCHEMA,
        "sandbox": record.sandbox,
        "notes": (),
        "issues": [
            {
                "id": issue.id,
                "title": issue.title,
                "source": issue.source,
                "answer": _answer(record, issue.id),
            }
            for issue in record.issues
        ],
        "tests": [_test_json(judged) for judged in record.tests],
        "attempts": [_attempt_json(attempt) for attempt in record.attempts],
        "patches": [_rank_json(rank) for rank in record.ranks],
        "rankings": _rankings_json(record),
        "tellings": [
            {"fact": telling, "sentence": telling_sentence(telling)} for telling in record.tellings
        ],
        "disputes": [
            {"fact": dispute, "sentence": dispute_sentence(dispute)} for dispute in record.disputes
        ],
        "not_run": record.not_run,
        "selected": {
            option: [{"issue": rank.result.issue, "patch": rank.name} for rank in some]
            for option, some in (selected or {}).items()
        },
        "repairs": [repair_json(repair) for repair in record.repairs],
        "places": [localised_json(found) for found in record.localised],
    }


def _answer(record: RunRecord, issue: str) -> IssueAnswer | None:
    """Return whether a report was reproduced, None where that was not tried."""
    attempts = [attempt for attempt in record.attempts if attempt.issue == issue]
    return answer_issue(attempts) if attempts else None


def _rankings_json(record: RunRecord) -> list[Json]:
    """Return what each ranking comes to, as a fact and in words."""
    missing = {lacking.issue: lacking for lacking in record.not_run}
    issues = dict.fromkeys((*(rank.result.issue for rank in record.ranks), *missing))
    found: list[Json] = []
    for issue in issues:
        ranks = [rank for rank in record.ranks if rank.result.issue == issue]
        answer = answer_ranking(ranks, missing.get(issue))
        sentence = ranking_sentence(answer, ranks)
        found.append({"issue": issue, "answer": answer, "verdict": sentence})
    return found


def attempt_json(attempt: Attempt) -> Json:
    """Return what one run of one strategy found out."""
    return {**_attempt_json(attempt), "tests": [_test_json(judged) for judged in attempt.tests]}


def _attempt_json(attempt: Attempt) -> Json:
    """Return how an attempt went: what it cost, and how its dialogues with a model ended."""
    return {
        "issue": attempt.issue,
        "strategy": attempt.strategy,
        "index": attempt.index,
        "seconds": round(attempt.seconds, 3),
        "notes": [*attempt_words(attempt)],
        "misses": attempt.misses,
        "remarks": attempt.notes,
        "calls": attempt.cost.calls,
        "prompt_tokens": attempt.cost.prompt_tokens,
        "evaluated_tokens": attempt.cost.evaluated,
        "tokens": attempt.cost.tokens,
        "model_seconds": round(attempt.cost.seconds, 3),
        "dialogues": [
            {
                "steps": len(dialogue.steps),
                "ending": dialogue.ending,
                "reason": dialogue.reason,
                "actions": [step.action for step in dialogue.steps],
            }
            for dialogue in attempt.trajectories
        ],
    }


def _cell_json(cell: Cell) -> Json:
    return {
        "test": cell.test,
        "verdict": cell.verdict,
        "cause": cell.cause,
        "reason": run_words(cell),
    }


def result_json(result: PatchResult) -> Json:
    """Return what the tests did on one patch."""
    return {
        "name": result.patch.name,
        "id": result.patch.id,
        "issue": result.issue,
        "applies": result.applies,
        "refused": result.refused,
        "reason": "" if result.refused is None else refusal_sentence(result.refused),
        "notes": [remark_sentence(remark) for remark in result.remarks],
        "remarks": result.remarks,
        "seconds": round(result.seconds, 3),
        "size": result.size,
        "regressions": _regressions_json(result.guarded),
        "guard": _guard_json(result.guarded),
        "source": result.patch.source,
        "values": result.values,
        "cells": [_cell_json(cell) for cell in result.cells],
        "own_cells": [_cell_json(cell) for cell in result.own_cells],
    }


def repair_json(repair: Repair) -> Json:
    """Return what one run of one repair strategy found out."""
    trajectory = repair.trajectory
    return {
        "issue": repair.issue,
        "strategy": repair.strategy,
        "index": repair.index,
        "given": repair.brt or None,
        "seconds": round(repair.seconds, 3),
        "steps": len(trajectory.steps) if trajectory else 0,
        "ending": trajectory.ending if trajectory else None,
        "calls": repair.cost.calls,
        "prompt_tokens": repair.cost.prompt_tokens,
        "tokens": repair.cost.tokens,
        "notes": repair.notes,
        "fixes": [
            {
                "patch": fix.patch.name,
                "source": fix.source,
                "plausible": fix.plausible,
                "passed": fix.passed,
                "total": fix.total,
                "hypothesis": fix.hypothesis,
                "regressions": _regressions_json(fix.guarded),
                "diff": fix.patch.text,
            }
            for fix in repair.fixes
        ],
    }


def localised_json(found: Localised) -> Json:
    """Return where a bug may be."""
    return {
        "issue": found.issue,
        "failing": found.failing,
        "passing": found.passing,
        "watched_by": "trace" if found.failing or found.passing else None,
        "notes": found.notes,
        "places": [
            {
                "path": place.path,
                "function": place.function,
                "line": place.line,
                "end_line": place.end_line,
                "score": round(place.score, 4),
                "lines": place.lines,
                "ochiai": _rounded(place.ochiai),
                "clues": [{"fact": clue, "sentence": clue_words(clue)} for clue in place.clues],
            }
            for place in found.places
        ],
    }


def _rounded(score: float | None) -> float | None:
    return None if score is None else round(score, 4)


def _test_json(judged: JudgedTest) -> Json:
    test, judgement = judged.test, judged.judgement
    measured = judgement.measured
    return {
        "id": test.id,
        "name": test.name,
        "issue": test.issue,
        "strategy": test.origin.strategy,
        "author": test.origin.author,
        "brought_by": test.origin.patches,
        "oracle": test.oracle.kind,
        "sentence": test.oracle.sentence,
        "file": test.path,
        "host": test.host,
        "source": test.source,
        "candidate": judgement.candidate,
        "reproduces": judgement.reproduces,
        "counts": judgement.counts,
        "evidence": judgement.evidence,
        "measured": measured and {"right": measured.right, "of": measured.of},
        "verdict": judgement.verdict,
        "reason": judgement.reason,
        "confidence": round(judgement.confidence, 3),
        "review": judged.review,
        "agree": judgement.agree,
        "samples": judgement.samples,
    }


def _rank_json(rank: Rank) -> Json:
    return {
        **result_json(rank.result),
        "epr": None if rank.epr is None else round(rank.epr, 6),
        "rank": rank.rank,
        "tied_with": rank.tied_with,
        "passed": rank.passed,
        "total": rank.total,
        "place": rank.place,
        "placed_with": rank.placed_with,
        "score": None if rank.score is None else round(rank.score, 6),
        "interval": None if rank.interval is None else [round(end, 4) for end in rank.interval],
        "standing": rank.standing,
        "group": rank.group or None,
        "copies": rank.copies,
        "because": rank.because,
        "doubt": rank.doubt,
        "contradiction": rank.contradiction,
    }


def _regressions_json(guarded: Guarded | None) -> list[Json] | None:
    if guarded is None:
        return None
    return [
        {
            "test": broken.test,
            "verdict": broken.verdict,
            "cause": broken.cause,
            "reason": cause_words(broken.cause, broken.raised),
        }
        for broken in guarded.regressions
    ]


def _guard_json(guarded: Guarded | None) -> Json | None:
    if guarded is None:
        return None
    return {
        "ran": guarded.ran,
        "of": guarded.total,
        "reached": guarded.reached,
        "chosen_by": guarded.by,
        "disputed": [one.test for one in guarded.disputed],
        "failing_before": [
            {
                "test": test.test,
                "cause": test.cause,
                "reason": cause_words(test.cause, test.raised),
            }
            for test in guarded.failing
        ],
        "shortfalls": guarded.shortfalls,
        "cut": ", ".join(map(shortfall_words, guarded.shortfalls)),
        "seconds": round(guarded.seconds, 3),
    }
