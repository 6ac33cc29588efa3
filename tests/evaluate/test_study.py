"""Studies: what is run, told and kept."""

from __future__ import annotations

import csv
import io
import subprocess
import sys
from dataclasses import replace
from functools import partial
from pathlib import Path

import pytest

from pytest_brt.codec import from_json, to_json
from pytest_brt.errors import SubjectProblem
from pytest_brt.evaluate.dataset import Instance, read_dataset
from pytest_brt.evaluate.environments import Environment
from pytest_brt.evaluate.job import Job, StudyKit, bench_of, open_tree
from pytest_brt.evaluate.metrics import Gap
from pytest_brt.evaluate.rates import RATES, behaviour, is_mixed, patch_order, runs_of, shares
from pytest_brt.evaluate.record import (
    PatchOutcome,
    Ranked,
    RankedBy,
    Reproduced,
    Stage,
    StrategyRun,
    StudyResult,
    StudySettings,
    TestOutcome,
)
from pytest_brt.evaluate.study import Ledger
from pytest_brt.evaluate.table import Table, csv_of, text_of
from pytest_brt.evaluate.tables import tables_of
from pytest_brt.evaluate.truth import HiddenTests, extent_of, is_valid, patch_of, places_of_fix
from pytest_brt.execute.launch import open_sandbox
from pytest_brt.types import CandidateTest, Oracle, OracleKind, Origin, Verdict
from tests.evaluate.bugs import TEST_PATCH, fix, make_bugs
from tests.support.interval import CLAMP, FIXES, SOURCE, TESTS, diff_of
from tests.support.projects import open_on


def outcome(after: Verdict, strategy: str = "replay", *, valid: bool = True) -> TestOutcome:
    return TestOutcome(
        strategy=strategy,
        index=0,
        name="t",
        rule="no-raise",
        confidence=0.5,
        after=after,
        valid=valid,
    )


# -- what is counted ----------------------------------------------------------------------


def test_the_shares_follow_their_definitions() -> None:
    pass_, fail = outcome(Verdict.PASS), outcome(Verdict.FAIL)
    bugs = [
        Reproduced(instance="1", repo="r", tests=(fail, pass_)),
        Reproduced(instance="2", repo="r", tests=(outcome(Verdict.PASS, valid=False),)),
        Reproduced(instance="3", repo="r", tests=(fail,)),
        Reproduced(instance="4", repo="r", tests=(outcome(Verdict.PASS, "other"),)),
    ]
    tests = [[test for test in bug.tests if test.strategy == "replay"] for bug in bugs]
    means = {name: gap.mean for name, gap in shares(RATES, tests).items()}
    assert means == {
        "candidate": 3 / 4,
        "plausible": 2 / 4,
        "first": 1 / 4,  # the best of the first bug is wrong
        "swt": 1 / 4,  # and fails with the fix: X→F
        "valid": 1 / 4,
    }
    result = StudyResult(
        version="1",
        dataset="d",
        settings=StudySettings(strategies=("replay",)),
        instances=(),
        extents=(),
        reproduced=tuple(bugs),
    )
    (table,) = [one for one in tables_of(result) if one.name == "rates-replay"]
    ratio = table.rows[0][-1]
    assert isinstance(ratio, Gap)
    assert (ratio.mean, ratio.n) == (2 / 3, 3)


def patch(name: str, right: bool | None) -> PatchOutcome:
    return PatchOutcome(
        name=name, system="s", applies=True, right=right, same_as_fix=False, epr=1, score=0.5
    )


def test_a_ranking_counts_where_it_can_be_wrong() -> None:
    patches = (patch("a", True), patch("b", False), patch("c", None))
    bug = Ranked(instance="1", repo="r", tests=1, patches=patches)
    assert is_mixed(bug)
    assert not is_mixed(Ranked(instance="1", repo="r", tests=0, patches=patches))
    assert not is_mixed(Ranked(instance="1", repo="r", tests=1, patches=patches[::2]))
    order = RankedBy(ranker="x", groups=(("c",), ("b", "c"), ("a",)))
    assert patch_order(bug, order) == [[False], [True]]


def test_behaviour_is_counted_over_runs() -> None:
    runs = tuple(
        StrategyRun(
            strategy="agent",
            index=index,
            considered=1,
            candidates=1,
            actions=actions,
            endings=("finish",),
        )
        for index, actions in enumerate([("search", "edit", "test"), ("edit", "test")])
    )
    bug = Reproduced(instance="1", repo="r", runs=runs)
    assert behaviour(runs_of([bug], "another")).runs == 0
    found = behaviour(runs_of([bug], "agent"))
    assert found.bigrams == (("edit→test", 2), ("search→edit", 1))
    assert found.by_step[0] == (("edit", 1), ("search", 1))
    assert found.endings == (("finish", 2),)


def test_why_runs_ended_is_told_of_samples_too() -> None:
    samples = ("finish",) * 41 + ("tokens",) * 9
    libro = StrategyRun(strategy="libro", index=0, considered=9, candidates=1, endings=samples)
    agent = [
        StrategyRun(strategy="agent", index=at, considered=1, candidates=0, endings=(ending,))
        for at, ending in enumerate(("finish", "finish", "steps", "error"))
    ]
    result = StudyResult(
        version="1",
        dataset="d",
        settings=StudySettings(strategies=("libro", "agent", "replay")),
        instances=(("1", "r"),),
        extents=("single-line",),
        reproduced=(Reproduced(instance="1", repo="r", runs=(libro, *agent)),),
    )
    table = next(one for one in tables_of(result) if one.name == "endings")
    assert table.columns[2:5] == ("by itself", "steps used up", "in circles")
    assert tuple(table.rows) == (
        ("libro", 50, 0.82, 0.0, 0.0, 0.18, 0.0, 0.0),
        ("agent", 4, 0.5, 0.25, 0.0, 0.0, 0.0, 0.25),
    )


@pytest.mark.parametrize(
    ("before", "after", "extent"),
    [
        ("a\nb\n", "a\nc\n", "single-line"),
        ("a\nb\n", "a\n", "single-line"),
        ("a\nb\n", "c\nd\n", "multi-line"),
    ],
)
def test_the_extent_of_a_fix(before: str, after: str, extent: str) -> None:
    assert extent_of(diff_of(after, "x.py", before)) == extent
    assert extent_of(diff_of(after, "x.py", before) * 2) == "multi-file"


def test_tables_in_all_their_forms() -> None:
    table = Table(
        name="t",
        title="a title",
        columns=("name", "share_of"),
        rows=(("a & b", Gap(mean=0.5, low=0.25, high=1.0, n=4)), ("→", 0.125)),
        kind="share",
    )
    assert text_of(table)[1:] == [
        "a title",
        "  name          share_of",
        "  a & b  50% [25%, 100%]",
        "  →                  12%",
    ]
    rows = list(csv.reader(io.StringIO(csv_of(table))))
    assert rows[0] == ["name", "share_of", "share_of low", "share_of high"]
    assert rows[1] == ["a & b", "0.5", "0.25", "1.0"]
    assert rows[2] == ["→", "0.125", "", ""]


# -- the truth ----------------------------------------------------------------------------


@pytest.fixture
def tree(tmp_path: Path) -> Path:
    root = tmp_path / "tree"
    (root / "interval").mkdir(parents=True)
    (root / "interval/__init__.py").write_text(SOURCE, "utf-8")
    (root / "tests").mkdir()
    (root / "tests/test_interval.py").write_text(TESTS, "utf-8")
    return root


def test_hidden_tests_say_which_patches_are_right(tree: Path) -> None:
    engine = open_on(tree, sandbox="process")
    bug = Instance(id="x", repo="r", issue="", patch=fix("a-right"), test_patch=TEST_PATCH)
    try:
        hidden = HiddenTests(bug, engine)
        right = {name: hidden.is_right(patch_of(fix(name), name)) for name in FIXES}
        assert right == {"a-right": True, "b-literal": False, "c-wrong": False, "d-right-too": True}
        one = ("tests/test_interval.py::test_inside",)
        named = Instance(
            id="x", repo="r", issue="", patch=bug.patch, test_patch=TEST_PATCH, fail_to_pass=one
        )
        assert HiddenTests(named, engine).is_right(patch_of(fix("b-literal"), "b"))
        wrong = replace(named, patch=fix("c-wrong"))
        with pytest.raises(SubjectProblem, match="cannot judge"):
            HiddenTests(wrong, engine)
        assert valid(engine, TESTS + "\n\ndef test_new():\n    assert clamp(5, 0, 9) == 5\n")
        assert not valid(engine, TESTS + "\n\ndef test_new():\n    assert clamp(0, 0, 9) == 0\n")
        assert not valid(engine, TESTS.replace("== 2", "== 3"))
    finally:
        engine.close()


def valid(engine: object, source: str) -> bool:
    test = CandidateTest(
        id="t",
        name="test_new",
        issue="",
        origin=Origin(strategy="agent"),
        oracle=Oracle(kind=OracleKind.WRITTEN, sentence="", prior=0.5),
        path="tests/test_interval.py",
        source=source,
    )
    return is_valid(test, engine)  # type: ignore[arg-type]  # any engine


# -- what is kept -------------------------------------------------------------------------


def test_a_ledger_reads_what_others_wrote(tmp_path: Path) -> None:
    code = (
        "import sys; from pathlib import Path; from pytest_brt.evaluate.study import Ledger;"
        "Ledger(Path(sys.argv[1]), 's').put('theirs', 'a')"
    )
    subprocess.run([sys.executable, "-c", code, str(tmp_path)], check=True)
    ledger = Ledger(tmp_path, "s")
    ledger.put("ours", "b")
    again = Ledger(tmp_path, "s")
    assert (again.get(str, "a"), again.get(str, "b"), again.taken) == ("theirs", "ours", 2)
    assert Ledger(tmp_path, "other").get(str, "a") is None
    assert len(list(tmp_path.glob("journal-*.jsonl"))) == 2


def test_a_job_survives_its_way_to_a_worker() -> None:
    job = Job(
        stage=Stage.RANK,
        instance=Instance(id="x", repo="r", issue="i", patch="p"),
        environment=Environment(),
        settings=StudySettings(strategies=("replay",)),
    )
    assert from_json(to_json(job), Job) == job


# -- the whole of it ----------------------------------------------------------------------


def test_where_the_fix_is_can_be_given_away(tmp_path: Path) -> None:
    (instance,) = read_dataset(make_bugs(tmp_path, ("clamp",)))
    settings = StudySettings(strategies=("replay",), given=("files",))
    environment = Environment()
    job = Job(stage=Stage.REPRODUCE, instance=instance, environment=environment, settings=settings)
    kit = StudyKit(strategies={}, open_sandbox=partial(open_sandbox, "process"))
    with open_tree(job, kit, tmp_path / "scratch") as (engine, _):
        line = SOURCE[: SOURCE.index(CLAMP)].count("\n") + 1
        found = places_of_fix(instance, Path(engine.subject.root))
        assert found == (f"interval/__init__.py:{line}-{line}",)
        assert bench_of(job, kit, engine).buggy == ("interval/__init__.py",)
        blind = replace(job, settings=replace(settings, given=()))
        assert bench_of(blind, kit, engine).buggy == ()
        assert bench_of(blind, kit, engine).host == ""
        told = replace(job, settings=replace(settings, given=("test-file",)))
        assert bench_of(told, kit, engine).host == "tests/test_interval.py"


def test_what_cannot_be_studied_is_a_usage_error(pytester: pytest.Pytester) -> None:
    result = pytester.runpytest_subprocess("--brt-evaluate=nothing.jsonl")
    assert result.ret == pytest.ExitCode.USAGE_ERROR
    result.stderr.fnmatch_lines(["*no such file or folder: *nothing.jsonl*"])
    assert not (pytester.path / "brt-results").exists()
