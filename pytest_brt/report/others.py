"""The tests that were considered and do not count, in one line."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable

from pytest_brt.types import JudgedTest, Verdict

_WORDS = {
    Verdict.PASS: "passes here",
    Verdict.FAIL: "fails for another reason",
    Verdict.BROKEN: "cannot run",
    Verdict.TIMEOUT: "takes too long",
    Verdict.FLAKY: "changes its outcome",
    Verdict.SKIP: "is skipped",
}


def others(tests: Iterable[JudgedTest]) -> str:
    """Say what became of the tests that are no candidates, "" when all are.

    As in "of the others 2: passes here, 1: cannot run (-v shows them)".
    """
    verdicts = Counter(
        judged.judgement.verdict for judged in tests if not judged.judgement.candidate
    )
    told = [f"{count}: {_WORDS.get(verdict, verdict)}" for verdict, count in verdicts.most_common()]
    return f"of the others {', '.join(told)} (-v shows them)" if told else ""
