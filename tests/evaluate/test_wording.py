"""The user's own prompts in a study: known by their texts, and with every worker."""

from __future__ import annotations

from pathlib import Path

import pytest

from pytest_brt.codec import from_json, to_json
from pytest_brt.evaluate.dataset import Instance
from pytest_brt.evaluate.environments import Environment
from pytest_brt.evaluate.job import Job
from pytest_brt.evaluate.record import Reproduced, Stage, StudySettings
from pytest_brt.evaluate.study import run_job
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


@pytest.mark.slow
def test_a_worker_asks_in_the_words_of_the_user(tmp_path: Path) -> None:
    bugs = make_bugs(tmp_path, ("clamp",))
    (tmp_path / "replies.txt").write_text(REPLIES, "utf-8")
    job = Job(
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
        settings=StudySettings(
            strategies=("libro",),
            model=f"scripted:{tmp_path / 'replies.txt'}",
            samples=1,
            prompts=(("libro/system.j2", "Write a test, in our own words."),),
        ),
    )
    result = from_json(run_job(to_json(job), str(tmp_path / "nowhere")), Reproduced)
    assert not result.problem
    # It knows a test only when it is asked in these words.
    assert [test.name for test in result.tests] == ["test_clamp"]
