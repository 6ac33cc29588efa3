"""Rows about repairs: each run, the calls in it, what it cost, and each way on a bug together."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence

from pytest_brt.evaluate.record import Bug, Repaired, RepairRun, StudyResult
from pytest_brt.evaluate.rows.row import Row, about_bug, flat, yes

WITH_TEST, ALONE, EITHER = "with-test", "report-alone", "either"


def _repaired(result: StudyResult) -> Iterator[tuple[Bug, Repaired]]:
    bugs = {bug.id: bug for bug in result.bugs}
    for found in result.repaired:
        if not found.problem:
            yield bugs[found.instance], found


def _runs(result: StudyResult) -> Iterator[tuple[Row, RepairRun]]:
    for bug, found in _repaired(result):
        for run in found.runs:
            yield (
                about_bug(bug)
                | {
                    "strategy": run.strategy,
                    "without": ", ".join(run.without),
                    "whole": int(not run.without),
                    "given": WITH_TEST if run.given else ALONE,
                    "run": run.index,
                    "outcome": "fixed" if run.is_right else "unfixed",
                },
                run,
            )


def run_rows(result: StudyResult) -> Iterator[Row]:
    """Yield a row per run of a repair; one that did not begin is a run too."""
    for start, run in _runs(result):
        used = "used" if run.used else "unused"
        yield start | {
            "use": used if run.given else "not-given",
            "patches": len(run.fixes),
            **_found([run]),
            "steps": len(run.actions),
            "first_right": run.first_right,
            "ending": run.ending,
            "tokens": run.cost.tokens,
            "read": run.cost.prompt_tokens,
            "seconds": run.seconds,
        }


def _found(runs: Sequence[RepairRun]) -> Row:
    """Return what the patches that runs kept are worth."""
    kept = [fix for run in runs for fix in run.fixes if fix.kept]
    return {
        "fix": int(bool(kept)),
        "own": int(any(fix.own for fix in kept)),
        "right": int(any(fix.right for fix in kept)),
        "same_as_fix": int(any(fix.same_as_fix for fix in kept)),
    }


def repair_rows(result: StudyResult) -> Iterator[Row]:
    """Yield a row per bug and way of repairing it; the whole strategy in either way too."""
    for bug, found in _repaired(result):
        ways: dict[tuple[str, str, str], list[RepairRun]] = {}
        for run in found.runs:
            given = WITH_TEST if run.given else ALONE
            ways.setdefault((run.strategy, ", ".join(run.without), given), []).append(run)
        for run in found.runs:
            if not run.without:
                ways.setdefault((run.strategy, "", EITHER), []).append(run)
        for (strategy, without, given), runs in ways.items():
            yield about_bug(bug) | {
                "strategy": strategy,
                "without": without,
                "given": given,
                "whole": int(not without),
                "together": int(given == EITHER),
                "runs": len(runs),
                "patches": sum(len(run.fixes) for run in runs),
                **_found(runs),
            }


def fix_rows(result: StudyResult) -> Iterator[Row]:
    """Yield a row per different tree that a run wrote."""
    for start, run in _runs(result):
        for fix in run.fixes:
            yield (
                start
                | flat(fix)
                | {
                    "kept": int(fix.kept),
                    "own": yes(fix.own),
                    "right": int(fix.right),
                    "same_as_fix": int(fix.same_as_fix),
                }
            )


def write_rows(result: StudyResult) -> Iterator[Row]:
    """Yield a row per call of write_fix: whether a plausible patch came of it."""
    for start, run in _runs(result):
        for right in run.writes:
            yield start | {"right": int(right)}


def call_rows(result: StudyResult) -> Iterator[Row]:
    """Yield how often a run of the whole strategy took each action that any of its runs took."""
    runs = [(start, run) for start, run in _runs(result) if not run.without and run.actions]
    for strategy in dict.fromkeys(run.strategy for _, run in runs):
        mine = [(start, run) for start, run in runs if run.strategy == strategy]
        often = Counter(action or "other" for _, run in mine for action in run.actions)
        for name, _ in sorted(often.items(), key=lambda pair: (-pair[1], pair[0])):
            for start, run in mine:
                times = [action or "other" for action in run.actions].count(name)
                yield start | {"action": name} | _by_outcome(run, times)
        for start, run in mine:
            yield start | {"action": "all"} | _by_outcome(run, len(run.actions))


def _by_outcome(run: RepairRun, times: int) -> Row:
    fixed = run.is_right
    return {"fixed": times if fixed else None, "not_fixed": None if fixed else times}


def spent_rows(result: StudyResult) -> Iterator[Row]:
    """Yield a row per run and kind of cost, so that fixed and other bugs can be told apart."""
    for start, run in _runs(result):
        costs = {
            "seconds": run.seconds,
            "share-in-tools": run.tool_seconds / run.seconds if run.seconds else None,
            "tokens-made": run.cost.tokens,
            "tokens-read": run.cost.prompt_tokens,
        }
        for what, value in costs.items():
            yield start | {"what": what, "value": value}
