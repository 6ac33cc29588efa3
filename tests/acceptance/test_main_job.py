"""The map of the main job in docs/architecture.md is what a run does."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest

PAGE = Path(__file__).parents[2] / "docs/architecture.md"
STOP = re.compile(r"^\| [^|]+ \| `([\w/]+)\.py` \| `(\w+)` \|$", re.MULTILINE)

#: Writes down the functions of the map in the order in which a run first calls them.
NOTES = """
import json
import sys
import threading
from pathlib import Path

STOPS = {tuple(stop) for stop in json.loads(Path("stops.json").read_text())}
FOUND = {}


def note(frame, event, argument):
    if event == "call":
        stop = (frame.f_globals.get("__name__", ""), frame.f_code.co_name)
        if stop in STOPS:
            FOUND.setdefault(stop)


def pytest_configure():
    threading.setprofile(note)
    sys.setprofile(note)


def pytest_unconfigure():
    sys.setprofile(None)
    threading.setprofile(None)
    Path("found.json").write_text(json.dumps(list(FOUND)))
"""


@pytest.mark.slow
def test_a_run_takes_the_stops_of_the_map_in_order(project: pytest.Pytester) -> None:
    found = STOP.findall(PAGE.read_text("utf-8"))
    stops = [["pytest_brt." + file.replace("/", "."), function] for file, function in found]
    assert len(stops) == 10
    (project.path / "stops.json").write_text(json.dumps(stops), "utf-8")
    project.makepyfile(notes=NOTES)
    result = project.runpytest_subprocess(
        "-p", "notes", "--brt-issue=clamp.md", "--rank-fixes=patches/a-right.diff", "--brt-guard=no"
    )
    assert result.ret == 0, result.stdout.str()
    assert json.loads((project.path / "found.json").read_text("utf-8")) == stops
