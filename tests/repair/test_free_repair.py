"""The repair agent of `auto`: it writes a fix at once, and ends by itself."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import pytest

from pytest_brt.issue.load import read_issue
from pytest_brt.repair.bench import RepairBench
from pytest_brt.repair.free_repair import run_free_repair
from pytest_brt.types import Ending, FixSource, OracleKind, Repair, Step
from tests.repair.scenes import (
    LINE,
    MODULE,
    Listener,
    Scene,
    ShortModel,
    scripted,
)

RIGHT = "    return max(low, min(value, high))"


def fix(code: str) -> str:
    header = {"thought": "t", "action": "write_fix", "changes": f"{MODULE} replace {LINE}"}
    return f"=== reply\n{json.dumps(header)}\n```python\n{code}\n```\n"


def act(action: str, **arguments: object) -> str:
    return f"=== reply\n{json.dumps({'thought': 't', 'action': action, **arguments})}\n"


def steps_of(repair: Repair) -> tuple[Step, ...]:
    assert repair.trajectory is not None
    return repair.trajectory.steps


def test_a_fix_that_stands_ends_it(scene: Scene, tmp_path: Path) -> None:
    done = run_free_repair(0, scene.bench(scripted(tmp_path, fix(RIGHT))))
    (found,) = done.fixes
    assert found.plausible
    assert len(steps_of(done)) == 1
    assert done.trajectory is not None
    assert done.trajectory.ending is Ending.FINISH


def test_the_opening_has_what_a_fix_needs(scene: Scene, tmp_path: Path) -> None:
    model = Listener(scripted(tmp_path, fix(RIGHT)))
    bench = scene.bench(model)
    run_free_repair(0, bench)
    system, user = (message.text for message in model.asked[0].messages)
    assert f"{LINE:5}|     return max(low, min(value, low))" in user
    assert bench.bug.failing[0].test.name in user
    assert "goal_accomplished" not in system
    # Looking and searching are there from the first step on.
    for name in ("look", "search", "list_calls", "run_tests", "write_fix"):
        assert f"- {name}: " in system


def test_looking_around_first_is_possible_and_the_end_is_not(scene: Scene, tmp_path: Path) -> None:
    script = (
        act("look", path=f"{MODULE}:{LINE}")
        + act("search", text="clamp")
        + act("list_calls", name="clamp", path="")
        + act("run_tests", which="failing")
        + act("finish")
        + fix(RIGHT)
    )
    steps = steps_of(run_free_repair(0, scene.bench(scripted(tmp_path, script))))
    assert [step.is_done for step in steps] == [True, True, True, True, False, True]
    assert "interval/slider.py:13 in Slider.moveTo" in steps[2].observation


def test_other_versions_of_a_failing_fix_come_in_one_answer(scene: Scene, tmp_path: Path) -> None:
    versions = "\n".join(
        f"```python\n{code}\n```"
        for code in ("    return low", "    return min(low, high)", RIGHT, RIGHT + "  # again")
    )
    model = Listener(scripted(tmp_path, fix("    return high - high") + f"=== reply\n{versions}\n"))
    done = run_free_repair(0, scene.bench(model))
    (found,) = done.fixes
    assert (found.source, found.plausible) == (FixSource.VARIANT, True)
    assert [prompt.samples for prompt in model.asked] == [1, 1]
    (step,) = steps_of(done)
    # The last two make one program.
    assert len(step.fixes) == 4
    assert [tried.passes for tried in step.fixes] == [False, False, False, True]


def test_a_version_that_was_cut_off_is_not_tried(scene: Scene, tmp_path: Path) -> None:
    versions = f"=== reply\n```python\n    return low\n```\n```python\n{RIGHT}\n"
    model = ShortModel(scripted(tmp_path, fix("    return high - high") + versions), "versions")
    done = run_free_repair(0, scene.bench(model, steps=1))
    (step,) = steps_of(done)
    assert [tried.passes for tried in step.fixes] == [False, False]


def test_no_question_is_asked_twice(scene: Scene, tmp_path: Path) -> None:
    again = fix("    return high") + "=== reply\nnothing\n" + fix("    return high  # the same")
    model = Listener(scripted(tmp_path, again + "=== reply\nnothing\n" + fix(RIGHT)))
    run_free_repair(0, scene.bench(model))
    texts = ["\n".join(message.text for message in prompt.messages) for prompt in model.asked]
    assert len(set(texts)) == len(texts)


def test_it_works_without_a_failing_test(scene: Scene, tmp_path: Path) -> None:
    script = fix("    return min(value, high)") + "=== reply\nnothing\n" + fix(RIGHT)
    model = Listener(scripted(tmp_path, script))
    done = run_free_repair(0, scene.bench(model, tests=False))
    assert "No test fails because of the bug" in model.asked[0].messages[-1].text
    (found,) = done.fixes
    assert "max(low, min(value, high))" in found.patch.text
    assert (found.plausible, found.total) == (False, 0)
    assert "breaks 2 of the existing tests" in steps_of(done)[0].observation


def weakly_tested(bench: RepairBench) -> RepairBench:
    failing = tuple(
        judged for judged in bench.bug.failing if judged.test.oracle.kind is OracleKind.GONE
    )
    assert failing
    trials = type(bench.bug.trials)(bench.bug.trials.engine, failing, lambda _: None)
    return replace(bench, bug=replace(bench.bug, failing=failing, trials=trials))


def test_what_the_code_gives_now_is_shown_where_any_other_value_passes(
    scene: Scene, tmp_path: Path
) -> None:
    script = fix("    return low + 1") + act("finish")
    done = run_free_repair(0, weakly_tested(scene.bench(scripted(tmp_path, script))))
    first, last = steps_of(done)
    assert "gives 1 with it, and 0 without" in first.observation
    assert "If that is what the report asks for, finish." in first.observation
    assert last.action == "finish"


LONG = "\n".join(f"package-{number}    1.{number}.0    pypi_0    pypi" for number in range(400))


@pytest.mark.parametrize("context", [0, 6_000])
def test_the_report_is_folded(scene: Scene, tmp_path: Path, context: int) -> None:
    model = Listener(scripted(tmp_path, fix(RIGHT), context=context))
    bench = scene.bench(model)
    text = f"# It is wrong\n\n`clamp(5, 0, 10)` gives 0, not 5.\n\n```\n{LONG}\n```\n"
    issue = read_issue(text, "issue.md")
    run_free_repair(0, replace(bench, bug=replace(bench.bug, issue=issue)))
    user = model.asked[0].messages[-1].text
    assert "`clamp(5, 0, 10)` gives 0, not 5." in user
    assert "package-200" not in user
    assert "lines left out" in user


def test_a_prompt_that_does_not_fit_is_a_dialogue_of_no_steps(scene: Scene, tmp_path: Path) -> None:
    done = run_free_repair(0, scene.bench(scripted(tmp_path, fix(RIGHT), context=300)))
    assert done.trajectory is not None
    assert (done.trajectory.ending, done.trajectory.steps) == (Ending.TOKENS, ())
    (note,) = done.notes
    assert "does not fit the model's context of 300 tokens" in note
