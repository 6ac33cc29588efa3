"""The tables of a study, in the order in which they are shown."""

from __future__ import annotations

from functools import partial

from pytest_brt.evaluate.columns import (
    Column,
    count,
    f1_of_means,
    interval,
    known,
    lower_quartile,
    mean,
    middle,
    most,
    part,
    total,
    total_count,
    upper_quartile,
)
from pytest_brt.evaluate.measures import COLUMNS
from pytest_brt.evaluate.rows.repairs import ALONE
from pytest_brt.evaluate.tables import PairedSpec, TableSpec

_SHARE = partial(Column, measure=interval, form=".0%")
_N = Column(title="n", measure=count)
_PART = Column(title="share", measure=part, form=".0%")
_SPREAD = (
    Column(title="mean", measure=mean, of="value"),
    Column(title="a quarter below", measure=lower_quartile, of="value"),
    Column(title="median", measure=middle, of="value"),
    Column(title="a quarter above", measure=upper_quartile, of="value"),
    Column(title="most", measure=most, of="value"),
    Column(title="sum", measure=total, of="value"),
)
_REPAIRED = (
    Column(title="bugs", measure=count),
    _SHARE(title="a fix", of="fix"),
    _SHARE(title="passes our tests", of="own"),
    _SHARE(title="right", of="right"),
    _SHARE(title="equal to the fix", of="same_as_fix"),
    Column(title="bugs with a right fix", measure=total_count, of="right"),
    Column(title="with one equal to the fix", measure=total_count, of="same_as_fix"),
    Column(title="patches tried per bug", measure=mean, of="patches"),
)

_BUGS = (
    TableSpec(
        name="bugs",
        title="bugs",
        rows="bugs",
        by=("stage",),
        columns=(
            Column(title="in the data set", measure=count),
            Column(title="not run", measure=total_count, of="not_run"),
            Column(title="not set up", measure=total_count, of="not_set_up"),
            Column(title="studied", measure=total_count, of="studied"),
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
                Column(title=f"{name}@{k}", measure=total, of=f"{name}@{k}")
                for name in ("acc", "wef")
                for k in (1, 3, 5)
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
            Column(title="candidates", measure=count),
            Column(title="plausible", measure=total_count, of="plausible"),
            Column(title="precision", measure=mean, of="plausible", form=".0%"),
            Column(title="reach the fix", measure=mean, of="reaches_fix", form=".0%"),
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
                Column(title=name, measure=interval if name == "mrr" else mean, of=name)
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
            Column(title="precision", measure=mean, of="precision"),
            Column(title="recall", measure=mean, of="recall"),
            Column(title="F1", measure=f1_of_means),
            Column(title="MRR", measure=mean, of="reciprocal_rank"),
            Column(title="bugs selecting", measure=known, of="precision"),
        ),
    ),
    TableSpec(
        name="extents",
        title="candidate patches, by the extent of the true fix",
        rows="pools",
        by=("extent",),
        columns=(
            Column(title="bugs", measure=count),
            Column(title="patches", measure=total_count, of="patches"),
            Column(title="bugs fixed", measure=total_count, of="fixed"),
            Column(title="plausible", measure=total_count, of="right"),
            Column(title="equal to the fix", measure=total_count, of="same_as_fix"),
        ),
    ),
)

_REPAIRS = (
    TableSpec(
        name="repairs",
        title="bugs repaired, with and without the failing test",
        source="paper 1, Figure 3; paper 2, Table VI",
        rows="repairs",
        by=("strategy", "without", "given"),
        columns=_REPAIRED,
        same=(),
    ),
    TableSpec(
        name="repairs-by-project",
        title="bugs repaired in either way, by project",
        source="paper 2, Tables III and V",
        rows="repairs",
        where="together",
        by=("strategy", "repo"),
        all=True,
        columns=_REPAIRED,
    ),
    TableSpec(
        name="repairs-by-extent",
        title="bugs repaired in either way, by the extent of the true fix",
        source="paper 2, Tables IV to VI",
        rows="repairs",
        where="together",
        by=("strategy", "extent"),
        columns=_REPAIRED,
    ),
    TableSpec(
        name="repair-runs",
        title="runs of repairs: steps to a right fix, and what a run costs",
        source="paper 1, Figure 4; paper 2, Table VI",
        rows="runs",
        by=("strategy", "without", "given"),
        columns=(
            Column(title="runs", measure=count),
            _SHARE(title="right", of="right"),
            Column(title="steps to right, median", measure=middle, of="first_right"),
            Column(title="mean", measure=mean, of="first_right"),
            Column(title="tokens made", measure=mean, of="tokens"),
            Column(title="tokens read", measure=mean, of="read"),
            Column(title="seconds", measure=mean, of="seconds"),
        ),
    ),
    TableSpec(
        name="repairs-use",
        title="runs with a right fix, by the use of the failing test",
        source="paper 1, RQ2",
        rows="runs",
        where="whole",
        by=("strategy", "use"),
        columns=(
            Column(title="runs", measure=count),
            _SHARE(title="right", of="right"),
        ),
    ),
    TableSpec(
        name="calls",
        title="actions per run of a repair, with a right fix and without",
        source="paper 2, Figure 10",
        rows="calls",
        by=("strategy", "action"),
        columns=(
            Column(title="with a right fix", measure=mean, of="fixed"),
            Column(title="runs", measure=known, of="fixed"),
            Column(title="without", measure=mean, of="not_fixed"),
            Column(title="runs without", measure=known, of="not_fixed"),
        ),
    ),
    TableSpec(
        name="writes",
        title="calls of write_fix that give a plausible patch",
        source="paper 2, section V-E",
        rows="writes",
        where="whole",
        by=("strategy", "outcome"),
        columns=(
            Column(title="calls", measure=count),
            _SHARE(title="plausible", of="right"),
        ),
    ),
    TableSpec(
        name="spent",
        title="what runs of repairs cost, with a right fix and without",
        source="paper 2, Figure 9",
        rows="spent",
        where="whole",
        by=("strategy", "what", "outcome"),
        columns=(_N, *_SPREAD),
    ),
)

_DIALOGUES = (
    TableSpec(
        name="actions",
        title="actions of the runs",
        source="paper 1, Figure 2",
        rows="steps",
        by=("stage", "strategy", "action"),
        columns=(Column(title="times", measure=count), _PART),
        top=1000,
    ),
    TableSpec(
        name="pairs",
        title="pairs of actions, the five most frequent",
        source="paper 1, Table 4",
        rows="steps",
        where="pair",
        by=("stage", "strategy", "pair"),
        columns=(Column(title="times", measure=count), _PART),
        top=5,
    ),
    TableSpec(
        name="endings",
        title="why runs ended (of a strategy without dialogues: samples)",
        source="paper 1, Table 5",
        rows="endings",
        by=("stage", "strategy", "ending"),
        columns=(Column(title="times", measure=count), _PART),
    ),
    TableSpec(
        name="costs",
        title="cost per bug",
        source="paper 2, Figure 9",
        rows="costs",
        by=("stage", "what"),
        columns=(_N, *_SPREAD),
        same=(),
    ),
)

TABLES = (*_BUGS, *_TESTS, *_PATCHES, *_REPAIRS, *_DIALOGUES)

PAIRED = (
    PairedSpec(
        name="gain-of-test",
        title="repairs of the same bugs: B with the failing test, A with the report alone",
        source="paper 1, Figure 3",
        rows="repairs",
        unless="together",
        between="given",
        base=ALONE,
        by=("strategy", "without"),
        columns=_REPAIRED,
    ),
    PairedSpec(
        name="ablations",
        title="repairs of the same bugs: B without parts, A the whole",
        source="paper 2, Table VI",
        rows="repairs",
        between="without",
        base="",
        by=("strategy", "given"),
        columns=_REPAIRED,
    ),
)
