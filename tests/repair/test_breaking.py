"""A fix that passes the bug tests may break existing ones because those are wrong."""

from __future__ import annotations

from collections.abc import Callable, Iterator

import pytest

from pytest_brt.issue.load import read_issue
from pytest_brt.render.fixes import fix_words
from pytest_brt.repair.passerine import run_passerine
from pytest_brt.repair.patch import chosen, files_of
from pytest_brt.repair.repairagent import run_repairagent
from pytest_brt.types import Ending, FoundFix, Repair
from tests.repair.scenes import LINE, MODULE, TESTS, WRONG_TEST, Scene, open_scene, scripted

RIGHT = "    return max(low, min(value, high))\n"
#: Right but for what somebody wrote down about 250.
OVERFITTED = "    return max(low, min(value, low if value == 250 else high))\n"
BROKEN = "tests/test_interval.py::test_percent_of_much"


@pytest.fixture(scope="module")
def breaking(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Scene]:
    files = {"tests/test_interval.py": TESTS + WRONG_TEST}
    with open_scene(tmp_path_factory.mktemp("breaking") / "project", files) as scene:
        yield scene


def agent(scene: Scene, *fixes: str, ends: int = 1) -> Repair:
    """Return what RepairAgent makes of a model that writes `fixes`, and then `ends` so often."""
    head = f'{{"thought": "t", "action": "write_fix", "changes": "{MODULE} replace {LINE}"}}'
    script = '=== reply\n{"thought": "t", "action": "express_hypothesis", "hypothesis": "h"}\n'
    script += "".join(f"=== reply\n{head}\n```python\n{fix}```\n" for fix in fixes)
    script += '=== reply\n{"thought": "t", "action": "goal_accomplished", "reason": "r"}\n' * ends
    return run_repairagent(0, scene.bench(scripted(scene.root.parent, script), variants=0))


def passerine(scene: Scene, *fixes: str) -> Repair:
    """Return what Passerine makes of a model that writes `fixes` one after the other."""
    head = f'{{"thought": "t", "action": "change", "changes": "replace {LINE}"}}'
    script = "".join(
        f"=== reply if: What to change: no {number}\\b\n{head}\n```python\n{fix}```\n"
        for number, fix in enumerate(fixes)
    )
    script += "".join(
        f'=== reply\n{{"thought": "t", "action": "edit", "path": "{MODULE}", "prompt": "no {n}"}}\n'
        for n in range(len(fixes))
    )
    script += f'=== always\n{{"thought": "t", "action": "cat", "path": "{MODULE}", "first": 1}}\n'
    return run_passerine(1, scene.bench(scripted(scene.root.parent, script)))


def told(fix: FoundFix) -> str:
    assert fix.guarded is not None
    return fix_words(fix).replace(f"of {fix.guarded.ran} existing tests", "of N existing tests")


@pytest.mark.parametrize("repair", [agent, passerine])
def test_a_right_fix_that_breaks_a_wrong_test_is_kept_and_shown_as_such(
    breaking: Scene, repair: Callable[..., Repair]
) -> None:
    done = repair(breaking, RIGHT)
    (fix,) = done.fixes
    assert "max(low, min(value, high))" in fix.patch.text
    assert (fix.plausible, fix.broken) == (False, 1)
    assert told(fix) == f"passes 4 of 4 bug tests and breaks 1 of N existing tests: {BROKEN}"
    (alike,) = chosen([done], ())
    issue = read_issue("# clamp() always returns the lower bound\n", "clamp.md")
    ((_, text),) = files_of(alike, issue)
    assert f"existing tests: {BROKEN}\n# Bug tests that pass: test_clamp" in text


@pytest.mark.parametrize("repair", [agent, passerine])
def test_it_stands_below_one_that_breaks_none(
    breaking: Scene, repair: Callable[..., Repair]
) -> None:
    fixes = (RIGHT, OVERFITTED) if repair is agent else (OVERFITTED, RIGHT)
    done = repair(breaking, *fixes)
    first, last = (alike[0][0] for alike in chosen([done], ()))
    assert "250" in first.patch.text
    assert [fix.broken for fix in (first, last)] == [0, 1]
    assert first.plausible


def test_the_model_cannot_end_with_it_but_knows_that_the_user_sees_it(breaking: Scene) -> None:
    done = agent(breaking, RIGHT)
    assert done.trajectory is not None
    _, fix, end, *_ = done.trajectory.steps
    assert f"But the fix breaks 1 of the existing tests:\n- {BROKEN}" in fix.observation
    assert fix.observation.endswith("shown to the user as one that breaks existing tests.")
    assert not end.is_done
    assert end.observation.startswith("The fix breaks existing tests.")


def test_the_model_ends_with_it_by_saying_so_again(breaking: Scene) -> None:
    done = agent(breaking, RIGHT, ends=2)
    assert done.trajectory is not None
    assert [step.is_done for step in done.trajectory.steps] == [True, True, False, True]
    assert done.trajectory.ending is Ending.FINISH


def test_what_no_bug_test_speaks_for_is_not_kept_when_it_breaks_something(scene: Scene) -> None:
    head = f'{{"thought": "t", "action": "change", "changes": "replace {LINE}"}}'
    script = f"=== reply if: What to change\n{head}\n```python\n    return high\n```\n"
    script += (
        f'=== reply\n{{"thought": "t", "action": "edit", "path": "{MODULE}", "prompt": "x"}}\n'
    )
    script += f'=== always\n{{"thought": "t", "action": "cat", "path": "{MODULE}", "first": 1}}\n'
    done = run_passerine(1, scene.bench(scripted(scene.root.parent, script), tests=False))
    assert (done.fixes, done.notes) == ((), ("the changed code does not pass the tests",))
