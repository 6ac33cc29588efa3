"""The plots of a study, as SVG and PNG: the same rows give the same bytes.

Told apart by marks, lines and hatching, so that they can be read in grey. matplotlib (the extra
`eval`) is imported when something is drawn.
"""

from __future__ import annotations

import io
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import partial
from statistics import fmean
from typing import TYPE_CHECKING, Any

from pytest_brt.errors import UsageProblem
from pytest_brt.evaluate.columns import Cell, Group, f1_of_means, mean, numbers
from pytest_brt.evaluate.rows.row import Row
from pytest_brt.evaluate.rows.study import Rows
from pytest_brt.evaluate.tables import group

if TYPE_CHECKING:
    from matplotlib.axes import Axes

#: Rankers that are drawn: more lines cannot be told apart.
DRAWN = ("weighted+guard", "weighted", "epr", "random")
_RC: dict[str, Any] = {
    "svg.hashsalt": "pytest-brt",
    "font.family": "DejaVu Sans",  # comes with matplotlib
    "font.size": 9,
    "axes.spines.top": False,
    "axes.spines.right": False,
    "figure.dpi": 150,
    "path.simplify": False,
}

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

Draw = Callable[["Axes"], None]
#: The points of each line: across, and up.
Curves = Mapping[str, tuple[Sequence[float], Sequence[float]]]


def draw(rows: Rows) -> dict[str, bytes]:
    """Return the files of all plots that there are rows for, by their names.

    Raises:
        UsageProblem: matplotlib is missing.
    """
    files: dict[str, bytes] = {}
    for stem, paint in _plots(rows):
        for kind, data in _drawn(paint):
            files[f"{stem}.{kind}"] = data
    return files


def _plots(rows: Rows) -> Iterator[tuple[str, Draw]]:
    if rows["rankings"]:
        bugs = len({row["bug"] for row in rows["rankings"]})
        across, up = "recall", "precision"
        best = partial(draw_curves, curves=top_k(rows["rankings"]), marks=True)
        yield "top-k", partial(best, title=f"the best K (1 to 5), {bugs} bugs", x=across, y=up)
        selected = partial(draw_curves, curves=thresholds(rows["thresholds"]), y="")
        across = "Ensemble Pass Rate from which a patch is selected"
        yield "thresholds", partial(selected, title=f"by a threshold, {bugs} bugs", x=across)
    whole = [row for row in rows["runs"] if row["whole"]]
    for (strategy,), runs in group(whole, ("strategy",)).items():
        fixed = partial(draw_curves, curves=steps_to_fix(runs), x="steps")
        title = f"share of the runs of {strategy} with a right fix"
        yield f"repair-steps-{strategy}", partial(fixed, title=title, y="", jumps=True)
        yield (
            f"repair-cost-{strategy}",
            partial(draw_costs, runs=runs, of="seconds", title="seconds"),
        )
        yield (
            f"repair-tokens-{strategy}",
            partial(draw_costs, runs=runs, of="read", title="tokens read"),
        )
    for (stage, strategy), steps in group(rows["steps"], ("stage", "strategy")).items():
        title = f"actions by step, {strategy}"
        yield f"actions-{stage}-{strategy}", partial(draw_actions, steps=steps, title=title)


def _drawn(paint: Draw) -> Iterator[tuple[str, bytes]]:
    try:
        import matplotlib as mpl
        from matplotlib.figure import Figure
    except ImportError as error:
        raise UsageProblem(
            f"plots need a package that is missing: {error.name} (pip install 'pytest-brt[eval]')"
        ) from None
    with mpl.rc_context():
        mpl.rcdefaults()  # whatever the user's own style is
        settings: Any = mpl.rcParams
        settings.update(_RC)
        figure = Figure(figsize=(6, 3.6), layout="constrained")
        paint(figure.add_subplot())
        for kind, metadata in (("svg", {"Date": None}), ("png", {"Software": None})):
            out = io.BytesIO()
            figure.savefig(out, format=kind, metadata=metadata)
            yield kind, out.getvalue()


def top_k(rows: Sequence[Row]) -> Curves:
    """Return recall and precision of the best 1 to 5 patches, per ranker (paper 001, Figure 5)."""
    rankers = group(rows, ("ranker",))
    return {
        name: (_means(rankers[(name,)], "r"), _means(rankers[(name,)], "p"))
        for name in DRAWN
        if (name,) in rankers
    }


def _means(rows: Sequence[Row], measure: str) -> list[float]:
    return [fmean(numbers(rows, f"{measure}{k}")) for k in range(1, 6)]


def thresholds(rows: Sequence[Row]) -> Curves:
    """Return precision, recall, F1 and MRR over thresholds of EPR (paper 001, Figure 6).

    Where nothing is selected there is no precision, and nothing is drawn.
    """
    by_place = group((row for row in rows if row["by"] == "EPR"), ("from",))
    groups = {float(p or 0): Group(rows=some, within=some) for (p,), some in by_place.items()}
    lines = {
        "precision": (mean, "precision"),
        "recall": (mean, "recall"),
        "F1": (f1_of_means, ""),
        "MRR": (mean, "reciprocal_rank"),
    }
    return {
        name: _defined({at: measure(some, of) for at, some in groups.items()})
        for name, (measure, of) in lines.items()
    }


def _defined(found: Mapping[float, Cell]) -> tuple[list[float], list[float]]:
    """Return where a measure is defined, and what it is there."""
    known = {at: float(cell) for at, cell in found.items() if isinstance(cell, int | float)}
    return list(known), list(known.values())


def _number(cell: object) -> float:
    return float(cell) if isinstance(cell, int | float) else 0.0


def steps_to_fix(runs: Sequence[Row]) -> Curves:
    """Return the share of runs that have written a right fix after each step (Figure 4)."""
    longest = max(numbers(runs, "steps"))
    curves = {}
    for (given,), some in group(runs, ("given",)).items():
        steps = sorted(numbers(some, "first_right"))
        shares = [at / len(some) for at in range(len(steps) + 1)]
        curves[f"{given} ({len(some)} runs)"] = ([0, *steps, longest], [*shares, shares[-1]])
    return curves


def draw_curves(
    axes: Axes,
    *,
    curves: Curves,
    title: str,
    x: str,
    y: str,
    marks: bool = False,
    jumps: bool = False,
) -> None:
    """Draw a line for each of the curves, between 0 and 1."""
    for (name, (across, up)), (mark, line, colour) in zip(curves.items(), LINES, strict=False):
        axes.plot(
            across,
            up,
            label=name,
            linestyle=line,
            color=colour,
            marker=mark if marks else "",
            markersize=4,
            drawstyle="steps-post" if jumps else "default",
        )
    axes.set(xlim=(0, None), ylim=(0, 1.05), xlabel=x, ylabel=y)
    axes.legend(frameon=False, loc="best")
    axes.set_title(title, loc="left")


def draw_costs(axes: Axes, *, runs: Sequence[Row], of: str, title: str) -> None:
    """Draw how a cost spreads over runs, with a right fix and without (paper 002, Figure 9)."""
    groups = group(runs, ("outcome",))
    boxes = [numbers(some, of) for some in groups.values()]
    names = [f"{outcome} ({len(some)} runs)" for (outcome,), some in groups.items()]
    axes.boxplot(boxes, tick_labels=names)
    axes.set_title(f"{title}, by outcome of the run", loc="left")


def draw_actions(axes: Axes, *, steps: Sequence[Row], title: str) -> None:
    """Draw which actions are taken at each step (paper 001, Figure 2)."""
    often = Counter(str(row["action"]) for row in steps)
    named = [name for name, _ in often.most_common(_ACTIONS) if name != "other"]
    taken: dict[float, list[str]] = {}
    for row in steps:
        action = str(row["action"])
        taken.setdefault(_number(row["step"]), []).append(action if action in named else "other")
    bottom = dict.fromkeys(taken, 0.0)
    for name, (colour, hatch) in zip((*named, "other"), BARS, strict=False):
        shares = {step: actions.count(name) / len(actions) for step, actions in taken.items()}
        axes.bar(
            list(shares),
            list(shares.values()),
            0.9,
            bottom=list(bottom.values()),
            label=name,
            color=colour,
            hatch=hatch,
            edgecolor="0.0",
            linewidth=0.5,
        )
        bottom = {step: bottom[step] + share for step, share in shares.items()}
    axes.set(xlabel="step", ylabel="share of the runs that come so far")
    axes.legend(frameon=False, loc="center left", bbox_to_anchor=(1, 0.5))
    axes.set_title(title, loc="left")
