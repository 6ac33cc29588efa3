"""What a ranking comes to, and what each patch does, in words."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import assert_never

from pytest_brt.render.causes import shortfall_words
from pytest_brt.render.remarks import warning_words
from pytest_brt.render.values import telling_sentence
from pytest_brt.render.words import count, listed
from pytest_brt.types import (
    ChosenBy,
    Doubt,
    Guarded,
    JudgedTest,
    Lack,
    Leader,
    Level,
    NoLeader,
    NoneFixes,
    OnlyOne,
    PatchResult,
    Rank,
    RankingAnswer,
    Telling,
    Unfinished,
    Verdict,
)

#: By what existing tests were chosen.
_CHOSEN = {
    ChosenBy.ALL: "the whole suite",
    ChosenBy.COVERAGE: "chosen by coverage",
    ChosenBy.NAMES: "chosen by the names they use",
}


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
        parts.append(breaks(result.guarded))
    return " and ".join(parts)


def ranking_words(answer: RankingAnswer, ranks: Sequence[Rank]) -> tuple[str, str]:
    """Return how the answer of a ranking begins, and how it goes on, in one or two sentences.

    As in "Best: a.diff", ": passes 2 of 2 bug tests."; `ranks` say what each patch does.
    """
    by_name = {rank.name: rank for rank in ranks}
    match answer:
        case Leader(patch=name, doubt=Doubt() as doubt):
            did = does(by_name[name])
            return f"Possibly {name}", f"{_aside(by_name[name])}: {did}, but {doubt_clause(doubt)}."
        case Leader(patch=name):
            return f"Best: {name}", f"{_aside(by_name[name])}: {does(by_name[name])}."
        case OnlyOne(patch=name):
            did = does(by_name[name])
            return f"Only {name}", f"{_aside(by_name[name])} could be tried: it {did}."
        case NoLeader(patches=names, level=level):
            return _NONE, f": {_level(level, [by_name[name] for name in names])}."
        case NoneFixes(lack=Lack.NO_BUG_TEST):
            return "No bug test", _ORDERED
        case NoneFixes(lack=Lack.NO_TEST_RAN) if all(rank.result.refused for rank in ranks):
            return _NONE, ": no patch could be applied."
        case NoneFixes(lack=lack):
            return _NONE, f": {_LACKS[lack]}"
        case Unfinished(missing=missing, of=total):
            were = "was" if missing == 1 else "were"
            return "No answer yet", f": {missing} of {total} patches {were} not run."
        case _:
            assert_never(answer)


_NONE = "No patch stands out"
_ORDERED = (
    ", so no patch is known to be right: they are ordered by how many existing tests they break."
)
_LACKS = {
    Lack.NO_TEST_RAN: "no bug test could be run on any patch.",
    Lack.NONE_PASSES: "none passes a bug test.",
    Lack.OWN_TESTS: "none passes a bug test but its own.",
}
#: Tests that patches bring and that are named.
_NAMED = 3


def more_words(tellings: Sequence[Telling], brought: Sequence[JudgedTest]) -> str:
    """Return what else belongs to an answer: calls on which patches differ, and whose tests are."""
    said = [f"{t.test.name} came with {listed(t.test.origin.patches)}" for t in brought]
    more = [f"They differ: {telling_sentence(telling)}." for telling in tellings]
    if said:
        more.append(f"{'; '.join(said[:_NAMED])}{'; …' * (len(said) > _NAMED)}.")
    return "".join(f" {sentence}" for sentence in more)


def doubt_clause(doubt: Doubt) -> str:
    """Return why a leading patch does not lead clearly, as in "it breaks existing tests"."""
    match doubt:
        case Doubt.NO_SURE_TEST:
            return "it passes no sure bug test"
        case Doubt.BREAKS_TESTS:
            return "it breaks existing tests"
        case Doubt.NO_EXISTING_TESTS:
            return "no existing test ran on it"
        case _:
            assert_never(doubt)


def _aside(rank: Rank) -> str:
    """Return what stands behind a patch's name: a word of warning, and its copies."""
    alike = f" ({listed(rank.copies)}: the same patch)" if rank.copies else ""
    return f"{_warning(rank)}{alike}"


def _called(rank: Rank) -> str:
    return f"{rank.name}{_warning(rank)}"


def _warning(rank: Rank) -> str:
    """Return that a patch is to be read, where its code gives reason for it."""
    warning = next(filter(None, map(warning_words, rank.result.remarks)), "")
    return f" ({warning}: read it)" if warning else ""


def _level(level: Level, ranks: Sequence[Rank]) -> str:
    like = "pass the same tests" if level is Level.TESTS else "are too close to call"
    return f"{listed([_called(rank) for rank in ranks])} {like}: {_what_each_does(ranks)}"


def _what_each_does(level: Sequence[Rank]) -> str:
    """Return what patches do: once where it is the same."""
    if len({does(rank) for rank in level}) == 1:
        return f"each {does(level[0])}"
    return "; ".join(f"{_called(rank)} {does(rank)}" for rank in level[:3])


def does(rank: Rank) -> str:
    """Return what a patch does: "passes 4 of 4 bug tests and breaks 1 of 9 existing tests"."""
    if not rank.total:
        return f"was tried by no bug test{beside(rank.result.guarded)}"
    return what_it_does(rank.passed, rank.total, rank.result.guarded)


def what_it_does(passed: int, total: int, guarded: Guarded | None) -> str:
    """Return `does` of a patch that need not be ranked: bug tests it passes, and existing tests."""
    return f"passes {passed} of {count(total, 'bug test')}{beside(guarded)}"


def beside(guarded: Guarded | None) -> str:
    """Return how it goes on with a patch: " and breaks none of 43 existing tests"."""
    if guarded is None:
        return " (no existing test ran)"
    if not guarded.total:
        return " (the project has no existing tests)"
    if not is_unreached(guarded):
        return f" and {breaks(guarded)}"
    known = "was found that " if guarded.shortfalls else ""
    return f", and no existing test {known}runs the changed lines"


def is_unreached(guarded: Guarded) -> bool:
    """Say whether existing tests ran, and none of them runs what the patch changes."""
    return guarded.ran > 0 and guarded.reached == 0 and not guarded.regressions


def breaks(guarded: Guarded) -> str:
    """Return what a patch does to the existing tests, as in "breaks none of 43 existing tests"."""
    broken, ran = len(guarded.regressions), guarded.ran
    if ran > 1:
        return f"breaks {broken or 'none'} of {ran} existing tests"
    if ran:
        return f"breaks {'the only' if broken else 'no'} existing test (1 ran)"
    why = ", ".join(map(shortfall_words, guarded.shortfalls))
    return f"breaks no existing test (none ran{': ' if why else ''}{why})"


def existing(ranks: Sequence[Rank]) -> Iterator[str]:
    """Yield a line about how the existing tests were chosen; none where none ran."""
    guards = [rank.result.guarded for rank in ranks if rank.result.guarded is not None]
    if not guards:
        return
    reached = [guard.reached for guard in guards if guard.reached is not None]
    run = "runs" if reached and max(reached) == 1 else "run"
    lines = f"; {_span(reached)} of them {run} the changed lines" if reached else ""
    by = _CHOSEN[guards[0].by]
    short = next((guard.shortfalls for guard in guards if guard.shortfalls), ())
    cut = f"; {', '.join(map(shortfall_words, short))}" if short else ""
    yield (
        f"{_span([guard.ran for guard in guards])} of {guards[0].total} existing tests ran on each "
        f"patch ({by}{lines}{cut})"
    )


def _span(counts: Sequence[int]) -> str:
    fewest, most = min(counts), max(counts)
    return str(most) if fewest == most else f"{fewest} to {most}"
