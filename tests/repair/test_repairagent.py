"""RepairAgent with scripted replies: through mistakes to a fix, and what stays true on the way."""

from __future__ import annotations

import re
import time
from dataclasses import replace
from itertools import pairwise
from pathlib import Path

import pytest

from pytest_brt.issue.load import read_issue
from pytest_brt.repair.bench import RepairBench, Without
from pytest_brt.repair.passerine import run_passerine
from pytest_brt.repair.repairagent import entry_of, run_repairagent
from pytest_brt.repair.strategy import BUILT_IN
from pytest_brt.store import Journal
from pytest_brt.types import Call, Ending, FixSource, Repair, Step, Trajectory, Verdict
from tests.repair.scenes import LINE, MODULE, Listener, Scene, ShortModel, open_scene, scripted
from tests.support.trees import tree_hash

REPLIES = f"""\
=== reply
{{"thought": "I search first.", "action": "search_code_base", "keywords": "clamp"}}
=== reply
I think the test helps.
{{"thoughts": "Look.", "command": {{"name": "extract_test", "args": {{}}}}}}
=== reply
{{"thought": "And again.", "action": "extract_tests", "name": ""}}
=== reply
{{"thought": "Guess.", "action": "express_hypothesis", "hypothesis": "max() is wrong"}}
=== reply
{{"thought": "No.", "action": "discard_hypothesis", "reason": "max() gives the lower bound"}}
=== reply
{{"thought": "Guess.", "action": "express_hypothesis", "hypothesis": "min() is given low"}}
=== reply
{{"thought": "Early.", "action": "goal_accomplished", "reason": "none"}}
=== reply
{{"thought": "Colon lost.", "action": "write_fix", "changes": "{MODULE} replace {LINE - 2}"}}
```python
def clamp(value, low, high)
```
=== reply
{{"thought": "Upper.", "action": "write_fix", "changes": "interval.py replace {LINE}"}}
```python
    return min(value, high)
```
=== reply if: breaks 2 of the existing tests
{{"thought": "Read.", "action": "read_range", "path": "{MODULE}", "first": 1, "last": 12}}
=== reply
{{"thought": "Done.", "action": "goal_accomplished", "reason": "the variant passes"}}
"""
#: The first variants are bad ones; a right one comes third.
VARIANTS = f"""\
=== reply if: Write one variant
{{"thought": "a", "action": "write_fix", "changes": "{MODULE} replace {LINE}"}}
```python
    return min(low, high)
```
=== reply if: Write one variant
no JSON at all
=== reply if: Write one variant
{{"thought": "b", "action": "write_fix", "changes": "{MODULE} replace {LINE}"}}
```python
    return max(low, min(value, high))  # both
```
=== always if: Write one variant
{{"thought": "c", "action": "write_fix", "changes": "{MODULE} replace {LINE}"}}
```python
    # a comment
    return min(low, high)
```
"""


@pytest.fixture(scope="module")
def done(scene: Scene, tmp_path_factory: pytest.TempPathFactory) -> Repair:
    """Carry the whole script out once."""
    before = tree_hash(scene.root)
    bench = scene.bench(scripted(tmp_path_factory.mktemp("model"), VARIANTS + REPLIES))
    repair = run_repairagent(0, bench)
    assert tree_hash(scene.root) == before
    return repair


def steps_of(repair: Repair) -> Trajectory:
    assert repair.trajectory is not None
    return repair.trajectory


def run(bench: RepairBench) -> Trajectory:
    return steps_of(run_repairagent(0, bench))


def told(step: Step) -> str:
    """Return why a step was not carried out, "" when it was."""
    return "" if step.is_done else step.observation


def test_a_variant_wins(done: Repair) -> None:
    (fix,) = done.fixes
    assert (fix.source, fix.plausible) == (FixSource.VARIANT, True)
    assert "+    return max(low, min(value, high))  # both\n" in fix.patch.text
    assert len(fix.passed) == fix.total > 0
    assert fix.hypothesis == "min() is given low"
    assert fix.guarded is not None
    # The third existing test does not execute the changed line.
    assert (fix.guarded.by, fix.guarded.reached) == ("coverage", 2)
    assert (fix.guarded.ran, fix.guarded.total) == (2, 3)
    # Thirty variants make two programs that nobody tried before.
    (tried,) = (step.fixes for step in steps_of(done).steps if step.fixes)
    assert len(tried) == 3
    assert fix.guarded.regressions == ()
    assert steps_of(done).ending is Ending.FINISH


def test_mistakes_are_told_and_the_repair_goes_on(done: Repair) -> None:
    steps = steps_of(done).steps
    said = [(step.action, told(step)) for step in steps]
    assert said[0][0] == ""
    assert "You can use: read_range" in said[0][1]
    assert said[1] == ("extract_tests", "")
    assert "action 'extract_test' read as 'extract_tests'" in steps[1].corrections
    assert "exactly this in step 2" in said[2][1]
    assert [action for action, _ in said[3:6]] == [
        "express_hypothesis",
        "discard_hypothesis",
        "express_hypothesis",
    ]
    assert "no action 'goal_accomplished' now" in said[6][1]
    assert "syntax error" in said[7][1]
    assert "expected ':'" in said[7][1]


def test_a_fix_that_breaks_another_test_is_taken_back(done: Repair) -> None:
    step = steps_of(done).steps[8]
    assert (step.action, told(step)) == ("write_fix", "")
    assert "But the fix breaks 2 of the existing tests" in step.observation
    assert "tests/test_interval.py::test_clamp_below" in step.observation
    assert "The fix was taken back" in step.observation
    assert "'interval.py' read as 'interval/__init__.py'" in step.observation
    # What a test that only says what is wrong compares is shown as it is now.
    assert "`clamp(12, 0, 10)` gives 10 with it, and 0 without." in step.observation
    assert "1 of 2 different variants of it worked. It passes the tests" in step.observation
    assert step.changes == ()
    assert step.cost.calls == 2


def test_an_interrupted_repair_goes_on_where_it_stopped(
    scene: Scene, done: Repair, tmp_path: Path
) -> None:
    path = tmp_path / "journal.jsonl"
    model = scripted(tmp_path, REPLIES[REPLIES.index("=== reply if: breaks") :])
    log = scene.bench(model, journal=Journal(path, "s")).log("repairagent", 0)
    for step in steps_of(done).steps[:9]:
        log.add(step)
    again = run(scene.bench(model, journal=Journal(path, "s")))
    assert [step.action for step in again.steps] == [step.action for step in steps_of(done).steps]
    assert again.ending is Ending.FINISH


def test_the_defaults_are_those_of_the_papers(scene: Scene, tmp_path: Path) -> None:
    look = '=== reply\n{"thought": "t", "action": "%s", "path": "%s", "first": %d, "last": 99}\n'

    def looks(action: str) -> Listener:
        script = "".join(look % (action, MODULE, first) for first in range(1, 50))
        return Listener(scripted(tmp_path, script))

    agent, react = looks("read_range"), looks("cat")
    bench = scene.bench(agent)
    runs = (run(bench), steps_of(run_passerine(1, scene.bench(react))))
    assert [len(trajectory.steps) for trajectory in runs] == [40, 25]
    assert bench.variants == 30
    first, others = (model.asked[0].sampling for model in (agent, react))
    # No top-k: the papers have none.
    assert (first.temperature, first.top_k) == (0.0, 0)
    assert (others.temperature, others.top_p, others.top_k) == (0.2, 0.95, 0)
    assert BUILT_IN["repairagent"].runs == 1
    assert (BUILT_IN["passerine"].runs, BUILT_IN["passerine"].alternates) == (20, True)


def always(action: str) -> str:
    return f'=== always\n{{"thought": "t", "action": {action}}}\n'


def test_the_same_command_again_and_again_ends_it(scene: Scene, tmp_path: Path) -> None:
    trajectory = run(scene.bench(scripted(tmp_path, always('"run_tests"'))))
    assert trajectory.ending is Ending.LOOP
    assert len(trajectory.steps) < 10


def test_run_tests_runs_them(scene: Scene, tmp_path: Path) -> None:
    script = (
        '=== reply\n{"thought": "t", "action": "run_tests", "which": "failing"}\n'
        '=== reply\n{"thought": "t", "action": "run_tests", "which": "all"}\n'
    )
    bench = scene.bench(scripted(tmp_path, script), steps=2)
    failing, suite = run(bench).steps
    assert failing.verdict is Verdict.FAIL
    assert bench.bug.failing[0].test.name in failing.observation
    # The whole suite, which has tests that pass and that fail.
    assert "3 tests: all pass" in suite.observation
    assert suite.verdict is Verdict.PASS


def test_what_of_the_suite_there_was_no_time_for_is_said(tmp_path: Path) -> None:
    slow = "import time\n\n\ndef test_slow():\n    time.sleep(50)\n"
    script = '=== reply\n{"thought": "t", "action": "run_tests", "which": "all"}\n'
    with open_scene(tmp_path / "project", {"tests/test_slow.py": slow}) as scene:
        bench = scene.bench(scripted(tmp_path, script), steps=1)
        bench.bug.places()  # so that the suite has the time
        (step,) = run(replace(bench, deadline=time.monotonic() + 36)).steps
    assert "3 tests: all pass" in step.observation
    assert "There was no time for one file of tests: nothing is known" in step.observation
    assert step.verdict is Verdict.PASS


def test_steps_are_limited_and_told(scene: Scene, tmp_path: Path) -> None:
    back_and_forth = (
        '=== reply\n{"thought": "t", "action": "express_hypothesis", "hypothesis": "%d"}\n'
        '=== reply\n{"thought": "t", "action": "discard_hypothesis", "reason": "%d"}\n'
    )
    text = "".join(back_and_forth % (n, n) for n in range(30))
    model = Listener(scripted(tmp_path, text))
    trajectory = run(scene.bench(model, steps=11))
    assert (trajectory.ending, len(trajectory.steps)) == (Ending.STEPS, 11)
    # All that were given up but the first.
    assert re.findall(r"Hypothesis that was wrong: (\d)", model.texts()[-1]) == list("1234")


READS = "".join(
    f'=== reply\n{{"thought": "t{n}", "action": "read_range", "path": "{MODULE}", '
    f'"first": {n}, "last": 12}}\n'
    for n in range(1, 9)
)


def test_what_was_gathered_only_grows_so_that_a_model_can_keep_it(
    scene: Scene, tmp_path: Path
) -> None:
    model = Listener(scripted(tmp_path, READS))
    run(scene.bench(model, steps=8))
    texts = model.texts()
    for earlier, later in pairwise(texts):
        stable = earlier[: earlier.index("# Where you are")]
        assert later.startswith(stable)
        # What comes after it has the commands of the state, and little beside.
        assert len(earlier) - len(stable) < 1900
    for section in ("## Goals", "## Guidelines", "# The bug", "# What you did", "## Commands"):
        assert section in texts[0]
    # Paper 004, III-C6: a section for each command.
    assert texts[-1].count("\n## read_range\n") == 1
    for section in ("State: understand", "# Commands", "# Last command", "step 8 of 8"):
        assert section in texts[-1]


@pytest.mark.parametrize("without", [*Without])
def test_each_part_can_be_switched_off(scene: Scene, tmp_path: Path, without: Without) -> None:
    model = Listener(scripted(tmp_path, READS))
    given = (f"{MODULE}:{LINE}",)
    run(scene.bench(model, given=given, steps=4, without=frozenset({without})))
    last = model.texts()[-1]
    now = last[last.index("# Where you are") :]
    usable = now[now.index("# Commands") :].splitlines()[1]
    assert ("search_code_base" in usable) is (without is Without.STATES)
    assert ("write_fix" in usable) is (without is Without.STATES)
    assert last.count('"action": "read_range", "path": "a file"') == 1
    assert ("search_code_base" in last) is (without is not Without.SEARCH)
    assert ("State: " in last) is (without is not Without.STATES)
    assert ("### 1. read_range" in last) is (without is not Without.MEMORY)
    assert "### 3. read_range" in now
    assert last.count("   11|") == (1 if without is Without.MEMORY else 3)


def test_without_memory_no_hypothesis_is_shown(scene: Scene, tmp_path: Path) -> None:
    guess = '=== reply\n{"thought": "t", "action": "express_hypothesis", "hypothesis": "low!"}\n'
    look = (
        '=== reply\n{"thought": "t", "action": "read_range", "path": "%s", "first": 1, "last": 9}\n'
    )
    for without in (frozenset({Without.MEMORY}), frozenset[Without]()):
        model = Listener(scripted(tmp_path, guess + look % MODULE + look % MODULE))
        run(scene.bench(model, steps=3, without=without))
        assert ("low!" in model.texts()[-1]) is not bool(without)


def test_each_prompt_tells_the_role_the_goals_and_what_the_state_is(
    scene: Scene, tmp_path: Path
) -> None:
    guess = '=== reply\n{"thought": "t", "action": "express_hypothesis", "hypothesis": "low"}\n'
    fix = f'{{"thought": "t", "action": "write_fix", "changes": "{MODULE} replace {LINE}"}}'
    fails = f"=== reply\n{fix}\n```python\n    return low\n```\n"
    model = Listener(scripted(tmp_path, guess + fails + READS))
    run(scene.bench(model, steps=3, variants=0))
    systems = [prompt.messages[0].text for prompt in model.asked]
    assert len(set(systems)) == 1
    assert systems[0].startswith("You repair bugs in Python projects.")
    for goal in ("1. Locate the bug", "2. Gather", "3. Try simple", "4. When", "5. Iterate"):
        assert goal in systems[0]
    understand, collect, trying = (text[text.index("# Where you") :] for text in model.texts())
    assert "State: understand the bug." in understand
    assert "express a hypothesis: what is wrong, and why" in understand
    assert "State: collect information to fix the bug." in collect
    assert "Your hypothesis: low" in collect
    assert "State: try to fix the bug." in trying
    assert "Write another one, or go back" in trying


def test_the_model_is_told_to_try_four_fixes_before_the_steps_are_used_up(
    scene: Scene, tmp_path: Path
) -> None:
    model = Listener(scripted(tmp_path, READS))
    run(scene.bench(model, steps=8))
    for number, text in enumerate(model.texts(), 1):
        assert f"This is step {number} of 8. Try 4 fixes before the steps are used up." in text
    long = Listener(scripted(tmp_path, READS))
    run(scene.bench(long, steps=40))
    assert "fixes before the steps" not in long.texts()[0]


def test_runs_after_the_first_are_drawn_more_freely(scene: Scene, tmp_path: Path) -> None:
    found = []
    for index in range(2):
        model = Listener(scripted(tmp_path, READS))
        run_repairagent(index, scene.bench(model, steps=1))
        found.append(model.asked[0].sampling.temperature)
    assert found == [0.0, 0.6]


def test_of_a_long_result_the_model_reads_what_there_is_room_for(
    scene: Scene, tmp_path: Path
) -> None:
    long = "\n".join(f"X{n} = {n}" for n in range(1, 1501))
    read = '{"thought": "t", "action": "read_range", "path": "big.py", "first": 1, "last": 1500}'
    sizes = {}
    for context in (8_000, 32_000):
        model = scripted(tmp_path, f"=== reply\n{read}\n", context=context)
        with scene.with_file("big.py", long, model, steps=1) as bench:
            (step,) = run(bench).steps
        sizes[context] = model.count(step.observation)
    assert sizes[8_000] <= 8_000 / 7 + 20
    assert 2 * sizes[8_000] < sizes[32_000] <= 4_020


def test_what_to_do_next_follows_from_what_was_done(scene: Scene, tmp_path: Path) -> None:
    fix = f'{{"thought": "t", "action": "write_fix", "changes": "{MODULE} replace {LINE}"}}'
    text = (
        '=== reply\n{"thought": "t", "action": "express_hypothesis", '
        '"hypothesis": "low for high"}\n'
        f"=== reply\n{fix}\n```python\n    return max(low, min(value, high))\n```\n"
        '=== reply\n{"thought": "t", "action": "goal_accomplished", "reason": "r"}\n'
    )
    model = Listener(scripted(tmp_path, text))
    run(scene.bench(model))
    first, hypothesis, passes = (prompt[prompt.index("# Where you") :] for prompt in model.texts())
    assert "express a hypothesis" in first
    assert (
        "# Last command and its result\n### 1. express_hypothesis (its result is above)"
        in hypothesis
    )
    assert hypothesis.count("low for high") == 1
    assert "A fix is kept" in passes
    assert "Try another fix" not in passes
    usable = passes[passes.index("# Commands") :].splitlines()[1]
    assert "goal_accomplished" in usable


def test_what_failing_tests_say_is_cut_where_it_leaves_no_room(
    scene: Scene, tmp_path: Path
) -> None:
    model = Listener(scripted(tmp_path, READS, context=3600))
    bench = scene.bench(model, steps=3)
    judged = bench.bug.failing[0]
    seen = judged.judgement.runs[0]
    assert seen.raised is not None
    lines = "\n".join(f"expected line {n} of all" for n in range(400))
    raised = replace(seen.raised, message=lines)
    judgement = replace(judged.judgement, runs=(replace(seen, raised=raised, output=lines),))
    long = replace(judged, judgement=judgement)
    done = run(replace(bench, bug=replace(bench.bug, failing=(long,) * 3)))
    assert len(done.steps) == 3, done.ending
    assert "lines left out" in model.texts()[0].partition("# What you did")[0]


def test_two_functions_are_seen_together_in_a_small_context(scene: Scene, tmp_path: Path) -> None:
    def long(name: str) -> str:
        lines = "".join(f"    total += weight_{n} * value\n" for n in range(28))
        return f"def {name}(value, total):\n{lines}    return total\n"

    def read(name: str) -> str:
        head = '{"thought": "t", "action": "extract_method", "path": "interval/long.py"'
        return f'=== reply\n{head}, "name": "{name}"}}\n'

    script = read("one") + read("other")
    script += '=== reply\n{"thought": "t", "action": "express_hypothesis", "hypothesis": "h"}\n'
    script += '=== reply\n{"thought": "t", "action": "search_code_base", "keywords": "clamp"}\n'
    model = Listener(scripted(tmp_path, script, context=4096))
    text = f"{long('one')}\n\n{long('other')}"
    with scene.with_file("interval/long.py", text, model, steps=5) as bench:
        run(bench)
    last = model.texts()[-1]
    assert "def one(value, total)" in last
    assert "def other(value, total)" in last
    assert "Fixes that often work" not in last


@pytest.mark.slow
def test_no_prompt_exceeds_the_context(scene: Scene, tmp_path: Path) -> None:
    first = Listener(scripted(tmp_path, READS))
    run(scene.bench(first, steps=1))
    least = first.count(first.asked[0]) * 4 // 3
    left_out = []
    for more in (0, 200, 600, 1200, 2000):
        model = Listener(scripted(tmp_path, READS, context=least + more))
        trajectory = run(scene.bench(model, steps=8))
        for prompt in model.asked:
            assert model.count(prompt) + prompt.sampling.max_tokens <= model.context
        left_out.append(any("left out here" in text for text in model.texts()))
        if more:
            assert trajectory.steps
    assert True in left_out
    assert not left_out[-1]


def test_without_a_failing_test_nothing_is_tried(scene: Scene, tmp_path: Path) -> None:
    done = run_repairagent(0, scene.bench(scripted(tmp_path, "=== reply\n"), tests=False))
    assert done.fixes == ()
    assert "--brt-tests" in done.notes[0]


def write(code: str) -> str:
    changes = f'"changes": "{MODULE} replace {LINE}"'
    head = f'{{"thought": "t", "action": "write_fix", {changes}}}'
    return f"=== reply\n{head}\n```python\n    return {code}\n```\n"


def test_variants_are_not_asked_for_twice_of_one_program(scene: Scene, tmp_path: Path) -> None:
    hypothesis = '{"thought": "t", "action": "express_hypothesis", "hypothesis": "h"}'
    script = "=== always if: Write one variant\nnothing\n=== reply\n" + hypothesis + "\n"
    model = Listener(scripted(tmp_path, script + write("high") + write("high  # the same")))
    steps = run(scene.bench(model, steps=3, variants=2)).steps
    asked = [prompt.purpose for prompt in model.asked]
    assert asked == ["repairagent", "repairagent", "variants", "repairagent"]
    assert len({fix.key for step in steps for fix in step.fixes}) == 1


def test_a_variant_that_was_cut_off_is_not_tried(scene: Scene, tmp_path: Path) -> None:
    hypothesis = '{"thought": "t", "action": "express_hypothesis", "hypothesis": "h"}'
    half = write("max(low, min(value, high))").removesuffix("```\n")
    half = half.replace("=== reply", "=== always if: Write one variant")
    script = f"{half}=== reply\n{hypothesis}\n{write('high')}"
    model = ShortModel(scripted(tmp_path, script), "variants")
    _, step = run(scene.bench(model, steps=2, variants=2)).steps
    assert [fix.source for fix in step.fixes] == [FixSource.AGENT]


def test_the_code_to_be_changed_is_the_last_to_go() -> None:
    def read(number: int, path: str) -> Step:
        call = Call(action="read_range", arguments=(("path", path),))
        return Step(number=number, reply="", call=call)

    said = (("hypothesis", "max() in pkg/a.py is given low"),)
    hypothesis = Step(number=3, reply="", call=Call(action="express_hypothesis", arguments=said))
    steps = (read(1, "pkg/a.py"), read(2, "pkg/b.py"), hypothesis)
    first, second, third = (entry_of(step, steps) for step in steps)
    assert first.worth > second.worth
    # The hypothesis stands elsewhere in the prompt.
    assert "given low" not in third.text


def test_the_report_is_shown_whole_where_it_fits(scene: Scene, tmp_path: Path) -> None:
    packages = "\n".join(f"package-{n}    1.{n}.0    pypi_0    pypi" for n in range(300))
    text = f"# It is wrong\n\n`clamp(5, 0, 10)` gives 0.\n\n```\n{packages}\n```\n"
    for context, is_whole in ((0, True), (6_000, False)):
        model = Listener(scripted(tmp_path, READS, context=context))
        bench = scene.bench(model, steps=1)
        issue = read_issue(text, "issue.md")
        run(replace(bench, bug=replace(bench.bug, issue=issue)))
        assert ("package-150 " in model.texts()[0]) is is_whole
        assert "`clamp(5, 0, 10)` gives 0." in model.texts()[0]
