"""A small project with a bug, its report and candidate patches, for tests of the plugin."""

from __future__ import annotations

import difflib
import hashlib
import os
from pathlib import Path

import pytest

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


#: For the sessions that tests start. Hypothesis is imported at the end of each session that has
#: its plugin, which is a fifth of a whole run; none of them has a test that is for it.
LEAN = "-p no:hypothesispytest -p no:randomly"
#: For those in which it is no question whether runs on the unpatched tree agree.
ONCE = f"{LEAN} -o brt_repeat=1"


def pytest_configure(config: pytest.Config) -> None:
    """Let xdist keep our order of files: by itself it begins with those of the most tests."""
    config.option.loadscopereorder = False
    if not config.getoption("numprocesses", None):  # its workers have the plugins
        os.environ["PYTEST_ADDOPTS"] = LEAN


def pytest_ignore_collect(collection_path: Path, config: pytest.Config) -> bool | None:
    """Import no file for the slow tests that has none."""
    if config.option.markexpr != "slow" or collection_path.suffix != ".py":
        return None
    return "slow" not in collection_path.read_text("utf-8") or None


@pytest.hookimpl(trylast=True)
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Begin with the files that take longest, so that no worker is alone with one at the end."""
    items.sort(key=lambda item: item.get_closest_marker("long") is None)


SOURCE = '''\
"""Arithmetic on intervals."""


def clamp(value, low, high):
    """Return `value`, moved into low..high."""
    return max(low, min(value, low))


def mean(values):
    """Return the arithmetic mean, 0 for no values."""
    return sum(values) / len(values)
'''

TESTS = """\
from interval import clamp, mean


def test_clamp_below():
    assert clamp(-1, 0, 10) == 0


def test_mean():
    assert mean([1, 2, 3]) == 2
"""

CLAMP_ISSUE = """\
# clamp() always returns the lower bound

I have interval 1.0.

```python
>>> from interval import clamp
>>> clamp(5, 0, 10)
0
>>> clamp(12, 0, 10)
0
```

`clamp(5, 0, 10)` should be `5`, and `clamp(12, 0, 10)` should be `10`.
"""

MEAN_ISSUE = """\
# mean() of nothing crashes

```python
from interval import mean
mean([])
```

Traceback:

```
Traceback (most recent call last):
  File "t.py", line 2, in <module>
    mean([])
  File "/home/me/interval/__init__.py", line 11, in mean
    return sum(values) / len(values)
ZeroDivisionError: division by zero
```

I expected 0, as the docstring says.
"""

CLAMP = "    return max(low, min(value, low))\n"
FIXES = {
    "a-right": "    return max(low, min(value, high))\n",
    "b-literal": "    if value == 5:\n        return 5\n    return max(low, min(value, low))\n",
    "c-wrong": "    return max(high, min(value, low))\n",
    "d-right-too": "    return low if value < low else min(value, high)\n",
}


def diff_of(after: str, path: str = "interval/__init__.py", before: str = SOURCE) -> str:
    """Return a git-style diff from `before` to `after`."""
    lines = difflib.unified_diff(
        before.splitlines(keepends=True),
        after.splitlines(keepends=True),
        f"a/{path}",
        f"b/{path}",
    )
    return "".join(lines)


def tree_hash(root: Path) -> str:
    """Return a digest of every path and byte below `root`.

    What the outer pytest and pytester themselves put there is left out.
    """
    others = {".pytest_cache", "__pycache__", "stdout", "stderr", "runpytest-0", "runpytest-1"}
    digest = hashlib.sha256()
    for path in sorted(root.rglob("*")):
        if path.is_file() and not others & set(path.relative_to(root).parts):
            digest.update(path.relative_to(root).as_posix().encode() + b"\0")
            digest.update(path.read_bytes() + b"\0")
    return digest.hexdigest()


@pytest.fixture
def pytester(pytester: pytest.Pytester, monkeypatch: pytest.MonkeyPatch) -> pytest.Pytester:
    """Return a pytester whose sessions are lean; by itself it takes the variable away."""
    monkeypatch.setenv("PYTEST_ADDOPTS", LEAN)
    return pytester


@pytest.fixture
def once(pytester: pytest.Pytester, monkeypatch: pytest.MonkeyPatch) -> None:
    """Let sessions run a bug test once on the unpatched tree, where agreement is no question."""
    monkeypatch.setenv("PYTEST_ADDOPTS", ONCE)


@pytest.fixture
def project(pytester: pytest.Pytester) -> pytest.Pytester:
    """Return a pytester in a project with two bugs, two reports and a folder of patches.

    What ranking does beside EPR is switched off: it takes longer than all the rest.
    """
    pytester.makeini("[pytest]\nbrt_guard = no\n")
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
