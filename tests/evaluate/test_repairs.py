"""Repairs in a study: with and without the failing test, judged by what the tool never sees."""

from __future__ import annotations

import sys
from dataclasses import replace
from functools import partial
from pathlib import Path

import pytest

from pytest_brt.evaluate.dataset import Instance, read_predictions
from pytest_brt.evaluate.environments import Environment
from pytest_brt.evaluate.job import Job, StudyKit
from pytest_brt.evaluate.record import (
    About,
    Bug,
    RepairSettings,
    Stage,
    StudyResult,
    StudySettings,
    missed,
)
from pytest_brt.evaluate.repairs import indices, is_used, repair, ways_of, written
from pytest_brt.evaluate.rows.runs import ALONE, WITH_TEST
from pytest_brt.evaluate.rows.study import Rows, rows_of
from pytest_brt.evaluate.study import names_of, setting_of
from pytest_brt.evaluate.write import read_study
from pytest_brt.repair.strategy import BUILT_IN
from pytest_brt.sandbox.available import open_sandbox
from pytest_brt.types import (
    Call,
    CandidateTest,
    Done,
    Ending,
    FileChange,
    FixSource,
    JudgedTest,
    Judgement,
    NotDone,
    Oracle,
    OracleKind,
    Origin,
    Repair,
    Step,
    StepResult,
    Trajectory,
    Verdict,
)
from tests.evaluate.bugs import make_bugs
from tests.evaluate.shown import FILES, REPAIRED
from tests.support import tiny
from tests.support.interval import SOURCE
from tests.support.refusals import assert_refused
from tests.support.sessions import ONCE

LINE = 1 + SOURCE.splitlines().index("    return max(low, min(value, low))")
MODULE = "interval/__init__.py"


def fix(code: str, known: str) -> str:
    """Return what replies with `code` where a fix is due and the prompt says `known`."""
    return (
        f"=== always if: (?s){known}.*State: collect\n"
        f'{{"thought": "t", "action": "write_fix", "changes": "{MODULE} replace {LINE}"}}\n'
        f"```python\n    return {code}\n```\n"
    )


#: With the failing tests the right fix, when it is asked in the user's own words; without them one
#: that breaks nothing and is wrong.
AGENT = (
    fix("max(low, min(value, high))", "In our own words")
    + fix("value if value > low else low", "There is no failing test")
    + '=== always if: State: understand\n{"thought": "t", "action": '
    + '"express_hypothesis", "hypothesis": "low is given twice"}\n'
    + '=== always\n{"thought": "t", "action": "goal_accomplished", "reason": "r"}\n'
)
#: In the documentation.


def read(folder: Path) -> Rows:
    _, rows = read_study(folder / "brt-results/bugs")
    return rows


# -- what is done -------------------------------------------------------------------------


def test_the_ways_of_repairing_a_bug() -> None:
    settings = RepairSettings(
        strategies=("repairagent", "passerine"), without=(("search",), ("states", "memory"))
    )
    found = [(way.strategy, way.given, way.without) for way in ways_of(settings, tested=True)]
    assert found == [
        ("repairagent", True, ()),
        ("repairagent", False, ()),
        ("repairagent", True, ("search",)),
        ("repairagent", True, ("states", "memory")),
        ("passerine", True, ()),
        ("passerine", False, ()),
    ]
    blind = ways_of(settings, tested=False)
    assert [(way.strategy, way.given) for way in blind] == [
        ("repairagent", False),
        ("passerine", False),
    ]


def test_only_bugs_with_a_plausible_test_are_repaired_where_no_other_is_given() -> None:
    job = Job(
        stage=Stage.REPAIR,
        instance=Instance(id="x", repo="r", issue="i", patch="p"),
        environment=Environment(),
        settings=StudySettings(
            strategies=("agent",),
            given=("plausible-tests",),
            repairs=RepairSettings(strategies=("passerine",)),
        ),
    )
    kit = StudyKit(strategies={}, open_sandbox=partial(open_sandbox, "process"))
    found = repair(job, kit, Path("nowhere"))
    assert (found.problem, found.runs) == ("", ())
    assert missed(found) == "no plausible test to give"
    bug = Bug(id="x", repo="r", extent="single-line")
    about = About(version="1", dataset="d", settings=job.settings)
    (row,) = rows_of(StudyResult(about=about, bugs=(bug,), repaired=(found,)))["bugs"]
    assert (row["not_run"], row["studied"], row["seconds"]) == (1, 0, None)


def test_a_strategy_that_mixes_runs_half_with_and_half_without() -> None:
    passerine, agent = BUILT_IN["passerine"], BUILT_IN["repairagent"]
    with_, without = (list(indices(passerine, None, given=given)) for given in (True, False))
    assert sorted(with_ + without) == list(range(20))
    assert all(number % 2 == 0 for number in with_)
    assert len(with_) == len(without) == 10
    assert list(indices(passerine, 1, given=False)) == [1]
    assert list(indices(agent, None, given=False)) == [0]
    assert list(indices(agent, 3, given=True)) == [0, 1, 2]


def judged_test(name: str, path: str) -> JudgedTest:
    test = CandidateTest(
        id=name,
        name=name,
        issue="i",
        origin=Origin(strategy="given"),
        oracle=Oracle(kind=OracleKind.WRITTEN, sentence=""),
        path=path,
        source="",
    )
    judgement = Judgement(verdict=Verdict.FAIL, candidate=True, reason="", confidence=1.0)
    return JudgedTest(test=test, judgement=judgement)


def done(*steps: Step, brt: str = "test_it") -> Repair:
    trajectory = Trajectory(steps=steps, ending=Ending.FINISH)
    return Repair(
        issue="i", strategy="passerine", index=0, fixes=(), brt=brt, trajectory=trajectory
    )


def test_what_a_run_wrote_is_each_tree_after_an_edit(tmp_path: Path) -> None:
    def edit(number: int, path: str, text: str) -> Step:
        change = FileChange(path=path, content=text.encode())
        result = Done(changes=(change,))
        return Step(number=number, reply="", call=Call(action="edit"), result=result)

    steps = (edit(1, "a.py", "1"), Step(number=2, reply=""), edit(3, "b.py", "2"))
    (one, first), (two, second) = [
        (step, [(change.path, change.content) for change in changes])
        for step, _, changes in written(done(*steps), tmp_path)
    ]
    assert (one, first) == (1, [("a.py", b"1")])
    assert (two, second) == (3, [("a.py", b"1"), ("b.py", b"2")])


def test_reading_or_running_the_test_is_using_it() -> None:
    judged = judged_test("test_it", "tests/test_it.py")

    def used(
        action: str, path: str, *, result: StepResult | None = None, brt: str = "test_it"
    ) -> bool:
        call = Call(action=action, arguments=(("path", path),) if path else ())
        step = Step(number=1, reply="", call=call, result=result or Done())
        return is_used(done(step, brt=brt), [judged])

    assert used("test", "tests/test_it.py")
    assert used("cat", "tests/test_it.py")
    assert used("write_fix", "")
    assert not used("test", "tests/test_other.py")
    assert not used("test", "tests/test_it.py", result=NotDone())
    assert not used("cat", "tests/test_it.py", brt="")
    assert not used("express_hypothesis", "")


def test_how_bugs_are_repaired_is_no_reason_to_reproduce_them_again() -> None:
    job = Job(
        stage=Stage.REPRODUCE,
        instance=Instance(id="x", repo="r", issue="i", patch="p"),
        environment=Environment(),
        settings=StudySettings(strategies=("replay",)),
    )
    repairs = RepairSettings(strategies=("passerine",))
    other = replace(job, settings=replace(job.settings, repairs=repairs))
    assert setting_of(job.settings) == setting_of(other.settings)
    assert names_of(job) == names_of(other)
    fewer = replace(repairs, variants=3)
    one, two = (
        replace(other, stage=Stage.REPAIR, settings=replace(job.settings, repairs=by))
        for by in (repairs, fewer)
    )
    assert names_of(one) != names_of(two)
    # Nor is what repairs alone are told, of which they depend.
    told = replace(job.settings, given=("place", "plausible-tests"))
    assert setting_of(told) == setting_of(job.settings)
    assert names_of(replace(job, settings=told)) == names_of(job)
    repair = replace(job, stage=Stage.REPAIR)
    assert names_of(replace(repair, settings=told)) != names_of(repair)
    files = replace(job.settings, given=("files",))
    assert setting_of(files) != setting_of(job.settings)


# -- a study ------------------------------------------------------------------------------


@pytest.mark.slow
@pytest.mark.long
@pytest.mark.usefixtures("without_plots")
def test_a_bug_is_repaired_with_and_without_its_failing_test(pytester: pytest.Pytester) -> None:
    make_bugs(pytester.path, ("clamp",))
    (pytester.path / "fixes.txt").write_text(AGENT, "utf-8")
    words = "{% if tests %}In our own words{% else %}There is no failing test{% endif %}"
    pytester.mkdir("words").joinpath("repair").mkdir()
    (pytester.path / "words/repair/bug.j2").write_text(words, "utf-8")
    (pytester.path / "parts.toml").write_text(FILES["parts.toml"], "utf-8")
    typed = (*REPAIRED.split()[1:], "--prompts=words", "-v", *ONCE.split())
    result = pytester.run(sys.executable, "-m", "pytest_brt", *typed)
    result.stdout.fnmatch_lines(["*issue.md::clamp-repair PASSED*"])
    result.stdout.no_fnmatch_line("*clamp-rank*")
    rows = read(pytester.path)
    runs = {(row["given"], row["without"]): row for row in rows["runs"]}
    less = ("search", "search, memory")
    ways = [(WITH_TEST, parts) for parts in ("", *less)]
    assert set(runs) == {*ways, (ALONE, "")}
    for way in ways:
        run = runs[way]
        assert (run["right"], run["use"], run["first_right"]) == (1, "used", 2)
    fixes = {(row["given"], row["without"]): row for row in rows["fixes"]}
    names = ("step", "source", "kept", "own", "right", "same_as_fix")
    for way in ways:
        assert [fixes[way][name] for name in names] == [2, FixSource.AGENT, 1, 1, 1, 1]
    blind = runs[ALONE, ""]
    assert (blind["right"], blind["use"], blind["first_right"]) == (0, "not-given", None)
    # It passes the most trusted of our tests, and fails a hidden one.
    assert [fixes[ALONE, ""][name] for name in names[2:]] == [1, 1, 0, 0]
    actions = [row["action"] for row in rows["steps"] if row["strategy"] == "repairagent"]
    assert actions.count("write_fix") == 2
    assert blind["ending"] == "finish"
    writes = {(row["outcome"], row["plausible"]) for row in rows["steps"] if row["writes"]}
    assert writes == {("fixed", 1), ("unfixed", 0)}
    # What was kept can be ranked by another study.
    fixes_of = pytester.path / "brt-results/bugs/fixes"
    pools = [read_predictions([fixes_of / f"{given}.jsonl"]) for given in (WITH_TEST, ALONE)]
    assert [[fix.plausible for fix in pool["clamp"]] for pool in pools] == [[True], [False]]
    assert "+    return max(low, min(value, high))" in pools[0]["clamp"][0].text


@pytest.mark.slow
@pytest.mark.usefixtures("without_plots")
def test_a_model_that_says_anything_is_measured_too(pytester: pytest.Pytester) -> None:
    make_bugs(pytester.path, ("clamp",))
    tiny.write_llama(pytester.path / "tiny.gguf", context=3_072)
    (pytester.path / "bugs.toml").write_text('dataset = "bugs"\nstages = ["repair"]\n', "utf-8")
    result = pytester.runpytest_subprocess(
        *("--brt-study=bugs.toml", "--brt-strategy=replay", "--brt-model=gguf:tiny.gguf", "-v"),
        *("--brt-repair-strategy=passerine", "--brt-guard=no"),
        *("--brt-steps=1", "--brt-samples=1", "--brt-variants=0"),
        *("--brt-engine=auto,threads=1", "--brt-repeat=1"),
    )
    result.stdout.fnmatch_lines(
        ["*issue.md::clamp-repair SKIPPED*", "*bugs repaired, with and without*"]
    )
    runs = read(pytester.path)["runs"]
    assert [(run["strategy"], run["given"]) for run in runs] == [
        ("passerine", WITH_TEST),
        ("passerine", ALONE),
    ]
    for run in runs:
        assert (run["patches"], run["right"]) == (0, 0)
        assert run["ending"] in {"steps", "loop", "tokens"}
        assert float(run["tokens"] or 0) > 0


def test_what_cannot_be_repaired_is_a_usage_error(pytester: pytest.Pytester) -> None:
    make_bugs(pytester.path, ("clamp",))
    (pytester.path / "x").write_text("=== reply\n", "utf-8")
    (pytester.path / "bugs.toml").write_text('dataset = "bugs"\nstages = ["repair"]\n', "utf-8")
    (pytester.path / "win.toml").write_text('dataset = "bugs"\nstages = ["win"]\n', "utf-8")
    scripted = "--brt-study=bugs.toml --brt-model=scripted:x"
    nowhere = "nothing is taken away where no repair is told the place"
    messages = {
        "--brt-study=bugs.toml": "fixes are written by a model",
        "--brt-study=win.toml": "win.toml': Invalid enum value 'win'",
        f"{scripted} --brt-without=place": nowhere,
        f"{scripted} --brt-repair-strategy=magic": "known: auto, passerine, repairagent",
    }
    assert_refused(pytester, messages)
