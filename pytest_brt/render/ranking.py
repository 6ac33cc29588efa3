"""What a ranking comes to, and what each patch does, in words."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from pytest_brt.render.words import call_of, count, listed, value_of
from pytest_brt.types import (
    Answer,
    ChosenBy,
    FoundFix,
    Given,
    Guarded,
    JudgedTest,
    Note,
    NotRun,
    PatchResult,
    Rank,
    Standing,
    Status,
    Telling,
    Value,
    Verdict,
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
    level = best if status is Status.TIE else ()
    differing = [*tellings] or [*_differing(level)][:1]
    more = [f" They differ: {telling_sentence(telling)}." for telling in differing]
    if level and tried and not differing:
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
    aside, did = _aside(leader), does(leader)
    if len(tried) == 1 + len(leader.copies):
        said = f"{aside} could be tried: it {did}"
        return Status.ONLY, f"Only {leader.name}", said, tried[:1], None
    if level:
        same = leader.standing is Standing.TIED
        like = "pass the same tests" if same else "are too close to call"
        reason = Note(code="tests" if same else "odds", text=like)
        said = f": {listed(list(map(_called, level)))} {like}: {_what_each_does(level)}"
        return Status.TIE, "No patch stands out", said, level, reason
    if leader.doubt is not None:
        said = f"{aside}: {did}, but {leader.doubt.text}"
        return Status.UNSURE, f"Possibly {leader.name}", said, tried[:1], leader.doubt
    return Status.BEST, f"Best: {leader.name}", f"{aside}: {did}", tried[:1], None


def _differing(level: Sequence[Rank]) -> Iterator[Telling]:
    """Yield the calls of bug tests that give different values on patches that are level."""
    values = [(value, rank.name) for rank in level for value in rank.result.values]
    for first in {value.test: value for value, _ in values}.values():
        gives: dict[tuple[str, str], list[str]] = {}
        for value, name in values:
            if value.test == first.test:
                gives.setdefault((value.text, value.raised), []).append(name)
        if len(gives) > 1:
            yield Telling(
                issue="",
                test=first.test,
                setup=(),
                expression=first.expression,
                gives=tuple(
                    Given(patches=tuple(names), text=text, raised=raised)
                    for (text, raised), names in gives.items()
                ),
            )


def _lack(ranks: Sequence[Rank], tried: Sequence[Rank]) -> Note:
    if any(rank.result.passes_own for rank in ranks):
        return _OWN_TESTS
    if any(rank.epr is not None for rank in tried):
        return _NONE_PASSES
    if not tried and any(rank.place for rank in ranks):
        return _NO_BUG_TEST
    return _NO_PATCH if all(rank.result.refused for rank in ranks) else _NO_TEST_RAN


def _aside(rank: Rank) -> str:
    """Return what stands behind a patch's name: a word of warning, and its copies."""
    alike = f" ({listed(rank.copies)}: the same patch)" if rank.copies else ""
    return f"{_warning(rank)}{alike}"


def _called(rank: Rank) -> str:
    return f"{rank.name}{_warning(rank)}"


def _warning(rank: Rank) -> str:
    """Return that a patch is to be read, where its code gives reason for it."""
    words = (_TO_READ[note.code] for note in rank.result.remarks if note.code in _TO_READ)
    warning = next(words, "")
    return f" ({warning}: read it)" if warning else ""


def _what_each_does(level: Sequence[Rank]) -> str:
    """Return what patches do: once where it is the same."""
    if len({does(rank) for rank in level}) == 1:
        return f"each {does(level[0])}"
    return "; ".join(f"{_called(rank)} {does(rank)}" for rank in level[:3])


# -- what one patch does -----------------------------------------------------------------------


def does(rank: Rank) -> str:
    """Return what a patch does: "passes 4 of 4 bug tests and breaks 1 of 9 existing tests"."""
    return _passes(rank.passed, rank.total, rank.result.guarded)


def _passes(passed: int, total: int, guarded: Guarded | None) -> str:
    tests = f"passes {passed} of {count(total, 'bug test')}"
    return (tests if total else "was tried by no bug test") + _beside(guarded)


def fix_words(fix: FoundFix) -> str:
    """Return what a fix does to all tests that were run on it, with the names of those it breaks.

    As in "passes 4 of 4 bug tests and breaks 1 of 9 existing tests: tests/test_a.py::test_b".
    """
    broken = [item.test for item in fix.guarded.regressions] if fix.guarded else []
    more = f" and {len(broken) - _BROKEN} more" if len(broken) > _BROKEN else ""
    names = f": {', '.join(broken[:_BROKEN])}{more}" if broken else ""
    return _passes(len(fix.passed), fix.total, fix.guarded) + names


def shortcoming(result: PatchResult, trusted: Mapping[str, bool]) -> str:
    """Return why a patch does not fix the bug, "" when everything that ran says that it does.

    `trusted` has the ids of the failing tests, and whether each surely is a bug test. Where some
    are sure, only those count.
    """
    if result.refused is not None:
        return result.refused.text
    sure = {test for test, is_sure in trusted.items() if is_sure} or set(trusted)
    cells = [c for c in result.cells if c.test in sure and c.verdict is not Verdict.INVALID]
    failing = sum(cell.verdict is not Verdict.PASS for cell in cells)
    parts = [f"fails {failing} of {count(len(cells), 'bug test')}"] if failing else []
    if result.guarded is not None and result.regressions:
        parts.append(_breaks(result.guarded))
    return " and ".join(parts)


def _beside(guarded: Guarded | None) -> str:
    """Return how it goes on with a patch: " and breaks none of 43 existing tests"."""
    if guarded is None:
        return " (no existing test ran)"
    if not guarded.total:
        return " (the project has no existing tests)"
    if not guarded.ran or guarded.reached != 0 or guarded.regressions:
        return f" and {_breaks(guarded)}"
    known = "was found that " if guarded.shortfalls else ""
    return f", and no existing test {known}runs the changed lines"


def _breaks(guarded: Guarded) -> str:
    """Return what a patch does to the existing tests, as in "breaks none of 43 existing tests"."""
    broken, ran = len(guarded.regressions), guarded.ran
    if ran > 1:
        return f"breaks {broken or 'none'} of {ran} existing tests"
    if ran:
        return f"breaks {'the only' if broken else 'no'} existing test (1 ran)"
    why = ", ".join(note.text for note in guarded.shortfalls)
    return f"breaks no existing test (none ran{': ' if why else ''}{why})"


# -- what is said of all of them ---------------------------------------------------------------


def notes_of(ranks: Sequence[Rank]) -> Iterator[str]:
    """Yield how the existing tests were chosen, and what expressions of bug tests give."""
    guards = [rank.result.guarded for rank in ranks if rank.result.guarded is not None]
    if guards:
        reached = [guard.reached for guard in guards if guard.reached is not None]
        lines = f"; {_span(reached)} of them run the changed lines" if reached else ""
        short = next((guard.shortfalls for guard in guards if guard.shortfalls), ())
        about = "; ".join((_CHOSEN[guards[0].by] + lines, *(note.text for note in short)))
        ran = _span([guard.ran for guard in guards])
        yield f"{ran} of {guards[0].total} existing tests ran on each patch ({about})"
    by_test: dict[str, dict[str, list[str]]] = {}
    first: dict[str, Value] = {}
    for rank in ranks:
        for value in rank.result.values:
            first.setdefault(value.test, value)
            gives = value_of(value.text, value.raised)
            by_test.setdefault(value.test, {}).setdefault(gives, []).append(rank.name)
    for test, groups in by_test.items():
        before = value_of(first[test].before, first[test].raised_before)
        same = groups.pop(before, [])
        parts = [f"{listed(names)} {gives}" for gives, names in groups.items()]
        parts += [f"{len(same)} unchanged"] if same else []
        shown = value_of(first[test].expression)
        yield f"{shown}: {'; '.join([f'before {before}', *parts])}"


def _span(counts: Sequence[int]) -> str:
    fewest, most = min(counts), max(counts)
    return str(most) if fewest == most else f"{fewest} to {most}"


def telling_sentence(telling: Telling) -> str:
    """Return what a call gives, as in "for `f(1)` a.diff gives `2`, b.diff raises KeyError"."""
    parts = []
    for given in telling.gives:
        verb = "raise" if given.raised else "give"
        ending = "" if len(given.patches) > 1 else "s"
        gives = given.raised or value_of(given.text)
        parts.append(f"{listed(given.patches)} {verb}{ending} {gives}")
    return f"for `{call_of(telling.setup, telling.expression)}` {', '.join(parts)}"


def given_sentence(telling: Telling, given: Given) -> str:
    """Return what a call gives on some patches, as in "f(1) gives 2 (a.diff)"."""
    gives = f"raises {given.raised}" if given.raised else f"gives {given.text}"
    return f"{call_of(telling.setup, telling.expression)} {gives} ({listed(given.patches)})"
