"""What a worker makes of a job: asked in the user's own words, and where no prompt fits."""

from __future__ import annotations

from pathlib import Path

import pytest

from pytest_brt.evaluate.dataset import Instance
from pytest_brt.evaluate.environments import Environment
from pytest_brt.evaluate.job import Job
from pytest_brt.evaluate.record import UNSTARTED, Reproduced, Stage, StudySettings
from pytest_brt.evaluate.study import run_job
from pytest_brt.types import Ending
from tests.evaluate.bugs import TEST_PATCH, fix, make_bugs
from tests.support.interval import CLAMP_ISSUE

REPLIES = """\
=== always if: in our own words
```python
from interval import clamp


def test_clamp():
    assert clamp(5, 0, 10) == 5
```
=== always
No test comes to mind.
"""


def job_of(folder: Path, settings: StudySettings) -> Job:
    bugs = make_bugs(folder, ("clamp",))
    return Job(
        stage=Stage.REPRODUCE,
        instance=Instance(
            id="clamp",
            repo="bugs",
            tree=str(bugs / "clamp/tree"),
            issue=CLAMP_ISSUE,
            patch=fix("a-right"),
            test_patch=TEST_PATCH,
        ),
        environment=Environment(),
        settings=settings,
    )


def result_of(folder: Path, settings: StudySettings) -> Reproduced:
    job = job_of(folder, settings)
    result = run_job(job, str(folder / "nowhere"))
    assert isinstance(result, Reproduced)
    return result


@pytest.mark.slow
def test_a_run_whose_first_prompt_does_not_fit_is_counted(tmp_path: Path) -> None:
    (tmp_path / "replies.txt").write_text(REPLIES, "utf-8")
    settings = StudySettings(
        strategies=("agent",),
        model=f"scripted:{tmp_path / 'replies.txt'}",
        context=300,
        samples=2,
    )
    result = result_of(tmp_path, settings)
    assert not result.problem
    assert [(run.endings, run.actions) for run in result.runs] == [((UNSTARTED,), ())] * 2


@pytest.mark.slow
def test_a_run_whose_model_fails_before_its_first_step_is_counted(tmp_path: Path) -> None:
    search = '=== reply\n{"thought": "t", "action": "code_search", "text": "clamp"}\n'
    (tmp_path / "replies.txt").write_text(search, "utf-8")
    settings = StudySettings(
        strategies=("agent",), model=f"scripted:{tmp_path / 'replies.txt'}", samples=2, steps=1
    )
    result = result_of(tmp_path, settings)
    assert not result.problem
    assert [run.endings for run in result.runs] == [(Ending.STEPS,), (UNSTARTED,)]


@pytest.mark.slow
def test_where_no_run_can_ask_its_model_the_bug_is_left_for_another_day(tmp_path: Path) -> None:
    (tmp_path / "replies.txt").write_text("=== reply if: nobody says so\nx\n", "utf-8")
    settings = StudySettings(
        strategies=("agent",), model=f"scripted:{tmp_path / 'replies.txt'}", samples=2, steps=1
    )
    job = job_of(tmp_path, settings)
    assert run_job(job, str(tmp_path / "nowhere")).problem
