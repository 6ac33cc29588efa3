"""What a report came to, by all attempts at it; docs/reports.md says more.

A *bug test* is a test that fails because of the bug; *existing tests* are the project's own.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import replace

from pytest_brt.render.words import listed
from pytest_brt.types import (
    Answer,
    Attempt,
    Evidence,
    JudgedTest,
    Measured,
    Note,
    OracleKind,
    Review,
    Status,
    Verdict,
)

#: What to do about a test that may fail for another reason: where the report says nothing about
#: what is right, and else.
_SAY_WHAT_IS_RIGHT = (
    "it only checks that the reported result is gone; add to the report what should happen "
    "instead, as in '`f(1)` should return `2`'"
)
_ACCEPT = "read the test, and accept it with 'pytest-brt review' if it is right"
_CHECK_VERSION = "check that this is the version the report is about"
#: What to do where no test runs: the project's own set-up, mostly.
_OTHER_PYTHON = (
    "if the project's own tests do not run with this interpreter either, choose another: "
    "--brt-python"
)
#: What may do better than a model that found nothing.
_ASK_AGAIN = (
    "give the model more time or steps (--brt-budget, --brt-steps), or try a larger one "
    "('pytest-brt models')"
)
_NOTHING = Note(code="no-test", text="no test could be made from the report")
#: What one test does, and what several do.
_WORDS = {
    Verdict.PASS: ("passes on this tree", "pass on this tree"),
    Verdict.FAIL: ("fails for another reason", "fail for another reason"),
    Verdict.BROKEN: ("cannot be run", "cannot be run"),
    Verdict.TIMEOUT: ("takes too long", "take too long"),
    Verdict.CRASH: ("crashes the interpreter", "crash the interpreter"),
    Verdict.FLAKY: ("is flaky", "are flaky"),
    Verdict.SKIP: ("is skipped", "are skipped"),
}
#: Codes of notes that an answer may be incomplete for.
WARNINGS = ("interrupted", "not-tried", "put-at-top", "without-model")
#: Measured tests from which on a share of them says something.
_MANY = 10


def bug_tests(tests: Iterable[JudgedTest]) -> tuple[tuple[JudgedTest, ...], tuple[JudgedTest, ...]]:
    """Return the bug tests that count, and the others, which are less certain; best first."""
    candidates = (test for test in tests if test.judgement.candidate)
    failing = sorted(candidates, key=lambda judged: -judged.judgement.confidence)
    sure = tuple(test for test in failing if test.judgement.counts)
    return sure, tuple(test for test in failing if not test.judgement.counts)


def answer_issue(attempts: Sequence[Attempt]) -> Answer:
    """Return whether a report was reproduced, by all attempts at it.

    As in "Reproduced: test_a fails, probably because of this bug (85% sure)."
    """
    sure, possible = bug_tests(test for attempt in attempts for test in attempt.tests)
    for test in sure:
        if test.judgement.reproduces:
            return _reproduced(test, len(sure))
    if sure or possible:
        return _possible((*sure, *possible))
    for attempt in attempts:
        if attempt.settled:
            return _not_here(attempt)
    reason = _why_not(attempts)
    text = "; ".join(filter(None, (reason.text, reason.hint)))
    return _answer(Status.NOT_REPRODUCED, "Not reproduced", f": {text}.", reason=reason)


def _answer(
    status: Status, headline: str, goes_on: str, *best: str, reason: Note | None = None
) -> Answer:
    text = headline + goes_on
    return Answer(status=status, headline=headline, text=text, best=best, reason=reason)


def _reproduced(best: JudgedTest, many: int) -> Answer:
    name = best.test.name
    likely = "" if best.judgement.confidence == 1 else ", probably"
    fails = f"{name} fails{likely} because of this bug"
    if many > 1:
        fails = f"{many} bug tests fail{likely} because of this bug; the best is {name}"
    return _answer(Status.REPRODUCED, "Reproduced", f": {fails} ({how_sure(best)}).", name)


def _possible(tests: Sequence[JudgedTest]) -> Answer:
    best = tests[0]
    kinds = [test.test.oracle.kind for test in tests]
    hint = f"the report may mean something else; {_ACCEPT}"
    if kinds[0].sees_wrong_value and OracleKind.EQUALS not in kinds:
        hint = _SAY_WHAT_IS_RIGHT
    more = f" ({how_sure(best)}), but {hint}"
    if best.judgement.evidence is Evidence.STATED_VALUE:  # a fix often gives another value
        more = f": it does not return the value the report expects ({how_sure(best)}); {_ACCEPT}"
    reason = Note(code="less-certain", text="it may fail for another reason", hint=hint)
    goes_on = f": {best.test.name} fails{more}."
    return _answer(Status.POSSIBLE, "Possibly reproduced", goes_on, best.test.name, reason=reason)


def _not_here(attempt: Attempt) -> Answer:
    """Return that a bug does not show, what a test sees instead, and what made it go away."""
    seen, fix = attempt.settled[0].test.oracle.sentence, attempt.fix
    goes_on = f": {fix.text}. {seen}" if fix else f": {seen[:-1]}; {_CHECK_VERSION}."
    return replace(_answer(Status.NOT_HERE, "Not reproduced here", goes_on), fix=fix)


def _why_not(attempts: Sequence[Attempt]) -> Note:
    """Return why a report gave no bug test, and what to do."""
    # What pins what happens now is turned round afterwards.
    tests = [
        test
        for attempt in attempts
        for test in attempt.tests
        if test.test.origin.strategy != "invert" or test.judgement.verdict is not Verdict.PASS
    ]
    notes = [note for one in attempts for note in (*one.misses, *one.notes)]
    hint = next((note.hint for one in attempts for note in one.misses if note.hint), "")
    if any(one.cost.calls or one.trajectories or one.endings for one in attempts):
        hint = hint or _ASK_AGAIN
    if not tests:
        first = next((note for note in notes if note.code not in WARNINGS), _NOTHING)
        return replace(first, hint=hint or first.hint)
    verdicts = Counter(test.judgement.verdict for test in tests)
    does = [
        f"{many} {_WORDS.get(verdict, (verdict, verdict))[many > 1]}"
        for verdict, many in verdicts.most_common()
    ]
    text = f"of the tests made from the report, {listed(does)}"
    if not any(test.test.origin.model for test in tests):
        if set(verdicts) == {Verdict.PASS}:
            return Note(code="passes", text=text, hint=_CHECK_VERSION)
        if set(verdicts) == {Verdict.BROKEN}:
            cause = tests[0].judgement.runs[0].cause.text
            return Note(code="broken", text=f"{text}: {cause}", hint=_OTHER_PYTHON)
    return Note(code="other-tests", text=text, hint=hint or "see -v")


# -- what is said of one test ------------------------------------------------------------------


def how_sure(judged: JudgedTest) -> str:
    """Return how likely a test is right, as in "85% sure"."""
    judgement = judged.judgement
    if judged.review is Review.ACCEPTED:
        return "accepted by you"
    if share := percent(judgement.confidence, judgement.measured):
        return f"{share} sure"
    if judgement.confidence == 1:
        return "taken as right"
    return "how often such tests are right is not known"


def percent(confidence: float, measured: Measured | None) -> str:
    """Return a confidence as in "85%", "" where too little was measured."""
    return f"{confidence:.0%}" if measured is not None and measured.of >= _MANY else ""


def reviewed(tests: Iterable[JudgedTest]) -> str:
    """Return what a person said about tests, as in "you accepted 2 and rejected 1", or ""."""
    said = Counter(test.review for test in tests if test.review is not Review.OPEN)
    parts = [f"{review} {many}" for review, many in sorted(said.items())]
    return f"you {' and '.join(parts)}" if parts else ""
