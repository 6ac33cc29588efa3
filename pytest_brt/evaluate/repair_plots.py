"""The plots of a study about repairs."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from pytest_brt.evaluate.pen import LINES, draw_bars
from pytest_brt.evaluate.record import StudyResult
from pytest_brt.evaluate.repair_rates import RATES, Which, mended, repair_shares
from pytest_brt.evaluate.repair_tables import TITLES

if TYPE_CHECKING:
    from matplotlib.axes import Axes

_GIVEN = (("with the failing test", True), ("without", False))


def draw_repairs(axes: Axes, result: StudyResult, strategy: str) -> None:
    """Draw RQ2: the shares of bugs, with and without the failing test."""
    bugs = mended(result)
    groups = []
    for name, given in _GIVEN:
        found = repair_shares(bugs, Which(strategy=strategy, given=given))
        if found.n:
            groups.append((f"{name} ({found.n} bugs)", [found.rates[rate] for rate in RATES]))
    draw_bars(axes, groups, [TITLES[name] for name in RATES])
    axes.set_ylabel("share of bugs")
    axes.set_title(f"bugs repaired by {strategy}", loc="left")


def draw_steps_to_fix(axes: Axes, result: StudyResult, strategy: str) -> None:
    """Draw the share of runs that have written a right fix after each step."""
    groups = {
        name: [
            run for bug in mended(result) for run in Which(strategy=strategy, given=given).runs(bug)
        ]
        for name, given in _GIVEN
    }
    longest = max(len(run.actions) for runs in groups.values() for run in runs)
    for (name, runs), (_, line, colour) in zip(groups.items(), LINES, strict=False):
        if not runs:
            continue
        steps = sorted(run.first_right for run in runs if run.first_right is not None)
        shares = [at / len(runs) for at in range(len(steps) + 1)]
        label = f"{name} ({len(runs)} runs)"
        look: dict[str, Any] = {"linestyle": line, "color": colour, "drawstyle": "steps-post"}
        axes.plot([0, *steps, longest + 0.5], [*shares, shares[-1]], label=label, **look)
    axes.set_xlim(0, longest + 0.5)
    axes.set_ylim(0, 1.05)
    axes.set_xlabel("steps")
    axes.set_ylabel("share of runs with a right fix")
    axes.legend(frameon=False, loc="upper left")
    axes.set_title(f"steps to a right fix, {strategy}", loc="left")
