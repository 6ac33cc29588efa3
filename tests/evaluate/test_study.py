"""Studies: what is run, told and kept."""

from __future__ import annotations

import csv
import io
import pickle
import subprocess
import sys
from dataclasses import replace
from functools import partial
from pathlib import Path

import msgspec
import pytest

from pytest_brt.errors import SubjectProblem
from pytest_brt.evaluate.dataset import Instance, read_dataset
from pytest_brt.evaluate.environments import Environment
from pytest_brt.evaluate.estimates import Estimate
from pytest_brt.evaluate.forms import as_csv, as_markdown, as_text
from pytest_brt.evaluate.job import Job, StudyKit, bench_of, open_tree
from pytest_brt.evaluate.record import (
    UNSTARTED,
    Flaw,
    PatchOutcome,
    Ranked,
    RankedBy,
    Reproduced,
    Stage,
    StudiedRun,
    StudySettings,
    TestOutcome,
)
from pytest_brt.evaluate.rows.patches import is_mixed, patch_order
from pytest_brt.evaluate.study import Ledger, attempts_for
from pytest_brt.evaluate.tables import Table
from pytest_brt.evaluate.truth import HiddenTests, extent_of, flaw_of, patch_of, places_of_fix
from pytest_brt.execute.engine import Engine
from pytest_brt.sandbox.available import open_sandbox
from pytest_brt.types import (
    Attempt,
    Author,
    CandidateTest,
    JudgedTest,
    Judgement,
    Oracle,
    OracleKind,
    Origin,
    Verdict,
)
from tests.evaluate.bugs import TEST_PATCH, fix, make_bugs
from tests.evaluate.studies import bug_with, lines, study, tables
from tests.support.interval import CLAMP, FIXES, SOURCE, TESTS, diff_of
from tests.support.projects import open_on


def outcome(after: Verdict, *, strategy: str = "replay", flaw: Flaw = Flaw.NONE) -> TestOutcome:
    return TestOutcome(
        strategy=strategy,
        index=0,
        name="t",
        rule="no-raise",
        confidence=0.5,
        after=after,
        flaw=flaw,
    )


# -- what is counted ----------------------------------------------------------------------


def test_the_shares_follow_their_definitions() -> None:
    pass_, fail = outcome(Verdict.PASS), outcome(Verdict.FAIL)
    changing = outcome(Verdict.PASS, flaw=Flaw.CHANGES_TESTS)
    unnamed = replace(pass_, candidate=False)
    result = study(
        bug_with(fail, pass_, name="1"),
        bug_with(changing, name="2"),
        bug_with(fail, name="3"),
        bug_with(outcome(Verdict.PASS, strategy="other"), name="4"),
        # It fails on the bug for no reason that can be named: the paper counts it.
        bug_with(unnamed, name="5"),
    )
    found = lines(tables(result)["reproduced"], 2)["replay", "r"]
    assert found == {
        "n": 5,
        "F→X": 4 / 5,
        "F→P": 3 / 5,
        "F→P of F→X": 3 / 4,
        "candidate": 3 / 5,
        "plausible": 2 / 5,
        "plausible of candidate": 0.667,
        "plausible first": 1 / 5,  # the best of the first bug is wrong
        "SWT-bench": 1 / 5,  # and fails with the fix: X→F
        "plausible, valid": 1 / 5,
        "plausible, no flaw": 1 / 5,
        "shown": 3 / 5,
    }


def test_ten_true_tests_that_do_not_agree_are_counted_and_not_shown() -> None:
    alone = replace(outcome(Verdict.PASS, strategy="libro"), agree=1)
    bugs = (bug_with(*[alone] * 10, name="a"), bug_with(replace(alone, agree=2), name="b"))
    found = lines(tables(study(*bugs, strategy="libro"))["reproduced"], 2)["libro", "r"]
    assert (found["F→X"], found["F→P"], found["candidate"], found["shown"]) == (1, 1, 1, 0.5)
    for agree, shown in {0: 1.0, 1: 0.5, 2: 0.0}.items():
        result = study(*bugs, strategy="libro", agree=agree)
        assert lines(tables(result)["reproduced"], 2)["libro", "r"]["shown"] == shown


@pytest.mark.parametrize(
    ("before", "after", "transition"),
    [
        (Verdict.FAIL, Verdict.PASS, "F→P"),
        (Verdict.CRASH, Verdict.TIMEOUT, "F→F"),
        (Verdict.PASS, Verdict.PASS, "P→P"),
        (Verdict.PASS, Verdict.FAIL, "P→F"),
        (Verdict.BROKEN, Verdict.PASS, "broken"),
        (Verdict.FAIL, Verdict.SKIP, "broken"),
    ],
)
def test_tests_are_told_apart_by_what_they_do_on_both_trees(
    before: Verdict, after: Verdict, transition: str
) -> None:
    test = replace(outcome(after), before=before)
    found = lines(tables(study(bug_with(test, name="a")))["transitions"], 2)
    assert found == {("replay", transition): {"n": 1, "share": 1.0}}


def test_flaws_of_plausible_tests_are_counted_apart() -> None:
    flaws = [*[Flaw.NONE] * 5, Flaw.CHANGES_TESTS, Flaw.ADDS_PASSING, Flaw.ADDS_PASSING]
    tests = [outcome(Verdict.PASS, flaw=flaw) for flaw in flaws]
    wrong = outcome(Verdict.FAIL, flaw=Flaw.CHANGES_TESTS)
    found = lines(tables(study(bug_with(*tests, wrong, name="a")))["flaws"], 2)
    assert found["replay", "none"] == {"n": 5, "share": 5 / 8}
    assert found["replay", "changes-tests"]["share"] == 1 / 8
    assert found["replay", "adds-passing"]["share"] == 2 / 8
    # The paper calls tests valid that bring others which pass on the bug.
    only = study(bug_with(outcome(Verdict.PASS, flaw=Flaw.ADDS_PASSING), name="a"))
    line = lines(tables(only)["reproduced"], 2)["replay", "r"]
    assert (line["plausible, valid"], line["plausible, no flaw"]) == (1, 0)


def patch(name: str, right: bool | None) -> PatchOutcome:
    return PatchOutcome(
        name=name, system="s", applies=True, right=right, same_as_fix=False, epr=1, score=0.5
    )


def test_a_ranking_counts_where_it_can_be_wrong() -> None:
    patches = (patch("a", True), patch("b", False), patch("c", None))
    bug = Ranked(instance="1", tests=1, patches=patches)
    assert is_mixed(bug)
    assert not is_mixed(Ranked(instance="1", tests=0, patches=patches))
    assert not is_mixed(Ranked(instance="1", tests=1, patches=patches[::2]))
    order = RankedBy(ranker="x", groups=(("c",), ("b", "c"), ("a",)))
    assert patch_order(bug, order) == [[False], [True]]


def run(*actions: str, strategy: str = "agent", endings: tuple[str, ...]) -> StudiedRun:
    return StudiedRun(strategy=strategy, index=0, actions=actions, endings=endings)


def test_actions_and_pairs_are_counted_over_runs() -> None:
    runs = (
        run("search", "edit", "test", endings=("finish",)),
        run("edit", "test", "", endings=("finish",)),
    )
    found = tables(study(Reproduced(instance="1", runs=runs), strategy="agent"))
    actions = lines(found["actions"], 3)
    assert actions["reproduce", "agent", "edit"] == {"times": 2, "share": 2 / 6}
    assert actions["reproduce", "agent", "other"]["times"] == 1
    assert [line[2:4] for line in found["pairs"].lines] == [
        ("edit→test", 2),
        ("search→edit", 1),
        ("test→other", 1),
    ]


def test_why_runs_ended_is_told_of_samples_and_of_runs_that_did_not_begin() -> None:
    runs = (
        run(strategy="libro", endings=("finish",) * 41 + ("tokens",) * 9),
        *(run(endings=(ending,)) for ending in ("finish", "finish", "steps", UNSTARTED)),
        run(strategy="replay", endings=()),
    )
    result = study(Reproduced(instance="1", runs=runs), strategy="agent")
    found = lines(tables(result)["endings"], 3)
    assert found == {
        ("reproduce", "libro", "finish"): {"times": 41, "share": 0.82},
        ("reproduce", "libro", "tokens"): {"times": 9, "share": 0.18},
        ("reproduce", "agent", "finish"): {"times": 2, "share": 0.5},
        ("reproduce", "agent", "steps"): {"times": 1, "share": 0.25},
        ("reproduce", "agent", "unstarted"): {"times": 1, "share": 0.25},
    }


def test_rankings_are_measured_up_to_five_and_at_each_threshold() -> None:
    patches = (
        replace(patch("a", True), epr=0.9),
        replace(patch("b", False), epr=0.95),
        replace(patch("c", True), epr=0.2),
        replace(patch("d", None), epr=1.0),
    )
    order = RankedBy(ranker="epr", groups=(("d",), ("b",), ("a",), ("c",)))
    bug = Ranked(instance="1", tests=1, patches=patches, orders=(order,))
    found = tables(study(bug))
    (line,) = lines(found["rankers"]).values()
    # Precision 0, 1/2, 2/3, 2/3, 2/3 and recall 0, 1/2, 1, 1, 1.
    assert [line[f"f1@{k}"] for k in range(1, 6)] == pytest.approx([0, 0.5, 0.8, 0.8, 0.8])
    assert line["mrr"] == 0.5
    thresholds = lines(found["thresholds"], 2)
    assert thresholds["EPR", 0.1]["MRR"] == 0.5
    assert thresholds["EPR", 0.9] == {
        "precision": 0.5,
        "recall": 0.5,
        "F1": 0.5,
        "MRR": 0.5,
        "bugs selecting": 1,
    }
    assert thresholds["EPR", 1.0]["precision"] is None


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
        heads=("name", "share_of"),
        forms=("", ".0%"),
        lines=(("a | b", Estimate(mean=0.5, low=0.25, high=1.0, n=4)), ("→", 0.125)),
    )
    assert as_text(table)[1:] == [
        "a title",
        "  name          share_of",
        "  a | b  50% [25%, 100%]",
        "  →                  12%",
    ]
    rows = list(csv.reader(io.StringIO(as_csv(table))))
    assert rows[0] == ["name", "share_of", "share_of low", "share_of high"]
    assert rows[1] == ["a | b", "0.5", "0.25", "1.0"]
    assert rows[2] == ["→", "0.125", "", ""]
    assert as_markdown(table).splitlines()[2:] == [
        "| name | share_of |",
        "| --- | --- |",
        "| a \\| b | 50% [25%, 100%] |",
        "| → | 12% |",
    ]


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
        # Those that fail on the bug can be given to a repair, as tests of a person.
        failing = [(judged.test.name, judged.test.origin.author) for judged in hidden.failing(1)]
        assert failing == [("test_inside", Author.PERSON), ("test_above", Author.PERSON)]
        wrong = msgspec.structs.replace(named, patch=fix("c-wrong"))
        with pytest.raises(SubjectProblem, match="cannot judge"):
            HiddenTests(wrong, engine)
        new = TESTS + "\n\ndef test_new():\n    assert clamp({0}, 0, 9) == {0}\n"
        assert flaw(engine, new.format(5)) is Flaw.NONE
        assert flaw(engine, new.format(0)) is Flaw.ADDS_PASSING
        assert flaw(engine, TESTS.replace("== 2", "== 3")) is Flaw.CHANGES_TESTS
    finally:
        engine.close()


def flaw(engine: Engine, source: str) -> Flaw:
    test = CandidateTest(
        id="t",
        name="test_new",
        issue="",
        origin=Origin(strategy="agent"),
        oracle=Oracle(kind=OracleKind.WRITTEN, sentence=""),
        path="tests/test_interval.py",
        source=source,
    )
    return flaw_of(test, engine)


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
    assert pickle.loads(pickle.dumps(job)) == job


def test_repairs_may_be_given_plausible_tests_alone() -> None:
    tests = tuple(judged_test(name) for name in ("right", "wrong"))
    attempt = Attempt(issue="x", strategy="agent", index=0, tests=tests)
    outcomes = (
        replace(outcome(Verdict.PASS), id="right"),
        replace(outcome(Verdict.FAIL), id="wrong"),
    )
    made = Reproduced(instance="x", tests=outcomes, attempts=(attempt,))
    given = {
        (stage, names): [
            judged.test.id
            for part in attempts_for(job_of(stage, names), made)
            for judged in part.tests
        ]
        for stage in (Stage.RANK, Stage.REPAIR)
        for names in ((), ("plausible-tests",))
    }
    both = ["right", "wrong"]
    assert given == {
        (Stage.RANK, ()): both,
        (Stage.RANK, ("plausible-tests",)): both,
        (Stage.REPAIR, ()): both,
        (Stage.REPAIR, ("plausible-tests",)): ["right"],
    }


def job_of(stage: Stage, given: tuple[str, ...]) -> Job:
    return Job(
        stage=stage,
        instance=Instance(id="x", repo="r", issue="i", patch="p"),
        environment=Environment(),
        settings=StudySettings(strategies=("agent",), given=given),
    )


def judged_test(name: str) -> JudgedTest:
    test = CandidateTest(
        id=name,
        name=name,
        issue="x",
        origin=Origin(strategy="agent"),
        oracle=Oracle(kind=OracleKind.WRITTEN, sentence=""),
        path="tests/test_x.py",
        source="",
    )
    judgement = Judgement(verdict=Verdict.FAIL, candidate=True, reason="", confidence=0.5)
    return JudgedTest(test=test, judgement=judgement)


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
        # Every test is counted; what users would be shown is worked out afterwards.
        strict = replace(job, settings=replace(settings, agree=5))
        assert bench_of(strict, kit, engine).agree == 0


def test_what_cannot_be_studied_is_a_usage_error(pytester: pytest.Pytester) -> None:
    result = pytester.runpytest_subprocess("--brt-study=nothing.jsonl")
    assert result.ret == pytest.ExitCode.USAGE_ERROR
    result.stderr.fnmatch_lines(["*no such file or folder: *nothing.jsonl*"])
    assert not (pytester.path / "brt-results").exists()
