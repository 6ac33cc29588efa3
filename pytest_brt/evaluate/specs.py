"""The tables of a study, in the order in which they are shown."""

from __future__ import annotations

from functools import partial
from statistics import fmean, median

from pytest_brt.evaluate import columns as show
from pytest_brt.evaluate.columns import Column
from pytest_brt.evaluate.measures import COLUMNS
from pytest_brt.evaluate.rows.runs import ALONE
from pytest_brt.evaluate.tables import TableSpec

_SHARE = partial(Column, measure=show.interval, form=".0%", fold=fmean)
_OF_BUGS = partial(Column, measure=show.any_row, form=".0%", fold=max)
_SUM = partial(Column, measure=show.total_count)
_MEAN = partial(Column, measure=show.mean)
_N = Column(title="n", measure=show.count)
_TIMES = Column(title="times", measure=show.count)
_PART = Column(title="share", measure=show.part, form=".0%")
_SPREAD = (
    _N,
    _MEAN(title="mean", of="value", fold=fmean),
    Column(title="a quarter below", measure=show.over(show.lower_quartile), of="value"),
    Column(title="median", measure=show.over(median), of="value"),
    Column(title="a quarter above", measure=show.over(show.upper_quartile), of="value"),
    Column(title="most", measure=show.over(max), of="value"),
    Column(title="sum", measure=show.over(sum), of="value"),
)
_REPAIRED = (
    Column(title="bugs", measure=show.distinct, of="bug"),
    _OF_BUGS(title="a fix", of="fix"),
    _OF_BUGS(title="passes our tests", of="own"),
    _OF_BUGS(title="right", of="right"),
    _OF_BUGS(title="equal to the fix", of="same_as_fix"),
    Column(title="bugs with a right fix", measure=show.bugs_with, of="right"),
    Column(title="with one equal to the fix", measure=show.bugs_with, of="same_as_fix"),
    Column(title="patches tried per bug", measure=show.sum_per_bug, of="patches", fold=sum),
)

_BUGS = (
    TableSpec(
        name="bugs",
        title="bugs",
        rows="bugs",
        by=("stage",),
        columns=(
            Column(title="in the data set", measure=show.count),
            _SUM(title="not run", of="not_run"),
            _SUM(title="not set up", of="not_set_up"),
            _SUM(title="studied", of="studied"),
        ),
    ),
    TableSpec(
        name="problems",
        title="bugs that could not be studied",
        rows="bugs",
        where="problem",
        by=("bug", "problem"),
        columns=(),
    ),
)

_TESTS = (
    TableSpec(
        name="reproduced",
        title="bugs reproduced, by project",
        source="paper 1, Tables 2 and 3; SWT-bench",
        rows="reproduced",
        by=("strategy", "repo"),
        all=True,
        columns=(
            _N,
            _SHARE(title="F→X", of="fails"),
            _SHARE(title="F→P", of="fails_to_pass"),
            _SHARE(title="F→P of F→X", of="passes_of_failing"),
            _SHARE(title="candidate", of="candidate"),
            _SHARE(title="plausible", of="plausible"),
            _SHARE(title="plausible of candidate", of="plausible_of_candidates"),
            _SHARE(title="plausible first", of="plausible_first"),
            _SHARE(title="SWT-bench", of="swt_bench"),
            _SHARE(title="plausible, valid", of="valid"),
            _SHARE(title="plausible, no flaw", of="flawless"),
            _SHARE(title="shown", of="shown"),
        ),
        same=(),
    ),
    TableSpec(
        name="transitions",
        title="tests, by what they do on the bug and with the true fix",
        source="paper 1; SWT-bench",
        rows="tests",
        by=("strategy", "transition"),
        columns=(_N, _PART),
    ),
    TableSpec(
        name="flaws",
        title="plausible tests, by what is wrong with adding them",
        source="paper 1, manual inspection",
        rows="tests",
        where="plausible",
        by=("strategy", "flaw"),
        columns=(_N, _PART),
    ),
    TableSpec(
        name="effort",
        title="tests to read until a plausible one: bugs (acc), wrong tests (wef)",
        source="LIBRO",
        rows="effort",
        by=("strategy", "order"),
        columns=(
            _N,
            *(
                Column(title=name, measure=show.over(sum), of=name)
                for name in ("acc@1", "acc@3", "acc@5", "wef@1", "wef@3", "wef@5")
            ),
        ),
    ),
    TableSpec(
        name="rules",
        title="candidates by kind of oracle",
        rows="tests",
        where="candidate",
        by=("rule",),
        columns=(
            Column(title="candidates", measure=show.count),
            _SUM(title="plausible", of="plausible"),
            _MEAN(title="precision", of="plausible", form=".0%"),
            _MEAN(title="reach the fix", of="reaches", form=".0%"),
        ),
    ),
)

_PATCHES = (
    TableSpec(
        name="rankers",
        title="patches ranked: bugs with right and wrong patches, and a candidate test",
        source="paper 1, Figure 5",
        rows="rankings",
        by=("ranker",),
        columns=(
            _N,
            *(
                Column(
                    title=name,
                    measure=show.interval if name == "mrr" else show.mean,
                    of=name,
                    fold=fmean,
                )
                for name in COLUMNS
            ),
        ),
        same=("pool",),
    ),
    TableSpec(
        name="thresholds",
        title="patches selected from a threshold on",
        source="paper 1, Figure 6",
        rows="thresholds",
        where="tenth",
        by=("by", "from"),
        columns=(
            _MEAN(title="precision", of="precision"),
            _MEAN(title="recall", of="recall"),
            Column(title="F1", measure=show.f1_of_means),
            _MEAN(title="MRR", of="reciprocal_rank"),
            Column(title="bugs selecting", measure=show.known, of="precision"),
        ),
    ),
    TableSpec(
        name="extents",
        title="candidate patches, by the extent of the true fix",
        rows="patches",
        by=("extent",),
        columns=(
            Column(title="bugs", measure=show.distinct, of="bug"),
            Column(title="patches", measure=show.count),
            Column(title="bugs fixed", measure=show.bugs_with, of="right"),
            _SUM(title="plausible", of="right"),
            _SUM(title="equal to the fix", of="same_as_fix"),
        ),
    ),
)

_REPAIRS = (
    TableSpec(
        name="repairs",
        title="bugs repaired, with and without the failing test",
        source="paper 1, Figure 3; paper 2, Table VI",
        rows="runs",
        by=("strategy", "without", "given"),
        all=True,
        columns=_REPAIRED,
        same=(),
    ),
    TableSpec(
        name="gain-of-test",
        title="repairs of the same bugs: B with the failing test, A with the report alone",
        source="paper 1, Figure 3",
        rows="runs",
        by=("strategy", "without", "given"),
        base=ALONE,
        columns=_REPAIRED,
    ),
    TableSpec(
        name="ablations",
        title="repairs of the same bugs: B without parts, A the whole",
        source="paper 2, Table VI",
        rows="runs",
        by=("strategy", "given", "without"),
        base="",
        columns=_REPAIRED,
    ),
    TableSpec(
        name="repairs-by-project",
        title="bugs repaired in either way, by project",
        source="paper 2, Tables III and V",
        rows="runs",
        where="whole",
        by=("strategy", "repo"),
        all=True,
        columns=_REPAIRED,
    ),
    TableSpec(
        name="repairs-by-extent",
        title="bugs repaired in either way, by the extent of the true fix",
        source="paper 2, Tables IV to VI",
        rows="runs",
        by=("strategy", "without", "extent"),
        all=True,
        columns=_REPAIRED,
    ),
    TableSpec(
        name="repair-runs",
        title="runs of repairs: steps to a right fix, and what a run costs",
        source="paper 1, Figure 4; paper 2, Table VI",
        rows="runs",
        by=("strategy", "without", "given"),
        columns=(
            Column(title="runs", measure=show.count),
            _SHARE(title="right", of="right"),
            Column(title="steps to right, median", measure=show.over(median), of="first_right"),
            _MEAN(title="mean", of="first_right"),
            _MEAN(title="tokens made", of="tokens"),
            _MEAN(title="tokens read", of="read"),
            _MEAN(title="seconds", of="seconds"),
        ),
    ),
    TableSpec(
        name="repairs-use",
        title="runs with a right fix, by the use of the failing test",
        source="paper 1, RQ2",
        rows="runs",
        where="whole",
        by=("strategy", "use"),
        columns=(Column(title="runs", measure=show.count), _SHARE(title="right", of="right")),
    ),
    TableSpec(
        name="spent",
        title="what runs of repairs cost, with a right fix and without",
        source="paper 2, Figure 9",
        rows="runs",
        where="whole",
        each=("seconds", "share_in_tools", "tokens", "read"),
        by=("strategy", "what", "outcome"),
        columns=_SPREAD,
    ),
)

_DIALOGUES = (
    TableSpec(
        name="calls",
        title="actions per run of a repair, with a right fix and without",
        source="paper 2, Figure 10",
        rows="steps",
        where="outcome",
        by=("strategy", "outcome", "action"),
        all=True,
        columns=(_TIMES, Column(title="per run", measure=show.per_run)),
        top=1000,
    ),
    TableSpec(
        name="writes",
        title="calls of write_fix that give a plausible patch",
        source="paper 2, section V-E",
        rows="steps",
        where="writes",
        by=("strategy", "outcome"),
        columns=(_TIMES, _SHARE(title="plausible", of="plausible")),
    ),
    TableSpec(
        name="actions",
        title="actions of the runs",
        source="paper 1, Figure 2",
        rows="steps",
        by=("stage", "strategy", "action"),
        columns=(_TIMES, _PART),
        top=1000,
    ),
    TableSpec(
        name="pairs",
        title="pairs of actions, the five most frequent",
        source="paper 1, Table 4",
        rows="steps",
        where="pair",
        by=("stage", "strategy", "pair"),
        columns=(_TIMES, _PART),
        top=5,
    ),
    TableSpec(
        name="endings",
        title="why runs ended (of a strategy without dialogues: samples)",
        source="paper 1, Table 5",
        rows="endings",
        by=("stage", "strategy", "ending"),
        columns=(_TIMES, _PART),
    ),
    TableSpec(
        name="costs",
        title="cost per bug",
        source="paper 2, Figure 9",
        rows="bugs",
        where="studied",
        each=("seconds", "setup", "judging", "tokens", "read"),
        by=("stage", "what"),
        columns=_SPREAD,
        same=(),
    ),
)

TABLES = (*_BUGS, *_TESTS, *_PATCHES, *_REPAIRS, *_DIALOGUES)
