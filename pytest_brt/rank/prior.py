"""What is known of a patch besides the candidate tests: its text, its company, the guard.

Each piece moves the log-odds that the patch is right, by an amount chosen in general terms
(docs/ranking.md) and small enough that a test which is believed outweighs it.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

from pytest_brt.rank.groups import copies_of
from pytest_brt.rank.reliability import logit
from pytest_brt.types import Exposure, PatchResult

#: Share of right ones among candidate patches of published repair systems, roughly.
RIGHT = 0.3
#: For a patch that is there n times (equal after normalisation): this times ln n.
COPIES = 0.5
#: For changing a definition that all the others change too; the share of others scales it.
COMPANY = 1.0
#: For doing with changed inputs what the other patches that pass the same candidates do; the
#: share of them that agree, over all changed inputs, scales it (dual agreement, as in CodeT).
AGREEMENT = 1.0
#: For making existing tests fail that are not known to pin the bug; each doubling adds a part.
REGRESSION = -1.6
FURTHER_REGRESSIONS = -0.3
#: For the share of existing tests near the patch that ran and still pass, when there are many.
QUIET = 0.3
#: For showing the bug again on an input next to the reported one.
EXPOSED = -2.2
#: For each doubling of the number of changed lines: only to order what is equal otherwise.
LENGTH = -0.04


@dataclass(frozen=True, slots=True, kw_only=True)
class Prior:
    """The log-odds of a patch before the candidate tests, and what made them."""

    odds: float
    #: (log-odds moved, a few words), in no order.
    reasons: tuple[tuple[float, str], ...]


def priors_of(
    results: Sequence[PatchResult], exposures: Sequence[Exposure | None]
) -> tuple[Prior, ...]:
    """Return the prior of each patch among these, with what inputs near the report exposed."""
    copies = copies_of(results)
    return tuple(
        _prior(
            result, len(same), (_company(result, results), _agreement(result, results)), exposure
        )
        for result, same, exposure in zip(results, copies, exposures, strict=True)
    )


def _prior(
    result: PatchResult,
    copies: int,
    shares: tuple[float | None, float | None],
    exposure: Exposure | None,
) -> Prior:
    reasons: list[tuple[float, str]] = []
    company, agreement = shares
    if copies:
        reasons.append((COPIES * math.log(copies + 1), f"written {copies + 1} times alike"))
    if company is not None:
        words = f"{company:.0%} of the others change the same definitions"
        reasons.append((COMPANY * (company - 0.5), words))
    if agreement is not None:
        words = f"{agreement:.0%} of the others do the same with changed inputs"
        reasons.append((AGREEMENT * (agreement - 0.5), words))
    reasons += _guard_reasons(result)
    if exposure is not None:
        reasons.append((EXPOSED, f"shows the bug again for {exposure.varied.change}"))
    if result.size:
        reasons.append((LENGTH * math.log2(result.size + 1), f"{result.size} lines changed"))
    return Prior(odds=logit(RIGHT) + sum(moved for moved, _ in reasons), reasons=tuple(reasons))


def _guard_reasons(result: PatchResult) -> list[tuple[float, str]]:
    guarded = result.guarded
    if guarded is None or not guarded.ran:
        return []
    broken = len(guarded.regressions)
    if not broken:
        count = guarded.ran if guarded.reached is None else guarded.reached
        moved = QUIET * min(1.0, math.log10(count + 1) / 2)
        return [(moved, f"{count} existing tests near it still pass")]
    moved = REGRESSION + FURTHER_REGRESSIONS * math.log2(broken)
    plural = "test fails" if broken == 1 else "tests fail"
    return [(moved, f"{broken} existing {plural} that passed before")]


def _agreement(result: PatchResult, results: Sequence[PatchResult]) -> float | None:
    """Return the share of other patches that do the same with changed inputs, over the inputs.

    None without inputs that at least two other patches were tried on; copies are one voice.
    """
    own = {(varied.test, varied.change): varied.after for varied in result.varied}
    agreeing = total = 0
    voices = {result.normal} if result.normal else set()
    for other in results:
        theirs = {(varied.test, varied.change): varied.after for varied in other.varied}
        shared = own.keys() & theirs.keys()
        if other is result or other.normal in voices or not shared:
            continue
        voices |= {other.normal} if other.normal else set()
        agreeing += sum(own[key] == theirs[key] for key in shared)
        total += len(shared)
    return agreeing / total if total >= 2 * len(own) > 0 else None


def _company(result: PatchResult, results: Sequence[PatchResult]) -> float | None:
    """Return the share of the other patches that change a definition which this one changes.

    None when too few patches are there, or nothing is known of this one's places. Copies count
    once: several systems that write the same text are one more voice, not ten.
    """
    others: dict[str, set[str]] = {}
    for other in results:
        is_copy = other is result or (result.normal and other.normal == result.normal)
        if other.applies and other.places and not is_copy:
            others.setdefault(other.normal or other.patch.name, set(other.places))
    if len(others) < 3 or not result.places:
        return None
    own = set(result.places)
    return sum(bool(own & places) for places in others.values()) / len(others)
