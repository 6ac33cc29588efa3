"""What all plots of a study are drawn with: lines and bars that can be told apart in grey."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Any

from pytest_brt.evaluate.bootstrap import Gap
from pytest_brt.evaluate.rates import Acted, behaviour

if TYPE_CHECKING:
    from matplotlib.axes import Axes

#: Mark, line and grey of each line.
LINES = (("o", "-", "0.0"), ("s", "--", "0.25"), ("^", "-.", "0.45"), ("x", ":", "0.6"))
#: Grey and hatching of each bar.
BARS = (
    ("0.75", ""),
    ("0.5", "//"),
    ("0.85", ".."),
    ("1.0", "xx"),
    ("0.7", "--"),
    ("0.4", "\\\\"),
)
#: Actions that have a bar of their own; the rest is "other".
_ACTIONS = 5


def draw_bars(
    axes: Axes, groups: Sequence[tuple[str, Sequence[Gap]]], titles: Sequence[str]
) -> None:
    """Draw shares beside each other, with where they lie with 95 %.

    Args:
        axes: where to.
        groups: a name, and a share per title.
        titles: what the shares are of.
    """
    width = 0.8 / len(groups)
    for at, (name, found) in enumerate(groups):
        means = [gap.mean for gap in found]
        ends = [[g.mean - g.low for g in found], [g.high - g.mean for g in found]]
        places = [place + (at - (len(groups) - 1) / 2) * width for place in range(len(titles))]
        colour, hatch = BARS[at % len(BARS)]
        look: dict[str, Any] = {"color": colour, "hatch": hatch, "edgecolor": "0.0", "label": name}
        axes.bar(places, means, width * 0.9, **look)
        axes.errorbar(places, means, yerr=ends, fmt="none", ecolor="0.0", capsize=3)
    axes.set_xticks(range(len(titles)), titles)
    axes.set_ylim(0, 1)
    if len(groups) > 1:
        below: dict[str, Any] = {"loc": "upper center", "bbox_to_anchor": (0.5, -0.1)}
        axes.legend(frameon=False, ncols=len(groups), **below)


def draw_actions(axes: Axes, runs: Iterable[Acted], strategy: str) -> None:
    """Draw which actions are taken at each step."""
    found = behaviour(runs)
    named = [name for name, _ in found.actions[:_ACTIONS]]
    bottom = [0.0] * len(found.by_step)
    for name, (colour, hatch) in zip((*named, "other"), BARS, strict=False):
        heights = []
        for step in found.by_step:
            total = sum(count for _, count in step)
            mine = sum(
                count
                for action, count in step
                if action == name or (name == "other" and action not in named)
            )
            heights.append(mine / total)
        axes.bar(
            range(1, len(heights) + 1),
            heights,
            0.9,
            bottom=bottom,
            color=colour,
            hatch=hatch,
            edgecolor="0.0",
            linewidth=0.5,
            label=name,
        )
        bottom = [one + other for one, other in zip(bottom, heights, strict=True)]
    axes.set_xlabel("step")
    axes.set_ylabel("share of the runs that come so far")
    axes.legend(frameon=False, loc="center left", bbox_to_anchor=(1, 0.5))
    axes.set_title(f"actions by step, {found.runs} runs of {strategy}", loc="left")


def draw_steps(axes: Axes, runs: Iterable[Acted], strategy: str) -> None:
    """Draw how many steps the runs take."""
    lengths = [len(run.actions) for run in runs if run.endings]
    most = max(lengths)
    axes.hist(lengths, bins=[at + 0.5 for at in range(most + 1)], color="0.6", edgecolor="0.0")
    axes.set_xlabel("steps")
    axes.set_ylabel("runs")
    axes.set_title(f"steps of {len(lengths)} runs of {strategy}", loc="left")


def draw_line(
    axes: Axes, xs: Sequence[float], ys: Sequence[float], label: str, style: tuple[str, str, str]
) -> None:
    """Draw a line through points."""
    mark, line, colour = style
    axes.plot(xs, ys, marker=mark, markersize=4, linestyle=line, color=colour, label=label)
