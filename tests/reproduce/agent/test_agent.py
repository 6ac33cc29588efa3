"""Runs of the agent in a small project, with a model that follows a script."""

from __future__ import annotations

from pathlib import Path

import pytest

from pytest_brt.execute.engine import Engine
from pytest_brt.reproduce.agent.run import STEPS, TEMPERATURE, TOP_P
from pytest_brt.reproduce.registry import STRATEGIES
from pytest_brt.store import Journal
from pytest_brt.types import Attempt, Ending, Issue, Step, Verdict
from pytest_brt.types.attempt import DialogueEnded, Shortened
from tests.reproduce.bench import act, bench_of, code, issue_of, problems, replies
from tests.support.interval import CLAMP_ISSUE, diff_of
from tests.support.trees import tree_hash

attempt = STRATEGIES["agent"].attempt

EDIT = act("edit", path="tests/test_interval.py", prompt="clamp(5, 0, 10) must be 5")
RUN = act("test", path="tests/test_interval.py")
FINISH = act("finish")
RIGHT = code("from interval import clamp\n\n\ndef test_inside():\n    assert clamp(5, 0, 10) == 5")
PASSING = code("def test_low():\n    assert clamp(-1, 0, 10) == 0")
BROKEN = code("def test_inside(interval_of_ten):\n    assert interval_of_ten.clamp(5) == 5")


@pytest.fixture
def engine(interval: Engine) -> Engine:
    return interval


@pytest.fixture
def issue(tmp_path: Path) -> Issue:
    return issue_of(CLAMP_ISSUE, tmp_path)


def steps_of(made: Attempt) -> tuple[Step, ...]:
    (trajectory,) = made.trajectories
    return trajectory.steps


def test_the_defaults_are_those_of_the_paper() -> None:
    assert (STRATEGIES["agent"].runs, STEPS) == (20, 25)
    assert (TEMPERATURE, TOP_P) == (0.2, 0.95)


def test_a_test_is_written_run_and_judged(engine: Engine, issue: Issue, tmp_path: Path) -> None:
    before = tree_hash(Path(engine.subject.root))
    bench = bench_of(engine, tmp_path, replies(EDIT, RIGHT, RUN, FINISH))
    made = attempt(issue, 0, bench)
    (item,) = made.tests
    assert item.judgement.candidate
    assert item.test.name == "test_inside"
    assert item.test.host == "tests/test_interval.py"
    assert item.test.origin.strategy == "agent"
    first, second, _ = steps_of(made)
    assert "Written: test_inside in tests/test_interval.py" in first.observation
    # What the project has stays, and the test stands below it.
    content = (first.changes[0].content or b"").decode()
    assert content.startswith(
        Path(engine.subject.root, "tests/test_interval.py").read_text("utf-8")
    )
    assert second.verdict is Verdict.FAIL
    assert "AssertionError: assert 0 == 5" in second.observation
    assert made.trajectories[0].ending is Ending.FINISH
    assert tree_hash(Path(engine.subject.root)) == before


def test_the_code_may_come_as_a_patch_that_takes_nothing_away(
    engine: Engine, issue: Issue, tmp_path: Path
) -> None:
    path = "tests/test_interval.py"
    before = Path(engine.subject.root, path).read_text("utf-8")
    test = "\n\ndef test_inside():\n    assert clamp(5, 0, 10) == 5\n"
    rewrites = code(diff_of(test.lstrip(), path, before)).replace("python", "diff", 1)
    adds = code(diff_of(before + test, path, before)).replace("python", "diff", 1)
    again = act("edit", path=path, prompt="Add it below the others.")
    bench = bench_of(engine, tmp_path, replies(EDIT, rewrites, again, adds, RUN, FINISH))
    made = attempt(issue, 0, bench)
    first, second, *_ = steps_of(made)
    assert not first.is_done
    assert first.observation.startswith("The patch takes lines away")
    assert second.observation.startswith(f"Written: test_inside in {path}.")
    assert [item.test.name for item in made.tests if item.judgement.candidate] == ["test_inside"]


def test_a_patch_may_add_a_method_to_a_class_of_tests(
    engine: Engine, issue: Issue, tmp_path: Path
) -> None:
    path = "tests/test_interval.py"
    before = Path(engine.subject.root, path).read_text("utf-8")
    some = "\n\nclass TestMore:\n    low = 0\n\n    def test_low(self):\n        assert True\n"
    more = "\n    def test_inside(self):\n        assert clamp(5, self.low, 10) == 5\n"
    script = replies(EDIT, code(diff_of(before + some + more, path, before + some)), RUN, FINISH)
    Path(engine.subject.root, path).write_text(before + some, encoding="utf-8")
    try:
        made = attempt(issue, 0, bench_of(engine, tmp_path, script))
    finally:
        Path(engine.subject.root, path).write_text(before, encoding="utf-8")
    written, ran, _ = steps_of(made)
    assert "Written: test_inside (as a method of TestMore) in" in written.observation
    assert ran.verdict is Verdict.FAIL
    assert "AssertionError: assert 0 == 5" in ran.observation
    (item,) = made.tests
    assert item.judgement.candidate
    assert "test_low" not in (item.test.source or "")


def test_a_new_file_is_made_where_the_model_wants_it(
    engine: Engine, issue: Issue, tmp_path: Path
) -> None:
    edit = act("edit", path="tests/sub/test_new.py", prompt="clamp(5, 0, 10) must be 5")
    look = act("cat", path="test_new.py")
    run = act("test", path="test_new.py")
    made = attempt(issue, 0, bench_of(engine, tmp_path, replies(edit, RIGHT, look, run, FINISH)))
    assert made.tests[0].test.path.startswith("tests/sub/test_clamp_")
    assert made.tests[0].judgement.candidate
    assert "def test_inside():" in steps_of(made)[1].observation


def test_mistakes_are_answered(engine: Engine, issue: Issue, tmp_path: Path) -> None:
    script = replies(
        act("grep", text="clamp"),
        act("edit", path="interval/__init__.py", prompt="return min(high, value)"),
        act("test", path="interval/__init__.py"),
        FINISH,
        act("cat", path="tests/test_intervall.py"),
        EDIT,
        "I cannot do that.",
        RUN,
        FINISH,
    )
    made = attempt(issue, 0, bench_of(engine, tmp_path, script))
    told = problems(steps_of(made))
    assert told == [
        "There is no action",
        "'interval/__init__.py' is not a",
        "'interval/__init__.py' is no test",
        "No test was run",
        "",
        "The answer had no",
        "",
        "",
    ]
    assert steps_of(made)[4].corrections == (
        "path 'tests/test_intervall.py' read as 'tests/test_interval.py'",
    )
    # The file was run as the project has it: there is nothing of the agent's in it.
    assert steps_of(made)[6].verdict is Verdict.PASS
    assert made.tests == ()
    assert made.notes[-1] == DialogueEnded(ending=Ending.FINISH, steps=8, said="", wrote=False)


def test_a_second_version_takes_the_place_of_the_first(
    engine: Engine, issue: Issue, tmp_path: Path
) -> None:
    again = act("edit", path="tests/test_interval.py", prompt="import clamp, call it")
    script = replies(EDIT, BROKEN, RUN, again, RIGHT, RUN, FINISH)
    made = attempt(issue, 0, bench_of(engine, tmp_path, script))
    steps = steps_of(made)
    assert steps[1].verdict is Verdict.BROKEN
    assert "fixture" in steps[1].observation
    assert "The test itself is wrong. Correct it." in steps[1].observation
    assert steps[3].verdict is Verdict.FAIL
    assert b"interval_of_ten" not in (steps[2].changes[0].content or b"")
    assert len(made.tests) == 1


def test_the_test_is_kept_when_the_steps_run_out(
    engine: Engine, issue: Issue, tmp_path: Path
) -> None:
    script = replies(EDIT, RIGHT, RUN, act("code_search", text="clamp"))
    made = attempt(issue, 0, bench_of(engine, tmp_path, script, steps=3))
    assert made.trajectories[0].ending is Ending.STEPS
    assert made.tests[0].judgement.candidate


def test_files_that_are_no_python_can_be_seen(engine: Engine, issue: Issue, tmp_path: Path) -> None:
    root = Path(engine.subject.root)
    (root / "setup.cfg").write_text("[tool:x]\nlimits = 0 10\n", "utf-8")
    script = replies(act("cat", path="setup.cfg"))
    try:
        made = attempt(issue, 0, bench_of(engine, tmp_path, script, steps=1))
    finally:
        (root / "setup.cfg").unlink()
    assert steps_of(made)[0].observation == "    1| [tool:x]\n    2| limits = 0 10"


def test_a_test_that_passes_is_no_candidate(engine: Engine, issue: Issue, tmp_path: Path) -> None:
    made = attempt(issue, 0, bench_of(engine, tmp_path, replies(EDIT, PASSING, RUN, FINISH)))
    assert "does not show the bug" in steps_of(made)[1].observation
    assert [item.judgement.candidate for item in made.tests] == [False]


def test_it_is_told_at_once_that_a_failing_test_is_not_accepted(
    engine: Engine, issue: Issue, tmp_path: Path
) -> None:
    nonsense = code("from interval import clamp\n\n\ndef test_a():\n    assert 1 == 2")
    made = attempt(issue, 0, bench_of(engine, tmp_path, replies(EDIT, nonsense, RUN, FINISH)))
    _, ran, done = steps_of(made)
    assert ran.verdict is Verdict.FAIL
    assert "This test is not accepted: no code of the project ran" in ran.observation
    # The paper asks for a test that was run, and for nothing else.
    assert done.observation == "Done."
    assert not any(item.judgement.candidate for item in made.tests)
    good = attempt(issue, 0, bench_of(engine, tmp_path, replies(EDIT, RIGHT, RUN, FINISH)))
    assert "not accepted" not in steps_of(good)[1].observation


def test_a_long_log_is_shortened(engine: Engine, issue: Issue, tmp_path: Path) -> None:
    loud = code(
        "from interval import clamp\n\n\ndef test_loud():\n"
        "    for number in range(3000):\n        print('trying', number, 'of many', number % 7)\n"
        "    assert clamp(5, 0, 10) == 5"
    )
    made = attempt(issue, 0, bench_of(engine, tmp_path, replies(EDIT, loud, RUN, FINISH)))
    shown = steps_of(made)[1].observation
    assert "more times]" in shown
    assert "AssertionError" in shown
    assert len(shown) < 2500


def test_an_interrupted_run_goes_on(engine: Engine, issue: Issue, tmp_path: Path) -> None:
    journal = Journal(tmp_path / "journal.jsonl", "s")
    cut = bench_of(engine, tmp_path, replies(EDIT, RIGHT), journal=journal)
    first = attempt(issue, 0, cut)
    assert first.trajectories[0].ending is Ending.ERROR
    again = Journal(tmp_path / "journal.jsonl", "s")
    rest = bench_of(engine, tmp_path, replies(RUN, FINISH), journal=again)
    made = attempt(issue, 0, rest)
    assert [step.action for step in steps_of(made)] == ["edit", "test", "finish"]
    assert made.tests[0].judgement.candidate


def test_another_model_can_write_the_code(engine: Engine, issue: Issue, tmp_path: Path) -> None:
    editor = bench_of(engine, tmp_path, replies(RIGHT)).model
    bench = bench_of(engine, tmp_path, replies(EDIT, RUN, FINISH), editor=editor)
    (item,) = attempt(issue, 0, bench).tests
    assert item.judgement.candidate
    assert item.test.origin.model == editor.name != bench.model.name


def test_every_run_has_seeds_of_its_own(engine: Engine, issue: Issue, tmp_path: Path) -> None:
    script = replies(EDIT, RIGHT, RUN, FINISH)
    seeds = {
        STRATEGIES["agent"]
        .attempt(issue, number, bench_of(engine, tmp_path, script))
        .tests[0]
        .test.origin.seed
        for number in (0, 1)
    }
    assert len(seeds) == 2


def test_what_does_not_fit_is_left_out_and_said(
    engine: Engine, issue: Issue, tmp_path: Path
) -> None:
    script = replies(EDIT, RIGHT, RUN, FINISH)
    made = attempt(issue, 0, bench_of(engine, tmp_path, script, context=1900))
    assert Shortened(part="examples", left_out=True) in made.notes
    assert made.tests[0].judgement.candidate
    made = attempt(issue, 0, bench_of(engine, tmp_path, script, context=300))
    (note,) = made.notes
    assert isinstance(note, DialogueEnded)
    assert (note.ending, note.steps) == (Ending.TOKENS, 0)
    assert "--brt-engine auto,context=N" in note.said
