"""The plots of a study, as SVG and PNG: the same data gives the same bytes.

Told apart by marks, lines and hatching, so that they can be read in grey. matplotlib (the extra
`eval`) is imported when something is drawn.
"""

from __future__ import annotations

import io
from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import partial
from itertools import chain
from typing import TYPE_CHECKING, Any

from pytest_brt.errors import UsageProblem
from pytest_brt.evaluate.metrics import COLUMNS, mean_columns, threshold_curve
from pytest_brt.evaluate.rates import Acted, behaviour, done, mixed, patch_orders, runs_of, tried
from pytest_brt.evaluate.record import StudyResult

if TYPE_CHECKING:
    from matplotlib.axes import Axes

_GIVEN = (("with the failing test", True), ("without", False))
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

Draw = Callable[["Axes", StudyResult], None]


def draw(result: StudyResult) -> dict[str, bytes]:
    """Return the files of all plots that the result has something for, by their names.

    Raises:
        UsageProblem: matplotlib is missing.
    """
    return dict(chain.from_iterable(_files(*plot, result) for plot in _plots(result)))


def _plots(result: StudyResult) -> Iterator[tuple[str, Draw]]:
    if mixed(result):
        yield "top-k", _top_k
        yield "thresholds", _thresholds
    for strategy in result.settings.strategies:
        yield from _dialogues(strategy, strategy, runs_of(done(result), strategy))
    for strategy in result.repairers:
        runs = tried(result, strategy)
        if runs:
            yield f"repair-steps-{strategy}", partial(draw_steps_to_fix, strategy=strategy)
        yield from _dialogues(f"repair-{strategy}", strategy, runs)


def _dialogues(name: str, strategy: str, runs: Sequence[Acted]) -> Iterator[tuple[str, Draw]]:
    if behaviour(runs).by_step:
        yield f"actions-{name}", lambda axes, _: draw_actions(axes, runs, strategy)


def _files(stem: str, paint: Draw, result: StudyResult) -> Iterator[tuple[str, bytes]]:
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
        paint(figure.add_subplot(), result)
        for kind, metadata in (("svg", {"Date": None}), ("png", {"Software": None})):
            out = io.BytesIO()
            figure.savefig(out, format=kind, metadata=metadata)
            yield f"{stem}.{kind}", out.getvalue()


def _top_k(axes: Axes, result: StudyResult) -> None:
    """Draw precision against recall for the best K, K from 1 to 5."""
    orders = patch_orders(mixed(result))
    for ranker, (mark, line, colour) in zip(DRAWN, LINES, strict=True):
        if ranker in orders:
            look: dict[str, Any] = {"linestyle": line, "color": colour}
            means = mean_columns(orders[ranker])
            recall = [means[name] for name in COLUMNS if name[0] == "r" and name[1:].isdigit()]
            precision = [means[name] for name in COLUMNS if name[0] == "p"]
            axes.plot(recall, precision, marker=mark, markersize=4, **look, label=ranker)
            for text, at in (("K=1", 0), ("5", -1)):
                place = (recall[at], precision[at])
                beside: dict[str, Any] = {"xytext": (4, 4), "textcoords": "offset points"}
                axes.annotate(text, place, fontsize=7, color="0.3", **beside)
    axes.set(xlim=(0, 1.02), ylim=(0, 1.05), xlabel="recall", ylabel="precision")
    axes.legend(frameon=False, loc="lower left")
    axes.set_title(f"the best K patches, {len(mixed(result))} bugs", loc="left")


def _thresholds(axes: Axes, result: StudyResult) -> None:
    """Draw precision and recall over thresholds of EPR, in steps of 0.01 (paper 001)."""
    pools = [
        [(patch.epr, patch.right) for patch in bug.patches if patch.right is not None]
        for bug in mixed(result)
    ]
    curve = threshold_curve(pools, 100)
    at = [point.threshold for point in curve]
    for name, values, (_, line, colour) in (
        ("precision", [point.precision for point in curve], LINES[0]),
        ("recall", [point.recall for point in curve], LINES[1]),
        ("F1", [point.f1 for point in curve], LINES[3]),
    ):
        axes.plot(at, values, linestyle=line, color=colour, label=name)
    selected = "Ensemble Pass Rate from which a patch is selected"
    axes.set(xlim=(0, 1), ylim=(0, 1.05), xlabel=selected)
    axes.legend(frameon=False, loc="lower left")
    axes.set_title(f"selecting by a threshold, {len(pools)} bugs", loc="left")


def draw_steps_to_fix(axes: Axes, result: StudyResult, strategy: str) -> None:
    """Draw the share of runs that have written a right fix after each step."""
    groups = {name: tried(result, strategy, given) for name, given in _GIVEN}
    longest = max(len(run.actions) for runs in groups.values() for run in runs)
    for (name, runs), (_, line, colour) in zip(groups.items(), LINES, strict=False):
        if not runs:
            continue
        steps = sorted(run.first_right for run in runs if run.first_right is not None)
        shares = [at / len(runs) for at in range(len(steps) + 1)]
        label = f"{name} ({len(runs)} runs)"
        look: dict[str, Any] = {"linestyle": line, "color": colour, "drawstyle": "steps-post"}
        axes.plot([0, *steps, longest + 0.5], [*shares, shares[-1]], label=label, **look)
    axes.set(xlim=(0, longest + 0.5), ylim=(0, 1.05))
    axes.set(xlabel="steps", ylabel="share of runs with a right fix")
    axes.legend(frameon=False, loc="upper left")
    axes.set_title(f"steps to a right fix, {strategy}", loc="left")


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
        look: dict[str, Any] = {"color": colour, "hatch": hatch, "edgecolor": "0.0", "label": name}
        axes.bar(range(1, len(heights) + 1), heights, 0.9, bottom=bottom, linewidth=0.5, **look)
        bottom = [one + other for one, other in zip(bottom, heights, strict=True)]
    axes.set(xlabel="step", ylabel="share of the runs that come so far")
    axes.legend(frameon=False, loc="center left", bbox_to_anchor=(1, 0.5))
    axes.set_title(f"actions by step, {found.runs} runs of {strategy}", loc="left")
