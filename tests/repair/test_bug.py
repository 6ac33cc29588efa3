from __future__ import annotations

from io import BytesIO
from pathlib import Path

from pytest_brt.code.index import open_index
from pytest_brt.guard import Guard
from pytest_brt.issue.load import load_issue
from pytest_brt.repair.bug import localise, trusted
from pytest_brt.reproduce.replay.run import replay
from tests.repair.scenes import LINE, MODULE, write_project
from tests.support.projects import open_on

#: Fails for a reason of its own, in code that no failing test of the report runs.
BROKEN = """\
from interval import clamp, mean


def test_of_its_own():
    assert mean([2, clamp(0, 0, 1)]) == 7
"""


def test_tests_that_fail_anyway_say_nothing_of_the_bug(tmp_path: Path) -> None:
    root = write_project(tmp_path / "project", {"tests/test_broken.py": BROKEN})
    issue = load_issue(str(root / "clamp.md"), BytesIO())
    engine = open_on(root)
    try:
        failing = trusted(replay(issue, engine=engine).tests)
        with open_index(root) as index:
            found = localise(issue, engine, index, failing, Guard(engine))
            alone = localise(issue, engine, index, (), Guard(engine))
    finally:
        engine.close()
    assert found.failing == len(failing)
    assert found.passing >= 2
    first = found.places[0]
    assert (first.path, first.function, first.lines) == (MODULE, "clamp", (LINE,))
    assert not any(place.ochiai for place in found.places if place.function == "mean")
    assert (alone.failing, alone.passing) == (0, 0)
    assert alone.notes == ("no failing test: only the report was looked at",)
    assert alone.places[0].function == "clamp"
