"""What an order of patches rests on is said as it is: whose tests, and what nothing tells."""

from __future__ import annotations

from typing import Any, NamedTuple

import pytest

from pytest_brt.patches import canonical_diff
from pytest_brt.types import FileChange
from tests.support.reports import patches_of, read_report
from tests.support.trees import write_tree

CORE = '''\
class Refused(Exception):
    pass


def size(items):
    return len(items) - 1


def opened(door, key):
    """Open a door that the key fits."""
    lock = door["lock"]
    if lock != key:
        raise Refused(lock)
    return True
'''
SIZE = "return len(items) - 1"
LOCK = 'lock = door["lock"]'
SUITE = "import core\n\n\ndef test_size_is_a_number():\n    assert core.size([1, 2]) >= 0\n"
#: Longer than what existing tests may take: some are left out, and which lines they run is seen.
LONG = """\
import time


def test_long():
    end = time.process_time() + 3
    while time.process_time() < end:
        pass
"""
REPORT = """\
# opened() ends in a KeyError

```pycon
>>> from core import opened
>>> opened({}, "a")
Traceback (most recent call last):
  File "core.py", line 11, in opened
    lock = door["lock"]
KeyError: 'lock'
```
"""


class Found(NamedTuple):
    """What a run says of its patches."""

    code: int
    ranking: dict[str, Any]
    patches: dict[str, Any]
    markdown: str


def rank(pytester: pytest.Pytester, *arguments: str, **patches: tuple[str, str, str]) -> Found:
    """Rank patches, each with what it replaces, by what, and the body of a test that it brings."""
    root = pytester.path
    written = {"core.py": CORE, "test_core.py": SUITE, "pyproject.toml": "", "issue.md": REPORT}
    write_tree(root, written)
    (root / "patches").mkdir()
    for name, (old, new, body) in patches.items():
        test = f"{SUITE}\n\ndef test_of_{name}():\n    {body}\n" if body else SUITE
        changes = tuple(
            FileChange(path=path, content=text.encode())
            for path, text in (("core.py", CORE.replace(old, new)), ("test_core.py", test))
        )
        (root / f"patches/{name}.diff").write_text(canonical_diff(changes, root), "utf-8")
    out, page = root / "out.json", root / "out.md"
    reports = (f"--brt-report={out}", f"--brt-report={page}")
    done = pytester.runpytest_subprocess("--rank-fixes=patches", *reports, *arguments)
    found = read_report(out)
    (ranking,) = found["rankings"]
    return Found(int(done.ret), ranking, patches_of(found), page.read_text("utf-8"))


NOTHING = (SIZE, "n = len(items)\n    return n - 1", "")
RIGHT = (SIZE, "return len(items)", "")


def test_a_patch_that_alone_passes_its_own_test_is_first_and_does_not_lead(
    pytester: pytest.Pytester,
) -> None:
    """One whose code cannot be imported fails all, its own test too."""
    found = rank(
        pytester,
        right=(*RIGHT[:2], "assert core.size([1, 2]) == 2"),
        nothing=NOTHING,
        unread=(SIZE, "return len(items", "assert core.size([1, 2]) == 2"),
    )
    assert found.code == 7
    assert found.ranking["answer"]["reason"]["code"] == "own-tests"
    assert next(iter(found.patches)) == "right.diff"
    assert "test_of_right came with right.diff and unread.diff" in found.ranking["answer"]["text"]
    assert found.patches["unread.diff"]["passed"] == 0
    assert found.patches["unread.diff"]["total"] == 1


def test_it_is_said_that_no_existing_test_runs_what_a_patch_changes(
    pytester: pytest.Pytester,
) -> None:
    write_tree(pytester.path, {"test_long.py": LONG})
    found = rank(
        pytester,
        "--brt-issue=issue.md",
        "--brt-guard=1",
        a=(LOCK, 'lock = door.get("lock", key)', ""),
        b=(LOCK, 'if "lock" not in door:\n        return None\n    lock = door["lock"]', ""),
    )
    said = "no existing test is known to run the changed lines"
    assert said in found.ranking["answer"]["text"]
    assert "existing tests" not in found.ranking["answer"]["text"]
    assert len({patch["score"] for patch in found.patches.values()}) == 1
