"""A run of ours is a run of pytest: what people type for that works here too."""

from __future__ import annotations

import importlib.util
import re
import shutil
import signal
import subprocess
import time
from pathlib import Path
from xml.etree import ElementTree

import pytest

from tests.scenarios.project import Make, Project, Run
from tests.scenarios.samples import CLAMP, CLAMP_REPORT, CLAMP_RIGHT, CLAMP_TEST, FILES

RANK = ("--rank-fixes=patches", "--brt-tests=mine.py", "--brt-guard=no")
#: Others that change how pytest runs.
OTHERS = (
    "pytest_asyncio", "pytest_benchmark", "pytest_cov", "pytest_django", "pytest_html",
    "pytest_jsonreport", "pytest_rerunfailures", "pytest_sugar", "pytest_timeout",
)  # fmt: skip


@pytest.fixture(scope="module")
def project(make: Make) -> Project:
    return with_three_patches(make)


def with_three_patches(make: Make) -> Project:
    project = make({**FILES, "mine.py": CLAMP_TEST})
    wrong = "max(high, min(value, low))"
    project.patches(
        "interval.py", CLAMP, right=CLAMP_RIGHT, other="value if 0 else low", wrong=wrong
    )
    return project


def cases(xml: Path) -> list[ElementTree.Element]:
    return list(ElementTree.parse(xml).iter("testcase"))


@pytest.fixture(scope="module")
def shown(project: Project) -> Run:
    """Return a run on two workers that writes JUnit's file."""
    run = project.pytest(*RANK, "-v", f"--junitxml={project.folder / 'junit.xml'}", "-n", "2")
    assert run.code == 0, run.said
    return run


def test_one_item_for_each_patch_also_in_junits_file(project: Project, shown: Run) -> None:
    names = ("other.diff", "right.diff", "wrong.diff")
    lines = [line for line in shown.out.splitlines() if ".diff" in line and "%]" in line]
    assert len(lines) == 3
    assert all(any(name in line for line in lines) for name in names)
    items = [case.get("name", "") for case in cases(project.folder / "junit.xml")]
    assert sorted(items) == sorted(f"patches.{name}" for name in names)


@pytest.mark.usefixtures("shown")
def test_a_wrong_patch_is_no_failure_of_the_run(project: Project) -> None:
    xml = project.folder / "junit.xml"
    assert not list(ElementTree.parse(xml).iter("failure"))
    passed = {case.get("name"): case.findall(".//property")[0].get("value") for case in cases(xml)}
    assert passed["patches.wrong.diff"] == "1 of 2"
    assert passed["patches.right.diff"] == "2 of 2"


def test_one_patch_by_its_name_and_few_words(project: Project, shown: Run) -> None:
    run = project.pytest(*RANK, "-k", "right", "-q")
    assert run.code == 0, run.said
    assert [patch.name for patch in run.report.ranking.patches] == ["right.diff"]
    assert "sandbox" in shown.out
    assert "sandbox" not in run.out


def test_nothing_is_selected(project: Project) -> None:
    assert project.pytest(*RANK, "-k", "no_such_name").code == 5


def test_what_would_run_is_collected_and_not_run(project: Project) -> None:
    began = time.monotonic()
    run = project.pytest(*RANK, "--co", "-q")
    assert run.code == 0, run.said
    assert "right.diff" in run.out
    assert not run.json or not run.report.rankings
    assert time.monotonic() - began < 60


def test_the_first_failure_that_ends_a_run_is_no_patch(make: Make) -> None:
    """Also where another plugin changes the order of all tests."""
    project = with_three_patches(make)
    run = project.pytest(*RANK, "-x", env={"PYTEST_ADDOPTS": "-p no:hypothesispytest"})
    assert len(run.report.ranking.patches) == 3
    assert run.report.ranking.status == "best"


def test_a_project_that_always_uses_xdist(make: Make) -> None:
    settings = f"{FILES['pytest.ini']}addopts = -n auto --strict-markers -ra\n"
    project = make({**FILES, "pytest.ini": settings, "mine.py": CLAMP_TEST})
    project.patches("interval.py", CLAMP, right=CLAMP_RIGHT)
    run = project.pytest(*RANK)
    assert run.code == 0, run.said
    assert run.report.ranking["right"].epr == 1.0


def test_beside_eight_other_plugins(make: Make) -> None:
    """`tox -e hostile` installs them."""
    found = [name for name in OTHERS if importlib.util.find_spec(name)]
    if len(found) < 8:
        pytest.skip(f"only {len(found)} of eight plugins are installed")
    settings = f"{FILES['pytest.ini']}addopts = --timeout=0.01 --reruns=3 --cov=interval\n"
    project = make({**FILES, "pytest.ini": settings, "mine.py": CLAMP_TEST})
    project.patches("interval.py", CLAMP, right=CLAMP_RIGHT)
    run = project.pytest(*RANK)
    assert run.code == 0, run.said
    assert run.report.ranking["right"].epr == 1.0


#: With existing tests, whose results are kept, too.
MANY = ("--rank-fixes=patches", "--brt-tests=mine.py", "--brt-jobs=1")


def with_eight_patches(make: Make) -> tuple[Project, subprocess.Popen[str]]:
    """Return a project, and a run in it that has done the first of its patches."""
    project = make({**FILES, "mine.py": CLAMP_TEST})
    texts = {f"fix_{n}": f"max(low, min(value, {n if n else 'high'}))" for n in range(8)}
    project.patches("interval.py", CLAMP, **texts)
    process = project.start("pytest", *MANY, f"--brt-report={project.json}", "-v")
    assert process.stdout is not None
    for line in process.stdout:
        if "%]" in line:
            break
    return project, process


def taken(run: Run) -> int:
    """Return how many results of an interrupted run were not made again."""
    found = re.search(r"(\d+) results? taken from the interrupted run", run.out)
    return int(found[1]) if found else 0


def test_interrupted_in_the_middle_and_run_again(make: Make) -> None:
    """What was found is shown and kept, and the same command goes on from there on this tree."""
    project, process = with_eight_patches(make)
    run = project.interrupt(process)
    assert run.code == 2, run.said
    assert "continue: " in run.out
    first = run.report.ranking
    assert first.status == "unfinished"
    assert 0 < len(first.missing) < 8
    cache, copy = project.root / ".pytest_cache", project.folder / "cache"
    assert list(cache.rglob("journal*"))
    shutil.copytree(cache, copy)
    project.write({"more.py": "x = 1\n"})
    assert taken(project.pytest(*MANY, "-k", "fix_0")) == 0, "it is another tree"
    (project.root / "more.py").unlink()
    shutil.rmtree(cache)
    shutil.move(copy, cache)
    again = project.pytest(*MANY)
    assert again.code in (0, 7), again.said
    assert taken(again) >= 8 - len(first.missing)
    assert len(again.report.ranking.patches) == 8
    assert {patch.ran for patch in again.report.ranking.patches} == {2}
    assert not again.report.ranking.missing
    assert not list(cache.rglob("journal*")), "nothing is left to be taken up"


def test_interrupted_twice(make: Make) -> None:
    project, process = with_eight_patches(make)
    process.send_signal(signal.SIGINT)
    time.sleep(0.3)
    run = project.interrupt(process)
    assert "continue: " in run.out, run.said
    assert taken(project.pytest(*MANY, "-k", "fix_0"))


def test_a_plugin_that_is_called_as_one_of_pytests_own(make: Make) -> None:
    """pytest passes over it, and so do our runs: an old pytest-cache breaks newer ones."""
    project = make(FILES)
    packages = project.folder / "packages"
    about = packages / "old_cache-1.0.dist-info"
    about.mkdir(parents=True)
    (packages / "old_cache.py").write_text("def pytest_configure(config):\n    1 / 0\n")
    (about / "METADATA").write_text("Metadata-Version: 2.1\nName: old-cache\nVersion: 1.0\n")
    (about / "entry_points.txt").write_text("[pytest11]\ncacheprovider = old_cache\n")
    run = project.issue(CLAMP_REPORT, f"--brt-env=PYTHONPATH={packages}")
    assert run.report.bug_tests, run.said
