"""Passerine with scripted replies: through refusals and a bad edit to a fix."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from pytest_brt.agent.action import Refusal
from pytest_brt.agent.memory import Counter
from pytest_brt.model.scripted import ScriptedModel
from pytest_brt.repair.passerine import Passerine, run_passerine
from pytest_brt.types import Ending, FileChange, Repair
from tests.repair.scenes import LINE, MODULE, Scene, ShortModel, scripted
from tests.support.trees import tree_hash

TEST = "tests/test_interval.py"
REPLIES = f"""\
=== reply if: What to change: use high
{{"thought": "t", "action": "change", "changes": "replace {LINE}"}}
```python
return min(value, high)
```
=== reply if: What to change: break it
no answer at all
=== reply if: What to change: take max as well
[{{"file_path": "{MODULE}", "modifications": [{{"line_number": {LINE}, "modified_line":
"    return max(low, min(value, high))"}}]}}]
=== reply
{{"thought": "Done?", "action": "finish"}}
=== reply
{{"thought": "See.", "action": "cat", "path": "{MODULE}", "first": 1}}
=== reply
{{"thought": "Search.", "action": "code_search", "keywords": "clamp"}}
=== reply
{{"thought": "Change the test.", "action": "edit", "path": "{TEST}", "prompt": "x"}}
=== reply
{{"thought": "Bad.", "action": "edit", "path": "{MODULE}", "prompt": "break it"}}
=== reply
{{"thought": "Upper.", "action": "edit", "path": "{MODULE}", "prompt": "use high, line {LINE}"}}
=== reply
{{"thought": "Done?", "action": "finish"}}
=== reply
{{"thought": "Test.", "action": "test", "path": "{TEST}"}}
=== reply
{{"thought": "Lower.", "action": "edit", "path": "{MODULE}", "prompt": "take max as well"}}
=== reply
{{"thought": "Test.", "action": "test", "path": "{TEST}"}}
=== reply
{{"thought": "Yes.", "action": "finish"}}
"""
#: As the paper's JSON is no header with an action, the answer is one with it as its argument.
PAPER = REPLIES.replace(
    f'[{{"file_path": "{MODULE}", "modifications": [{{"line_number": {LINE}, "modified_line":\n'
    '"    return max(low, min(value, high))"}]}]',
    f'{{"thought": "t", "action": "change", "changes": [{{"file_path": "{MODULE}", '
    f'"modifications": [{{"line_number": {LINE}, '
    '"modified_line": "    return max(low, min(value, high))"}]}]}',
)


@pytest.fixture(scope="module")
def done(scene: Scene, tmp_path_factory: pytest.TempPathFactory) -> Repair:
    before = tree_hash(scene.root)
    model = scripted(tmp_path_factory.mktemp("model"), PAPER)
    repair = run_passerine(1, scene.bench(model))
    assert tree_hash(scene.root) == before
    return repair


def test_it_ends_with_a_fix(done: Repair) -> None:
    assert done.trajectory is not None
    assert done.trajectory.ending is Ending.FINISH
    (fix,) = done.fixes
    assert fix.plausible
    assert "+    return max(low, min(value, high))\n" in fix.patch.text
    assert done.brt == ""


def test_what_is_not_to_be_done_is_refused(done: Repair) -> None:
    assert done.trajectory is not None
    problems = ["" if step.is_done else step.observation for step in done.trajectory.steps]
    assert "Edit the code first" in problems[0]
    assert "is tests: only code of the project" in problems[3]
    assert "could not be read" in problems[4]
    assert problems[5] == ""
    assert "No test was run yet" in problems[6]
    told = done.trajectory.steps[7].observation
    assert told.startswith("3 tests: 2 newly fail, 1 passes:\n")
    assert done.trajectory.steps[9].observation == "3 tests: all pass."


def test_an_edit_that_was_cut_off_is_not_made(scene: Scene, tmp_path: Path) -> None:
    text = (
        "=== reply if: What to change: use high\n"
        f'{{"thought": "t", "action": "change", "changes": "replace {LINE}"}}\n'
        "```python\n    return min(value, high)\n"
        f'=== reply\n{{"thought": "t", "action": "edit", "path": "{MODULE}", '
        '"prompt": "use high"}\n'
    )
    done = run_passerine(1, scene.bench(ShortModel(scripted(tmp_path, text), "edit"), steps=1))
    assert done.trajectory is not None
    (step,) = done.trajectory.steps
    assert step.changes == ()
    assert "Your code was cut off" in step.observation


def test_an_edit_shows_what_it_changed_and_names_the_nearest_tests(done: Repair) -> None:
    assert done.trajectory is not None
    shown = done.trajectory.steps[5].observation.splitlines()
    assert shown[0] == f"Edited {MODULE}, line {LINE}. Now:"
    assert f"{LINE:5}|     return min(value, high)" in shown
    # Numbered are the lines around it: five on each side, and nothing is left out between.
    numbers = [int(line[:5]) for line in shown if line[5:6] == "|"]
    assert numbers == list(range(max(1, LINE - 5), numbers[-1] + 1))
    assert numbers[-1] <= LINE + 5
    assert shown[-1] == f"Run the tests: {TEST}."


def test_an_example_in_a_docstring_is_no_test_file_to_run(scene: Scene, tmp_path: Path) -> None:
    path = "interval/means.py"
    shown = 'def mean(value):\n    """Mean of one.\n\n    >>> mean(2)\n    2\n    """\n'
    code = f"{shown}    return 1 * value\n"
    with scene.with_file(path, code, scripted(tmp_path, "=== reply\n"), tests=False) as bench:
        change = FileChange(path=path, content=code.replace("1 * value", "value * 1").encode())
        assert bench.bug.tests_near((change,)) == (TEST,)


def test_the_search_looks_into_the_files_as_they_were_edited(scene: Scene, tmp_path: Path) -> None:
    text = (
        "=== reply if: What to change: rename\n"
        f'{{"thought": "t", "action": "change", "changes": "replace {LINE}"}}\n'
        "```python\n    widest_bound = min(value, high)\n    return max(low, widest_bound)\n```\n"
        '=== reply\n{"thought": "t", "action": "code_search", "keywords": "widest_bound"}\n'
        f'=== reply\n{{"thought": "t", "action": "edit", "path": "{MODULE}", "prompt": "rename"}}\n'
        '=== reply\n{"thought": "t", "action": "code_search", "keywords": "widest_bound"}\n'
    )
    done = run_passerine(1, scene.bench(scripted(tmp_path, text), steps=3))
    assert done.trajectory is not None
    before, _, after = (step.observation for step in done.trajectory.steps)
    assert before.startswith("Nothing in the project has 'widest_bound' in it.")
    assert after.splitlines()[0] == f"{MODULE}:{LINE}: widest_bound = min(value, high)"


def test_a_long_file_is_shown_without_a_hole_and_how_to_go_on(scene: Scene, tmp_path: Path) -> None:
    path = "interval/long.py"
    text = "".join(f"X{n} = {n}\n" for n in range(1, 601))
    ask = f'=== reply\n{{"thought": "t", "action": "cat", "path": "{path}", "first": '
    model = scripted(tmp_path, f"{ask}1}}\n{ask}590}}\n")
    with scene.with_file(path, text, model, tests=False, steps=2) as bench:
        done = run_passerine(1, bench)
    assert done.trajectory is not None
    first, rest = (step.observation.splitlines() for step in done.trajectory.steps)
    last = len(first) - 2
    assert 20 < last < 600
    assert first[0] == f"{path}, lines 1 to {last} of 600:"
    assert [int(line[:5]) for line in first[1:-1]] == list(range(1, last + 1))
    assert first[-1] == f"[… go on with line {last + 1} …]"
    assert rest[0] == f"{path}, lines 590 to 600 of 600, the end:"
    assert rest[-1] == "  600| X600 = 600"


def test_the_indentation_of_an_edit_is_put_right(done: Repair) -> None:
    assert done.trajectory is not None
    (change,) = done.trajectory.steps[5].changes
    assert b"\n    return min(value, high)\n" in (change.content or b"")


def with_brt(scene: Scene, model: ScriptedModel, index: int) -> Repair:
    brt = scene.bug().failing[0] if index % 2 == 0 else None
    return run_passerine(index, scene.bench(model, brt=brt, steps=6))


def test_the_given_test_is_a_file_of_the_tree(scene: Scene, tmp_path: Path) -> None:
    test = scene.bug().failing[0].test
    search = f'{{"thought": "t", "action": "code_search", "keywords": "{test.name}"}}\n'
    edit = f'{{"thought": "t", "action": "edit", "path": "{test.path}", "prompt": "no"}}\n'
    text = f"=== reply\n{search}=== reply\n{edit}=== always\n{search}"
    given = with_brt(scene, scripted(tmp_path, text), 0)
    assert given.trajectory is not None
    found, refused = (step.observation for step in given.trajectory.steps[:2])
    assert re.match(rf"{test.path}:\d+: def {test.name}\(", found)
    opening = Passerine(scene.bench(scripted(tmp_path, text), brt=scene.bug().failing[0]))
    (_, user) = opening.messages((), 4000, Counter(scripted(tmp_path, text)))
    assert f"{test.path}: {test.name}" in user.text
    assert f"def {test.name}" not in user.text
    assert "only code of the project" in refused
    alone = run_passerine(1, scene.bench(scripted(tmp_path, text)))
    assert alone.trajectory is not None
    assert test.path not in alone.trajectory.steps[0].observation


def test_only_a_run_that_is_given_the_test_has_it(scene: Scene, tmp_path: Path) -> None:
    name = scene.bug().failing[0].test
    text = (
        "=== reply if: A test that fails because of the bug\n"
        f'{{"thought": "t", "action": "test", "path": "{name.path}"}}\n'
        f'=== reply\n{{"thought": "t", "action": "cat", "path": "{name.path}", "first": 1}}\n'
        f'=== reply\n{{"thought": "t", "action": "test", "path": "{name.path}"}}\n'
        f'=== always\n{{"thought": "t", "action": "cat", "path": "{MODULE}", "first": 1}}\n'
    )
    given = with_brt(scene, scripted(tmp_path, text), 0)
    assert given.brt == name.name
    assert given.trajectory is not None
    assert given.trajectory.steps[0].observation.startswith("The test fails:")
    assert f"def {name.name}" in given.trajectory.steps[1].observation
    other = with_brt(scene, scripted(tmp_path, text), 1)
    assert (other.brt, other.fixes) == ("", ())
    assert other.trajectory is not None
    assert not any(step.action == "test" and step.is_done for step in other.trajectory.steps)


def test_the_given_test_is_in_no_patch(scene: Scene, tmp_path: Path) -> None:
    brt = scene.bug().failing[0]
    done = run_passerine(0, scene.bench(scripted(tmp_path, PAPER), brt=brt))
    (fix,) = done.fixes
    assert re.findall(r"^\+\+\+ b/(.*)$", fix.patch.text, re.MULTILINE) == [MODULE]


def test_a_fix_that_was_broken_again_is_found(scene: Scene, tmp_path: Path) -> None:
    text = (
        f"=== reply if: What to change: right\n"
        f'{{"thought": "t", "action": "change", "changes": "replace {LINE}"}}\n'
        "```python\n    return max(low, min(value, high))\n```\n"
        f"=== reply if: What to change: wrong\n"
        f'{{"thought": "t", "action": "change", "changes": "replace {LINE}"}}\n'
        "```python\n    return high - high\n```\n"
        f'=== reply\n{{"thought": "t", "action": "edit", "path": "{MODULE}", "prompt": "right"}}\n'
        f'=== reply\n{{"thought": "t", "action": "edit", "path": "{MODULE}", "prompt": "wrong"}}\n'
        f'=== always\n{{"thought": "t", "action": "cat", "path": "{MODULE}", "first": 1}}\n'
    )
    (fix,) = with_brt(scene, scripted(tmp_path, text), 1).fixes
    assert "max(low, min(value, high))" in fix.patch.text


def test_without_a_failing_test_what_breaks_nothing_is_kept(scene: Scene, tmp_path: Path) -> None:
    done = run_passerine(0, scene.bench(scripted(tmp_path, PAPER), tests=False))
    (fix,) = done.fixes
    assert (fix.plausible, fix.total) == (False, 0)


def test_a_package_is_meant_by_its_name_but_not_by_any(scene: Scene) -> None:
    tree = scene.bug().tree
    assert tree.find("interval.py") == tree.find("interval/__init__.py") == MODULE
    with pytest.raises(Refusal):
        tree.find("nowhere.py")


OLD = """\
from interval import clamp


class Skipped(Exception):
    pass


def test_needs_more():
    raise Skipped("no such thing here")


def test_fails_anyway():
    assert clamp(1, 2, 3) == 7


def test_middle():
    assert clamp(5, 0, 10) == 5


def test_above():
    assert clamp(11, 0, 10) == 10
"""


def test_what_failed_before_the_change_is_told_apart(scene: Scene, tmp_path: Path) -> None:
    path = "tests/test_old.py"
    test = f'=== reply\n{{"thought": "t", "action": "test", "path": "{path}"}}\n'
    text = (
        "=== reply if: What to change: return high\n"
        f'{{"thought": "t", "action": "change", "changes": "replace {LINE}"}}\n'
        f"```python\n    return min(high, 10)\n```\n{test}"
        f'=== reply\n{{"thought": "t", "action": "edit", "path": "{MODULE}", '
        f'"prompt": "return high"}}\n{test}'
    )
    with scene.with_file(path, OLD, scripted(tmp_path, text), steps=3) as bench:
        done = run_passerine(1, bench)
    assert done.trajectory is not None
    before, _, after = (step.observation.splitlines() for step in done.trajectory.steps)
    assert before[0] == "4 tests: 3 fail, 1 is skipped:"
    assert after[0] == (
        "4 tests: 1 passes (it failed before your change), 1 is skipped, "
        "2 fail as before your change:"
    )
    assert after[1:3] == ["test_fails_anyway: FAIL", "AssertionError: assert 3 == 7"]
