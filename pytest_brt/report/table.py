"""The ranking as lines of text: a table, what existing tests said, and the verdict."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from pytest_brt.types import Difference, Guarded, NotRun, Rank, Standing, Verdict

#: Regressions named per patch; the reports name all.
NAMED = 3


@dataclass(frozen=True, slots=True, kw_only=True)
class Line:
    """A line of the summary."""

    text: str
    #: It is about a patch that leads and passes something.
    good: bool = False


def table(ranks: Sequence[Rank], *, cut: int | None = 100) -> Iterator[Line]:
    """Yield the table of one issue's patches, best first.

    Args:
        ranks: in the order of the ranking.
        cut: longest note; None for all of it.
    """
    weighted = any(rank.score is not None for rank in ranks)
    guarded = any(rank.result.guarded is not None for rank in ranks)
    width = max(5, *(len(rank.result.patch.name) for rank in ranks))
    heads = ["rank".ljust(7), "patch".ljust(width), " EPR"]
    heads += ["score (80 %)      "] if weighted else []
    heads += ["passed"]
    heads += ["regress"] if guarded else []
    heads += ["group"] if weighted else []
    yield Line(text="  ".join([*heads, "note"]))
    for rank in ranks:
        cells = [place(rank, ranks).ljust(7), rank.result.patch.name.ljust(width)]
        cells += ["   -" if rank.epr is None else f"{rank.epr:4.2f}"]
        cells += [_score(rank).ljust(18)] if weighted else []
        cells += [(f"{rank.passed}/{rank.total}" if rank.total else "-").ljust(6)]
        cells += [_regressions(rank.result.guarded).ljust(7)] if guarded else []
        cells += [str(rank.group or "-").ljust(5)] if weighted else []
        good = _best_place(rank, ranks) == 1 and rank.passed > 0
        text = "  ".join([*cells, shortened(note(rank), cut)])
        yield Line(text=text.rstrip(), good=good)


def unfinished(missing: NotRun | None) -> Iterator[str]:
    """Yield how many patches a ranking lacks, where it lacks some."""
    if missing is not None:
        count = len(missing.patches)
        yield f"{count} of {missing.of} patches {'was' if count == 1 else 'were'} not run"


def place(rank: Rank, ranks: Sequence[Rank]) -> str:
    """Return the place among `ranks`, or those it could be in brackets, as in [2-4].

    Tied patches share their places, and so do the leading patch and those too close to it to call.
    """
    if rank.place is None:
        return "-"
    sharing = _sharing(rank, ranks)
    first, last = min(place for place, _ in sharing), max(last for _, last in sharing)
    return str(first) if first == last else f"[{first}-{last}]"


def _best_place(rank: Rank, ranks: Sequence[Rank]) -> int | None:
    return None if rank.place is None else min(place for place, _ in _sharing(rank, ranks))


def _sharing(rank: Rank, ranks: Sequence[Rank]) -> list[tuple[int, int]]:
    """Return the first and last places of the patches that a placed patch may change with."""
    leading = [other for other in ranks if other.standing in (Standing.TIED, Standing.CLOSE)]
    close = any(other.standing is Standing.CLOSE for other in leading)
    among = leading if close and any(rank is other for other in leading) else [rank]
    return [
        (other.place, other.place + len(other.placed_with))
        for other in among
        if other.place is not None
    ]


def note(rank: Rank) -> str:
    """Return what is to be said about a patch besides figures."""
    result = rank.result
    if not result.applies:
        return result.reason
    parts = [str(rank.standing)] if rank.standing else []
    if rank.epr is None and not parts:
        parts.append("no evidence")
    why = {cell.reason for cell in result.cells if cell.verdict is Verdict.INVALID}
    if rank.epr is None and len(why) == 1:
        parts += why
    if rank.copies:
        parts.append(f"same as {', '.join(rank.copies)}")
    if rank.exposure is not None:
        parts.append(f"shows the bug again for {rank.exposure.varied.change}")
    return "; ".join([*parts, *result.notes])


def regressions(ranks: Sequence[Rank]) -> Iterator[str]:
    """Yield what the existing tests said: how many ran, what broke, what pins the bug."""
    guards = [rank.result.guarded for rank in ranks if rank.result.guarded is not None]
    if not guards:
        return
    count = _span([guard.ran for guard in guards])
    cuts = {guard.cut: None for guard in guards if guard.cut}
    ending = f"; {next(iter(cuts))}" if cuts else ""
    reached = [guard.reached for guard in guards if guard.reached is not None]
    lines = f", and {_span(reached)} of them execute its lines" if reached else ""
    yield (
        f"guard: {count} of {guards[0].total} existing tests ran on each patch{lines}; "
        f"chosen by {guards[0].by}{ending}"
    )
    for rank in ranks:
        guarded = rank.result.guarded
        broken = guarded.regressions if guarded else ()
        for regression in broken[:NAMED]:
            yield (
                f"regression of {rank.result.patch.name}: {regression.test} "
                f"({shortened(regression.reason, 80)})"
            )
        if len(broken) > NAMED:
            yield f"regression of {rank.result.patch.name}: and {len(broken) - NAMED} more"
    for test in dict.fromkeys(test for guard in guards for test in guard.pinned):
        yield f"asserts the reported behaviour, and must change with the fix: {test}"


def _span(counts: Sequence[int]) -> str:
    fewest, most = min(counts), max(counts)
    return str(most) if fewest == most else f"{fewest} to {most}"


def reasons(ranks: Sequence[Rank]) -> Iterator[str]:
    """Yield what moved each score."""
    for rank in ranks:
        if rank.because:
            yield f"{rank.result.patch.name}: {'; '.join(rank.because)}"


def untried(ranks: Sequence[Rank]) -> Iterator[str]:
    """Yield how many changed inputs there was no time for."""
    cuts: dict[str, list[str]] = {}
    tried = [rank.result for rank in ranks if rank.result.varied or rank.result.vary_cut]
    for result in tried:
        cuts.setdefault(result.vary_cut, []).append(result.patch.name)
    for cut, names in cuts.items():
        if cut:
            yield cut if len(names) == len(tried) else f"{', '.join(names)}: {cut}"


def exposures(ranks: Sequence[Rank]) -> Iterator[str]:
    """Yield inputs near the reported ones on which patches show the bug again."""
    for rank in ranks:
        exposure = rank.exposure
        if exposure is None:
            continue
        yield (
            f"{rank.result.patch.name} shows the bug again for {exposure.varied.change} "
            f"({exposure.failed} of {exposure.tried} inputs near the report):"
        )
        yield f"    without it: {shortened(exposure.varied.before, 120)}"
        yield f"    with it:    {shortened(exposure.varied.after, 120)}"
        if exposure.others:
            yield f"    {shortened(exposure.others, 130)}"


def question(difference: Difference | None, names: Mapping[str, str]) -> Iterator[str]:
    """Yield an input on which the leading patches differ, and the question that decides.

    Args:
        difference: What they differ in, None when nothing was found.
        names: Names of the tests by their ids.
    """
    if difference is None:
        return
    test = names.get(difference.test, difference.test)
    yield f"the leading patches differ with {difference.change} in {test}:"
    for answer, patches in difference.answers:
        as_before = " (as without it)" if answer == difference.before else ""
        yield f"    {', '.join(patches)}: {shortened(answer, 120)}{as_before}"
    yield f"    {difference.question}"


def with_harm(rank: Rank) -> str:
    """Return a patch's name, and how many existing tests it breaks if it does."""
    guarded = rank.result.guarded
    if guarded is None or not guarded.regressions:
        return rank.result.patch.name
    broken = len(guarded.regressions)
    return f"{rank.result.patch.name} (breaks {broken} existing test{'s' * (broken > 1)})"


def shortened(text: str, cut: int | None) -> str:
    """Return `text` on one line of at most `cut` characters."""
    line = " ".join(text.split())
    return line if cut is None or len(line) <= cut else f"{line[: cut - 1]}…"


def _score(rank: Rank) -> str:
    if rank.score is None or rank.interval is None:
        return "-"
    low, high = rank.interval
    return f"{rank.score:4.2f} [{low:4.2f}-{high:4.2f}]"


def _regressions(guarded: Guarded | None) -> str:
    return "-" if guarded is None else f"{len(guarded.regressions)}/{guarded.ran}"
