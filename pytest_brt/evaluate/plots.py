"""The plots of a study, as SVG and PNG: the same rows give the same bytes.

Told apart by marks, lines and hatching, so that they can be read in grey. matplotlib (the extra
`eval`) is imported when something is drawn.
"""

from __future__ import annotations

import io
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from statistics import fmean
from typing import TYPE_CHECKING, Any

from pytest_brt.errors import UsageProblem
from pytest_brt.evaluate.columns import numbers
from pytest_brt.evaluate.measures import f1_of
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
        yield "top-k", partial(_top_k, rows=rows["rankings"])
        yield "thresholds", partial(_thresholds, rows=rows["thresholds"])
    whole = [row for row in rows["runs"] if row["whole"]]
    for (strategy,), runs in group(whole, ("strategy",)).items():
        yield f"repair-steps-{strategy}", partial(draw_steps_to_fix, rows=runs)
        yield f"repair-cost-{strategy}", partial(_spent, rows=runs)
    for (stage, strategy), steps in group(rows["steps"], ("stage", "strategy")).items():
        yield f"actions-{stage}-{strategy}", partial(draw_actions, rows=steps)


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


def _top_k(axes: Axes, rows: Sequence[Row]) -> None:
    """Draw precision against recall for the best K, K from 1 to 5 (paper 001, Figure 5)."""
    rankers = group(rows, ("ranker",))
    for ranker, (mark, line, colour) in zip(DRAWN, LINES, strict=True):
        if (ranker,) in rankers:
            some = rankers[(ranker,)]
            recall, precision = (
                [fmean(numbers(some, f"{measure}{k}")) for k in range(1, 6)] for measure in "rp"
            )
            look: dict[str, Any] = {"linestyle": line, "color": colour, "marker": mark}
            axes.plot(recall, precision, markersize=4, **look, label=ranker)
            for text, at in (("K=1", 0), ("5", -1)):
                place = (recall[at], precision[at])
                beside: dict[str, Any] = {"xytext": (4, 4), "textcoords": "offset points"}
                axes.annotate(text, place, fontsize=7, color="0.3", **beside)
    axes.set(xlim=(0, 1.02), ylim=(0, 1.05), xlabel="recall", ylabel="precision")
    axes.legend(frameon=False, loc="lower left")
    axes.set_title(f"the best K patches, {_bugs(rows)} bugs", loc="left")


def _bugs(rows: Sequence[Row]) -> int:
    return len({row["bug"] for row in rows})


def _thresholds(axes: Axes, rows: Sequence[Row]) -> None:
    """Draw precision and recall over thresholds of EPR (paper 001, Figure 6)."""
    by_place = group((row for row in rows if row["by"] == "EPR"), ("from",))
    at = [float(place or 0) for (place,) in by_place]
    measured = [_selected(some) for some in by_place.values()]
    for name, values, (_, line, colour) in zip(
        ("precision", "recall", "F1"), zip(*measured, strict=True), LINES, strict=False
    ):
        axes.plot(at, values, linestyle=line, color=colour, label=name)
    selected = "Ensemble Pass Rate from which a patch is selected"
    axes.set(xlim=(0, 1), ylim=(0, 1.05), xlabel=selected)
    axes.legend(frameon=False, loc="lower left")
    axes.set_title(f"selecting by a threshold, {_bugs(rows)} bugs", loc="left")


def _selected(rows: Sequence[Row]) -> tuple[float, float, float]:
    """Return the mean precision and recall of what is selected, and the F1 of both."""
    precisions = numbers(rows, "precision")
    precision = fmean(precisions) if precisions else 0.0
    recall = fmean(numbers(rows, "recall"))
    return precision, recall, f1_of(precision, recall)


def draw_steps_to_fix(axes: Axes, rows: Sequence[Row]) -> None:
    """Draw the share of runs that have written a right fix after each step."""
    longest = max(numbers(rows, "steps"))
    for ((given,), runs), (_, line, colour) in zip(
        group(rows, ("given",)).items(), LINES, strict=False
    ):
        steps = sorted(numbers(runs, "first_right"))
        shares = [at / len(runs) for at in range(len(steps) + 1)]
        label = f"{given} ({len(runs)} runs)"
        look: dict[str, Any] = {"linestyle": line, "color": colour, "drawstyle": "steps-post"}
        axes.plot([0, *steps, longest + 0.5], [*shares, shares[-1]], label=label, **look)
    axes.set(xlim=(0, longest + 0.5), ylim=(0, 1.05))
    axes.set(xlabel="steps", ylabel="share of runs with a right fix")
    axes.legend(frameon=False, loc="upper left")
    axes.set_title(f"steps to a right fix, {rows[0]['strategy']}", loc="left")


def _spent(axes: Axes, rows: Sequence[Row]) -> None:
    """Draw how seconds spread over runs, fixed and not (paper 002, Figure 9)."""
    groups = group(rows, ("outcome",))
    boxes = [numbers(runs, "seconds") for runs in groups.values()]
    axes.boxplot(boxes, tick_labels=[f"{name} ({len(runs)})" for (name,), runs in groups.items()])
    axes.set(ylabel="seconds of a run")
    axes.set_title(f"what runs take, {rows[0]['strategy']}", loc="left")


def draw_actions(axes: Axes, rows: Sequence[Row]) -> None:
    """Draw which actions are taken at each step (paper 001, Figure 2)."""
    often = Counter(str(row["action"]) for row in rows)
    named = [name for name, _ in often.most_common(_ACTIONS) if name != "other"]
    steps = list(group(sorted(rows, key=_step), ("step",)).values())
    bottom = [0.0] * len(steps)
    for name, (colour, hatch) in zip((*named, "other"), BARS, strict=False):
        heights = []
        for step in steps:
            actions = [row["action"] if row["action"] in named else "other" for row in step]
            heights.append(actions.count(name) / len(actions))
        look: dict[str, Any] = {"color": colour, "hatch": hatch, "edgecolor": "0.0", "label": name}
        axes.bar(range(1, len(heights) + 1), heights, 0.9, bottom=bottom, linewidth=0.5, **look)
        bottom = [one + other for one, other in zip(bottom, heights, strict=True)]
    axes.set(xlabel="step", ylabel="share of the runs that come so far")
    axes.legend(frameon=False, loc="center left", bbox_to_anchor=(1, 0.5))
    axes.set_title(f"actions by step, {rows[0]['strategy']}", loc="left")


def _step(row: Row) -> float:
    return float(row["step"] or 0)
