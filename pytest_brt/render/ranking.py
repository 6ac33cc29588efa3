"""What a ranking comes to, and what each patch does, in words."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from pytest_brt.render.words import call_words, count, listed
from pytest_brt.types import (
    Answer,
    ChosenBy,
    FoundFix,
    Guarded,
    JudgedTest,
    Note,
    NotRun,
    Rank,
    Standing,
    Status,
    Telling,
    tied,
)

#: By what existing tests were chosen.
_CHOSEN = {
    ChosenBy.ALL: "the whole suite",
    ChosenBy.COVERAGE: "chosen by coverage",
    ChosenBy.NAMES: "chosen by the names they use",
}
#: Why no patch is known to fix the bug.
_NO_BUG_TEST = Note(
    code="no-bug-test",
    text="no patch is known to be right: they are ordered by how many existing tests they break",
    hint="a test of yours would tell (--brt-tests FILE), or a call in the report and its result",
)
_NO_PATCH = Note(code="no-patch-applies", text="no patch could be applied")
_NO_TEST_RAN = Note(code="no-test-ran", text="no bug test could be run on any patch")
_NONE_PASSES = Note(code="none-passes", text="none passes a bug test")
_OWN_TESTS = Note(code="own-tests", text="none passes a bug test but its own")
#: Codes of remarks for which a patch is to be read, whatever its rank.
_TO_READ = {
    "names-test-tools": "names what tests are run by",
    "singles-out-input": "may handle only the reported input",
}
#: Tests that patches bring, and existing tests that a fix breaks, that are named.
_BROUGHT, _BROKEN = 3, 4


def answer_ranking(
    ranks: Sequence[Rank],
    not_run: NotRun | None = None,
    tellings: Sequence[Telling] = (),
    brought: Sequence[JudgedTest] = (),
    tried: int = 0,
) -> Answer:
    """Return what a ranking, best first, says about its patches, as in "Best: a.diff: passes …".

    Without the patches that it lacks, `not_run`, there is no answer. What else belongs to it are
    calls on which patches differ, or how many were `tried`, and whose the tests are.
    """
    status, headline, goes_on, best, reason = _answered(ranks, not_run)
    more = [f" They differ: {telling_words(telling)}." for telling in tellings]
    if status is Status.TIE and tried and not tellings:
        more.append(f" No difference was found in {count(tried, 'call')}.")
    bugs = {bug.test: bug for one in ranks if (g := one.result.guarded) for bug in g.disputed}
    more += [
        f" {bug.test} asserts the bug: it contradicts {bug.bug_test} about `{bug.call}`, and "
        "counts against no patch."
        for bug in bugs.values()
    ]
    named = [f"{t.test.name} came with {listed(t.test.origin.patches)}" for t in brought]
    if named:
        more.append(f" {'; '.join(named[:_BROUGHT])}{'; …' * (len(named) > _BROUGHT)}.")
    return Answer(
        status=status,
        headline=headline,
        text=f"{headline}{goes_on}.{''.join(more)}",
        best=tuple(rank.name for rank in best),
        reason=reason,
    )


def _answered(
    ranks: Sequence[Rank], not_run: NotRun | None
) -> tuple[Status, str, str, Sequence[Rank], Note | None]:
    """Return the status, how the sentence begins and goes on, the first patches, and the reason."""
    if not_run is not None:
        were = "was" if len(not_run.patches) == 1 else "were"
        said = f": {len(not_run.patches)} of {not_run.of} patches {were} not run"
        return Status.UNFINISHED, "No answer yet", said, (), None
    tried = [rank for rank in ranks if rank.epr is not None or rank.score is not None]
    if not any(rank.passed for rank in tried):
        reason = _lack(ranks, tried)
        if reason is _NO_BUG_TEST:
            return Status.NONE, "No bug test", f", so {reason.text}; {reason.hint}", (), reason
        return Status.NONE, "No patch stands out", f": {reason.text}", (), reason
    leader = tried[0]
    level = tied(tried)
    alike = f" ({listed(leader.copies)}: the same patch)" if leader.copies else ""
    aside = f"{_warning(leader)}{alike}"
    if len(tried) == 1 + len(leader.copies):
        said = f"{aside} could be tried: it {does(leader)}"
        return Status.ONLY, f"Only {leader.name}", said, tried[:1], None
    if level:
        same = leader.standing is Standing.TIED
        like = "pass the same tests" if same else "are too close to call"
        reason = Note(code="tests" if same else "odds", text=like)
        names = listed([f"{rank.name}{_warning(rank)}" for rank in level])
        each = dict.fromkeys(map(does, level))
        did = f"each {does(leader)}" if len(each) == 1 else f"{leader.name} {does(leader)}"
        return Status.TIE, "No patch stands out", f": {names} {like}: {did}", level, reason
    if leader.doubt is not None:
        said = f"{aside}: {does(leader)}, but {leader.doubt.text}"
        return Status.UNSURE, f"Possibly {leader.name}", said, tried[:1], leader.doubt
    return Status.BEST, f"Best: {leader.name}", f"{aside}: {does(leader)}", tried[:1], None


def _lack(ranks: Sequence[Rank], tried: Sequence[Rank]) -> Note:
    if any(rank.result.passes_own for rank in ranks):
        return _OWN_TESTS
    if any(rank.epr is not None for rank in tried):
        return _NONE_PASSES
    if not tried and any(rank.place for rank in ranks):
        return _NO_BUG_TEST
    return _NO_PATCH if all(rank.result.refused for rank in ranks) else _NO_TEST_RAN


def _warning(rank: Rank) -> str:
    """Return that a patch is to be read, where its code gives reason for it."""
    words = (_TO_READ[note.code] for note in rank.result.remarks if note.code in _TO_READ)
    warning = next(words, "")
    return f" ({warning}: read it)" if warning else ""


# -- what one patch does -----------------------------------------------------------------------


def does(rank: Rank) -> str:
    """Return what a patch does: "passes 4 of 4 bug tests and breaks 1 of 9 existing tests"."""
    return _passes(rank.passed, rank.total, rank.result.guarded)


def fix_words(fix: FoundFix) -> str:
    """Return what a fix does to all tests that were run on it, with the names of those it breaks.

    As in "passes 4 of 4 bug tests and breaks 1 of 9 existing tests: tests/test_a.py::test_b".
    """
    broken = [item.test for item in fix.guarded.regressions] if fix.guarded else []
    names = f": {', '.join(broken[:_BROKEN])}{', …' * (len(broken) > _BROKEN)}" if broken else ""
    return _passes(len(fix.passed), fix.total, fix.guarded) + names


def _passes(passed: int, total: int, guarded: Guarded | None) -> str:
    tests = (
        f"passes {passed} of {count(total, 'bug test')}" if total else "was tried by no bug test"
    )
    if guarded is None or not guarded.ran:
        return f"{tests} (no existing test ran)"
    broken = len(guarded.regressions)
    if guarded.reached == 0 and not broken:
        return f"{tests}, and no existing test is known to run the changed lines"
    return f"{tests} and breaks {broken or 'none'} of {count(guarded.ran, 'existing test')}"


# -- what is said of all of them ---------------------------------------------------------------


def notes_of(ranks: Sequence[Rank]) -> Iterator[str]:
    """Yield how the existing tests were chosen, and what expressions of bug tests give."""
    guards = [rank.result.guarded for rank in ranks if rank.result.guarded is not None]
    if guards:
        short = next((guard.shortfalls for guard in guards if guard.shortfalls), ())
        about = "; ".join((_CHOSEN[guards[0].by], *(note.text for note in short)))
        ran = max(guard.ran for guard in guards)
        yield f"{ran} of {guards[0].total} existing tests ran on each patch ({about})"
    values = [(value, rank.name) for rank in ranks for value in rank.result.values]
    for first in {value.test: value for value, _ in reversed(values)}.values():
        gives = {(first.before, first.raised_before): ["no patch"]}
        for value, name in values:
            if value.test == first.test:
                gives.setdefault((value.text, value.raised), []).append(name)
        yield call_words((), first.expression, gives)


def telling_words(telling: Telling) -> str:
    """Return what a call gives, as in "`f(1)` gives `2` (a.diff), raises KeyError (b.diff)"."""
    gives = {(given.text, given.raised): given.patches for given in telling.gives}
    return call_words(telling.setup, telling.expression, gives)
