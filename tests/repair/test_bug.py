"""The places and lines where a bug may be, as repairs are told of them."""

from __future__ import annotations

from io import BytesIO
from pathlib import Path

from pytest_brt.code.index import open_index
from pytest_brt.guard import Guard
from pytest_brt.issue.load import load_issue
from pytest_brt.repair.bug import rank_suspect_lines, trusted
from pytest_brt.reproduce.replay.run import replay
from tests.repair.scenes import LINE, MODULE, write_project
from tests.support.projects import open_on

#: Fails for a reason of its own, in code that no failing test of the report runs.
BROKEN = """\
from interval import clamp, mean


def test_of_its_own():
    assert mean([2, clamp(0, 0, 1)]) == 7
"""


def test_the_line_that_failing_tests_run_is_the_most_suspicious(tmp_path: Path) -> None:
    root = write_project(tmp_path / "project", {"tests/test_broken.py": BROKEN})
    issue = load_issue(str(root / "clamp.md"), BytesIO())
    engine = open_on(root)
    try:
        failing = trusted(replay(issue, engine=engine).tests)
        with open_index(root) as index:
            lines = rank_suspect_lines(issue, engine, index, failing, Guard(engine))
            none = rank_suspect_lines(issue, engine, index, (), Guard(engine))
    finally:
        engine.close()
    first = lines[0]
    assert (first.path, first.line, first.failing) == (MODULE, LINE, len(failing))
    assert first.all_passing >= 2
    assert none == ()
