"""Pass, then invert, on real bugs: with and without a start from what replay saw."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from pytest_brt.code.index import Index, open_index
from pytest_brt.execute.engine import Engine
from pytest_brt.issue.load import read_issue
from pytest_brt.reproduce.invert import invert, uses_project
from pytest_brt.reproduce.registry import STRATEGIES
from pytest_brt.store import Journal
from pytest_brt.types import Attempt, Ending, JudgedTest, Verdict
from pytest_brt.types.attempt import PlansFailed
from tests.reproduce.examples import (
    bench_for,
    issue_of,
    judge_says,
    open_example,
    scripted,
    verdicts_with,
)
from tests.reproduce.model_tests.judging import run

CRASH, VALUE = "tabulate-maxcolwidths", "sqlparse-strip-comments"
#: The judge's questions about one test.
JUDGED = ["judge"] * 2
YES = judge_says("yes", "does not always remove every comment")
NO = judge_says("no", "does not always remove every comment")
YES_CRASH = judge_says("yes", "raises IndexError for an empty table")
#: Without code that could be pinned.
WORDS = read_issue(
    "# Comments are kept\n\nIt does not always remove every comment: the second one survives.\n",
    "issue.md",
)
CALL = 'sqlparse.format("--A;\\n--B;", strip_comments=True)'


@pytest.fixture(scope="module")
def engines(tmp_path_factory: pytest.TempPathFactory) -> Iterator[dict[str, Engine]]:
    opened = {
        name: open_example(name, tmp_path_factory.mktemp("invert")) for name in (CRASH, VALUE)
    }
    yield opened
    for engine in opened.values():
        engine.close()


@pytest.fixture(scope="module")
def indexes(engines: dict[str, Engine]) -> Iterator[dict[str, Index]]:
    opened = {name: open_index(Path(engine.subject.root)) for name, engine in engines.items()}
    yield opened
    for index in opened.values():
        index.close()


def candidates(attempt: Attempt) -> list[JudgedTest]:
    return [item for item in attempt.tests if item.judgement.candidate]


def actions(attempt: Attempt) -> list[str]:
    (trajectory,) = attempt.trajectories
    return [step.action for step in trajectory.steps]


def calls(attempt: Attempt) -> int:
    (trajectory,) = attempt.trajectories
    return sum(step.cost.calls for step in trajectory.steps)


def test_what_replay_saw_is_turned_round_and_an_interrupted_talk_taken_up(
    engines: dict[str, Engine], tmp_path: Path
) -> None:
    """The first turn still passes; the second has an assertion too many, which is cut."""
    script = f"""\
{YES_CRASH}=== reply if: Change the test so that it fails
```python
import pytest
from tabulate import tabulate


def test_x():
    with pytest.raises(IndexError):
        tabulate([], maxcolwidths=10)
```
=== reply if: It passes
```python
from tabulate import tabulate


def test_empty_table():
    assert tabulate([]) == ""
    assert tabulate([], maxcolwidths=10) == ""
```
"""
    engine, said = engines[CRASH], list[str]()
    attempts = []
    for replies in (script, "=== reply if: nothing has this\nx"):
        journal = Journal(tmp_path / "journal.jsonl", "setting")
        bench = replace(bench_for(engine, scripted(tmp_path, replies), said), journal=journal)
        attempts.append(STRATEGIES["invert"].attempt(issue_of(CRASH), 0, bench))
        journal.close(interrupted=True)
    attempt, again = attempts
    (found,) = candidates(attempt)
    assert found.test.source == (
        "from tabulate import tabulate\n\n\ndef test_empty_table():\n"
        '    assert tabulate([], maxcolwidths=10) == ""\n'
    )
    assert verdicts_with(CRASH, "fix-03.diff", engine, [found]) == {"PASS"}
    assert "the model says it is the reported bug" in found.judgement.reason
    assert "the report names IndexError" in found.judgement.reason
    assert actions(attempt) == ["flip", "flip", *JUDGED]
    assert attempt.trajectories[0].ending is Ending.FINISH
    assert said[0].startswith("pinned what happens now: run ")
    assert calls(attempt) == 4
    assert (actions(again), calls(again)) == (actions(attempt), 4)
    assert [item.test for item in candidates(again)] == [found.test]


WRITTEN = f"""\
=== reply if: Plan one short
Call sqlparse.format with two comments; the second one survives.
=== reply if: must pass now
```python
import sqlparse


def test_now():
    assert {CALL} == "--A;"
```
=== reply if: Correct the test so that it passes
```python
from sqlparse import format_all


def test_now():
    assert format_all("--A;") == ""
```
=== reply if: Correct the test so that it passes
```python
def test_now():
    assert 1 == 1
```
=== reply if: it does not use the package
```python
import sqlparse


def test_now():
    assert {CALL} == "--B;"
```
=== reply if: Change the test so that it fails
```python
import sqlparse


def test_comments_go():
    assert {CALL} == ""
```
"""


def test_every_mistake_on_the_way_is_answered(
    engines: dict[str, Engine], indexes: dict[str, Index], tmp_path: Path
) -> None:
    script = WRITTEN.replace(f'assert {CALL} == "--A;"', "assert sqlparse.nothing == 1")
    bench = bench_for(engines[VALUE], scripted(tmp_path, f"{YES}{script}"))
    attempt = invert(WORDS, 0, bench, indexes[VALUE])
    (found,) = candidates(attempt)
    assert found.test.name == "test_comments_go"
    assert verdicts_with(VALUE, "fix-02.diff", engines[VALUE], [found]) == {"PASS"}
    seen = [(step.action, step.verdict) for step in attempt.trajectories[0].steps]
    assert seen == [
        ("plan", None),
        ("write", Verdict.FAIL),
        ("refine", Verdict.BROKEN),
        ("refine", Verdict.PASS),
        ("refine", Verdict.PASS),
        ("flip", Verdict.FAIL),
        *[("judge", Verdict.FAIL)] * 2,
    ]
    assert attempt.trajectories[0].ending is Ending.FINISH


def test_a_test_that_the_model_cannot_turn_in_three_tries_ends_the_plan(
    engines: dict[str, Engine], indexes: dict[str, Index], tmp_path: Path
) -> None:
    script = "=== always\nI do not know."
    bench = bench_for(engines[CRASH], scripted(tmp_path, script))
    attempt = invert(issue_of(CRASH), 0, bench, indexes[CRASH])
    assert not candidates(attempt)
    # Each of the report's three statements is pinned and turned.
    assert actions(attempt) == ["flip"] * 9
    assert attempt.trajectories[0].ending is Ending.STEPS


def test_where_the_report_s_own_code_is_right_a_plan_comes_first(
    engines: dict[str, Engine], indexes: dict[str, Index], tmp_path: Path
) -> None:
    text = (
        "# Comments are kept\n\n```python\nimport sqlparse\n"
        f'{CALL}\n```\n\nreturns `"--B;"`, but it should be `{{value!r}}`.\n'
    )
    call = text.replace(CALL, 'sqlparse.format("SELECT 1", keyword_case="lower")')
    issue = read_issue(call.format(value="select 1"), "issue.md")
    bench = bench_for(engines[VALUE], scripted(tmp_path, "=== always\nI do not know."))
    attempt = invert(issue, 0, bench, indexes[VALUE])
    assert actions(attempt)[0] == "plan"


def test_three_plans_of_four_versions_are_enough(
    engines: dict[str, Engine], indexes: dict[str, Index], tmp_path: Path
) -> None:
    same = "```python\nimport sqlparse\n\n\ndef test_a():\n    assert sqlparse.nothing == 1\n```"
    script = (
        f"=== always if: Plan one short\nThe same.\n=== always if: must pass now\n{same}\n"
        f"=== always if: so that it passes now\n{same}\n{NO}"
    )
    bench = bench_for(engines[VALUE], scripted(tmp_path, script))
    attempt = invert(WORDS, 0, bench, indexes[VALUE])
    assert attempt.trajectories[0].ending is Ending.STEPS
    assert [type(note) for note in attempt.notes] == [PlansFailed]
    assert actions(attempt) == ["plan", "write", "refine", "refine", "refine"] * 3


def test_the_time_ends_it(
    engines: dict[str, Engine], indexes: dict[str, Index], tmp_path: Path
) -> None:
    bench = replace(bench_for(engines[VALUE], scripted(tmp_path, "=== always\nx")), deadline=0.0)
    attempt = invert(issue_of(VALUE), 0, bench, indexes[VALUE])
    assert (attempt.trajectories[0].ending, calls(attempt)) == (Ending.TIME, 0)


def test_a_test_uses_the_project_through_its_test_helpers_too() -> None:
    source = "from tests.tools import check\n\n\ndef test_a():\n    check()\n"
    used = replace(run(verdict=Verdict.PASS, raised=""), used_project=True)
    assert uses_project(source, (used,), ("pkg",))
    assert not uses_project(source, (replace(used, used_project=False),), ("pkg",))
    # Where the run does not tell, an import does.
    unknown = replace(used, used_project=None)
    assert not uses_project(source, (unknown,), ("pkg",))
    assert uses_project(f"from pkg import f\n{source}", (unknown,), ("pkg",))
