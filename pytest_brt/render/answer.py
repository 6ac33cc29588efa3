"""What a report, and a ranking of patches, came to, in one or two sentences.

A *bug test* is a test that fails because of the bug; *existing tests* are the project's own.
docs/reports.md and docs/ranking.md say more.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace

from pytest_brt.render.words import call_words, count, listed
from pytest_brt.types import (
    Answer,
    Attempt,
    JudgedTest,
    Note,
    OracleKind,
    Rank,
    Review,
    RunRecord,
    Standing,
    Status,
    Verdict,
    bug_tests,
    made_tests,
    tied,
)

#: Codes of notes that an answer may be incomplete for.
WARNINGS = ("interrupted", "not-tried", "put-at-top", "without-model")
#: What tests leave open that do not know what is right, by what they check.
_UNTOLD = {
    OracleKind.GONE: "it only checks that the reported result is gone",
    OracleKind.NO_RAISE: "it accepts any result",
}
#: What to do about a test that may fail for another reason: where the report says nothing about
#: what is right, and else.
_SAY_WHAT_IS_RIGHT = (
    "add to the report what should happen instead, as in '`f(1)` should return `2`'"
)
_ACCEPT = (
    "the report may mean something else; read the test, and accept it with 'pytest-brt review' "
    "if it is right"
)
_CHECK_VERSION = "check that this is the version the report is about"
#: What to do where no test runs: the project's own set-up, mostly.
_OTHER_PYTHON = (
    "if the project's own tests do not run with this interpreter either, choose another: "
    "--brt-python"
)
#: What may do better than a model that found nothing.
_ASK_AGAIN = (
    "give the model more time or steps (--brt-budget, --brt-steps), or try a larger model "
    "('pytest-brt models')"
)
_NOTHING = Note(code="no-test", text="no test could be made from the report")
#: What to do by what a test does that is no bug test.
_HINTS = {Verdict.PASS: _CHECK_VERSION, Verdict.BROKEN: _OTHER_PYTHON}
#: Why no patch is known to fix the bug, by codes.
_NONE = {
    "no-bug-test": "no patch is known to be right: they are ordered by how many existing tests "
    "they break; give a test (--brt-tests FILE), or add a call and its right result to the report",
    "no-patch-applies": "no patch could be applied",
    "no-test-ran": "no bug test could be run on any patch",
    "none-passes": "none passes a bug test",
    "own-tests": "none passes a bug test but its own",
}
#: Tests that patches bring that are named.
_NAMED = 4


# -- reports ----------------------------------------------------------------------------------


def answer_issue(attempts: Sequence[Attempt]) -> Answer:
    """Return whether a report was reproduced, by all attempts at it.

    As in "Reproduced: test_a fails, probably because of this bug (85% sure)."
    """
    found = bug_tests(made_tests(attempts))
    for test in found:
        if test.judgement.reproduces:
            probably = "" if test.judgement.confidence == 1 else ", probably"
            text = (
                f"{test.test.name} fails{probably} because of this bug ({how_sure(test)})"
            )
            return Answer(status=Status.REPRODUCED, text=f"Reproduced: {text}.")
    if found:
        return _possible(found)
    for attempt in attempts:
        if attempt.settled:
            return _not_here(attempt)
    why = _why_not(attempts)
    text = "; ".join(filter(None, (why.text, why.hint)))
    return Answer(status=Status.NOT_REPRODUCED, text=f"Not reproduced: {text}.", reason=why)


def _possible(tests: Sequence[JudgedTest]) -> Answer:
    best, kinds = tests[0], [judged.test.oracle.kind for judged in tests]
    hint, untold = _ACCEPT, _UNTOLD.get(kinds[0])
    if untold and OracleKind.EQUALS not in kinds:
        hint = f"{untold}; {_SAY_WHAT_IS_RIGHT}"
    return Answer(
        status=Status.POSSIBLE,
        text=f"Possibly reproduced: {best.test.name} fails ({how_sure(best)}), but {hint}.",
        reason=Note(code="less-certain", text="it may fail for another reason", hint=hint),
    )


def _not_here(attempt: Attempt) -> Answer:
    """Return that a bug does not show, what a test sees instead, and what made it go away."""
    seen, fix = attempt.settled[0].test.oracle.sentence.removesuffix("."), attempt.fix
    goes_on = f"{fix.text}. {seen}." if fix else f"{seen}; {_CHECK_VERSION}."
    return Answer(status=Status.NOT_HERE, text=f"Not reproduced here: {goes_on}", fix=fix)


def _why_not(attempts: Sequence[Attempt]) -> Note:
    """Return why a report gave no bug test, and what to do."""
    notes = [note for attempt in attempts for note in attempt.notes]
    hints = [note.hint for note in notes if note.hint]
    if any(attempt.cost.calls for attempt in attempts):
        hints.append(_ASK_AGAIN)
    for judged in made_tests(attempts):
        name, reason = judged.test.name, judged.judgement.reason
        text = f"{name}, made from the report, does not show it: {reason}"
        hints.append(_HINTS.get(judged.judgement.verdict, "see -v"))
        return Note(code="other-tests", text=text, hint=hints[0])
    first = next((note for note in notes if note.code not in WARNINGS), _NOTHING)
    return replace(first, hint="".join(hints[:1]))


def how_sure(judged: JudgedTest) -> str:
    """Return how likely a test is right, as in "85% sure"; no number where none was measured."""
    judgement = judged.judgement
    if judged.review is Review.ACCEPTED:
        return "accepted by you"
    if judgement.measured:
        return f"{judgement.confidence:.0%} sure"
    if judgement.confidence == 1:
        return "taken as right"
    return "how often such tests are right is not known"


def reviewed(tests: Iterable[JudgedTest]) -> str:
    """Return what a person said about tests, as in "you accepted 2 and rejected 1", or ""."""
    said = sorted(Counter(test.review for test in tests).items())
    parts = [f"{review} {many}" for review, many in said if review is not Review.OPEN]
    return f"you {listed(parts)}" if parts else ""


# -- rankings ---------------------------------------------------------------------------------


def answer_ranking(record: RunRecord) -> Answer:
    """Return what a ranking says about its patches, as in "Best: a.diff: passes …".

    What else belongs to it are calls on which patches differ, existing tests that assert the bug,
    and whose tests came with patches.
    """
    answer = _placed(record.ranks)
    if missing := len(record.not_run):
        text = f"No answer yet: {missing} of {len(record.ranks) + missing} patches did not run."
        answer = Answer(status=Status.UNFINISHED, text=text)
    return replace(answer, text=" ".join([answer.text, *_more(record)]))


def _more(record: RunRecord) -> Iterator[str]:
    """Yield what else there is to say of a ranking, a sentence each."""
    for telling in record.tellings:
        yield f"They differ: {call_words(telling)}."
    guards = [rank.result.guarded for rank in record.ranks if rank.result.guarded]
    for bug in {bug.test: bug for guarded in guards for bug in guarded.disputed}.values():
        yield (
            f"{bug.test} asserts the bug: it contradicts {bug.bug_test} about `{bug.call}`, and "
            "counts against no patch."
        )
    came = [
        f"{judged.test.name} came with {listed(judged.test.origin.patches)}"
        for judged in record.brought
        if judged.judgement.candidate
    ]
    if came:
        yield f"{'; '.join(came[:_NAMED])}{'; …' if len(came) > _NAMED else ''}."


def _placed(ranks: Sequence[Rank]) -> Answer:
    """Return which patch is first, or which are, and how sure that is."""
    tried = [rank for rank in ranks if rank.epr is not None or rank.score is not None]
    if not any(rank.passed for rank in ranks):
        return _none(ranks, tried)
    if level := tied(tried):
        return _tie(level)
    leader = tried[0]
    name, does, doubt = leader.name, _does(leader), leader.doubt
    status, text = Status.BEST, f"Best: {name}: {does}."
    if len(tried) == 1 + len(leader.copies):
        status, text, doubt = Status.ONLY, f"Only {name} could be tried: it {does}.", None
    elif doubt:
        status, text = Status.UNSURE, f"Possibly {name}: {does}, but {doubt.text}."
    return Answer(status=status, text=text, best=(name,), reason=doubt)


def _tie(level: Sequence[Rank]) -> Answer:
    """Return that several patches share the first place."""
    code, like = "odds", "are too close to call"
    if level[0].standing is Standing.TIED:
        code, like = "tests", "pass the same tests"
    names, does = tuple(rank.name for rank in level), list(map(_does, level))
    each = "each" if len({*does}) == 1 else names[0]
    text = f"No patch stands out: {listed(names)} {like}: {each} {does[0]}."
    return Answer(
        status=Status.TIE, text=text, best=names, reason=Note(code=code, text=like)
    )


def _none(ranks: Sequence[Rank], tried: Sequence[Rank]) -> Answer:
    """Return that no patch is known to fix the bug, and why."""
    code, begin = "no-test-ran", "No patch stands out:"
    if any(rank.result.passes_own for rank in ranks):
        code = "own-tests"
    elif any(rank.epr is not None for rank in tried):
        code = "none-passes"
    elif not tried and any(rank.place for rank in ranks):
        code, begin = "no-bug-test", "No bug test, so"
    elif all(rank.result.refused for rank in ranks):
        code = "no-patch-applies"
    reason = Note(code=code, text=_NONE[code])
    return Answer(status=Status.NONE, text=f"{begin} {reason.text}.", reason=reason)


def _does(rank: Rank) -> str:
    """Return what a patch does, as in "passes 4 of 4 bug tests and breaks 1 of 9 …"."""
    guarded = rank.result.guarded
    tests = f"passes {rank.passed} of {count(rank.total, 'bug test')}"
    if guarded is None or not guarded.ran:
        return f"{tests} (no existing test ran)"
    broken = len(guarded.regressions)
    if guarded.reached == 0 and not broken:
        return f"{tests}, and no existing test is known to run the changed lines"
    return f"{tests} and breaks {broken or 'none'} of {count(guarded.ran, 'existing test')}"


def notes_of(record: RunRecord) -> Iterator[str]:
    """Yield how the existing tests were chosen, and what expressions of bug tests give."""
    guards = [rank.result.guarded for rank in record.ranks if rank.result.guarded]
    for guard in guards[:1]:
        why = "".join(f" ({note.text})" for note in guard.shortfalls)
        yield f"{guard.ran} of {guard.total} existing tests ran on each patch{why}"
    for value in record.values:
        yield call_words(replace(value, setup=()))
