"""A small project with a bug, its report and candidate patches, for tests of the plugin."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from tests.support.interval import CLAMP, CLAMP_ISSUE, FIXES, MEAN_ISSUE, SOURCE, TESTS, diff_of
from tests.support.sessions import LEAN

# Without the test group `pytest --help` must still say what can be done here.
try:
    from hypothesis import HealthCheck, settings
except ImportError:
    pass
else:
    # Machines are noisy: no test of ours is about how long an example takes.
    settings.register_profile(
        "brt",
        deadline=None,
        suppress_health_check=[HealthCheck.too_slow],
        derandomize="CI" in os.environ,
    )
    settings.load_profile("brt")


def pytest_configure(config: pytest.Config) -> None:
    """Let xdist keep our order of files: by itself it begins with those of the most tests."""
    config.option.loadscopereorder = False
    if not config.getoption("numprocesses", None):  # its workers have the plugins
        os.environ["PYTEST_ADDOPTS"] = LEAN


def pytest_ignore_collect(collection_path: Path, config: pytest.Config) -> bool | None:
    """Import no file for the slow tests, or those of llama-cpp-python, that has none."""
    wanted = config.option.markexpr
    if wanted not in {"slow", "llama"} or collection_path.suffix != ".py":
        return None
    return wanted not in collection_path.read_text("utf-8") or None


@pytest.hookimpl(trylast=True)
def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Begin with the files that take longest, so that no worker is alone with one at the end.

    What a busy machine changes is left out where others run beside it: `-m load` runs that apart.
    So does `-m llama` with what wants llama-cpp-python.
    """
    apart = {"load"} if hasattr(config, "workerinput") else set()
    if "llama" not in config.option.markexpr:
        apart.add("llama")
    left_out = [item for item in items if any(map(item.get_closest_marker, apart))]
    items[:] = [item for item in items if item not in left_out]
    config.hook.pytest_deselected(items=left_out)
    items.sort(key=lambda item: item.get_closest_marker("long") is None)


@pytest.fixture
def pytester(pytester: pytest.Pytester, monkeypatch: pytest.MonkeyPatch) -> pytest.Pytester:
    """Return a pytester whose sessions are lean; by itself it takes the variable away."""
    monkeypatch.setenv("PYTEST_ADDOPTS", LEAN)
    return pytester


@pytest.fixture
def project(pytester: pytest.Pytester, monkeypatch: pytest.MonkeyPatch) -> pytest.Pytester:
    """Return a pytester in a project with two bugs, two reports and a folder of patches.

    What ranking does beside EPR is switched off: it takes longer than all the rest.
    """
    monkeypatch.setenv("PYTEST_ADDOPTS", f"{LEAN} --brt-guard=no")
    pytester.makeini("[pytest]\n")
    pytester.mkpydir("interval").joinpath("__init__.py").write_text(SOURCE, encoding="utf-8")
    tests = pytester.mkdir("tests")
    (tests / "test_interval.py").write_text(TESTS, encoding="utf-8")
    pytester.makefile(".md", clamp=CLAMP_ISSUE, mean=MEAN_ISSUE)
    patches = pytester.mkdir("patches")
    for name, fix in FIXES.items():
        (patches / f"{name}.diff").write_text(diff_of(SOURCE.replace(CLAMP, fix)), "utf-8")
    stale = diff_of(
        SOURCE.replace("value", "x").replace("low", "y"), before=SOURCE.replace("value", "x")
    )
    (patches / "e-stale.diff").write_text(stale, "utf-8")
    return pytester
