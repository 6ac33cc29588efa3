"""Real bugs repaired by scripted replies, through the mistakes that models make."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from tests.acceptance.examples import EXAMPLES, unpack
from tests.support.reports import patches_of, read_report
from tests.support.trees import tree_hash

pytestmark = pytest.mark.slow

TABULATE = """\
=== reply
{"thought": "The test.", "action": "extract_tests", "name": ""}
=== reply
{"thought": "Where?", "action": "run_fault_localization"}
=== reply
{"thought": "Where, again?", "action": "run_fault_localization"}
=== reply
{"thought": "It expands.", "action": "express_hypothesis", "hypothesis": "expanding widths fails"}
=== reply
{"thought": "No.", "action": "discard_hypothesis", "reason": "it fails before anything is expanded"}
=== reply
{"thought": "Empty.", "action": "express_hypothesis", "hypothesis": "there is no first row"}
=== reply
{"thought": "Read.", "action": "read_range", "path": "tabulate.py", "first": 2050, "last": 2066}
=== reply
{"thought": "Fix.", "action": "write_fix", "changes": "tabulate/__init__.py replace 2053"}
```python
    if maxcolwidths is not None and list_of_lists
```
=== always if: Write one variant
{"thought": "And.", "action": "write_fix", "changes": "tabulate/__init__.py replace 2053"}
```python
    if maxcolwidths is not None and list_of_lists:
```
=== reply
{"thought": "Fix.", "action": "write_fix", "changes": "tabulate/__init__.py replace 2053"}
```python
    if maxcolwidths is None and list_of_lists:
```
=== reply
{"thought": "Done.", "action": "goal_accomplished", "reason": "the tests pass"}
"""
SQLPARSE = """\
=== always if: copy the words of the report
{"words_1": "none"}
=== reply if: What to change: start after
{"thought": "t", "action": "change", "changes": "replace 74"}
```python
tidx, token = get_next_comment(idx=tidx + 1)
```
=== reply if: What to change: start before
{"thought": "t", "action": "change", "changes": "replace 74"}
```python
            tidx, token = get_next_comment(idx=tidx - 1)
```
=== reply
{"thought": "Find it.", "action": "grep", "text": "StripComments"}
=== reply
{"thought": "Find it.", "action": "code_search", "keywords": "StripCommentsFilter process"}
=== reply
{"thought": "Read.", "action": "cat", "path": "filters/others.py", "first": 15}
=== reply
{"thought": "Skips one.", "action": "edit", "path": "others.py", "prompt": "start after, line 74"}
=== reply
{"thought": "Test.", "action": "test", "path": "tests/test_format.py"}
=== reply
{"thought": "Worse.", "action": "edit", "path": "others.py", "prompt": "start before, line 74"}
=== reply
{"thought": "Test.", "action": "test", "path": "tests/test_format.py"}
=== reply
{"thought": "Done.", "action": "finish"}
"""


def repaired(
    name: str, replies: str, strategy: str, tmp_path: Path, suite: str
) -> tuple[dict[str, Any], str, Path]:
    """Repair an example; return its report, the patch that was written, and the tree.

    Of the existing tests only the file `suite` is left: that a fix may break others, and which
    of them are run, small projects tell sooner.
    """
    root = unpack(EXAMPLES / name, tmp_path)
    for path in (root / suite).parent.glob("test_*.py"):
        if path != root / suite:
            path.unlink()
    before = tree_hash(root)
    (tmp_path / "replies.txt").write_text(replies, encoding="utf-8")
    command = [
        *(sys.executable, "-m", "pytest", f"--rootdir={root}", "-p", "no:cacheprovider"),
        f"--brt-repair={EXAMPLES / name / 'issue.md'}",
        *(
            f"--brt-model=scripted:{tmp_path / 'replies.txt'}",
            f"--brt-report={tmp_path / 'r.json'}",
        ),
        *(f"--brt-strategy=replay,{strategy}", "--brt-samples=1"),
    ]
    done = subprocess.run(
        command,
        cwd=tmp_path,
        check=False,
        capture_output=True,
        encoding="utf-8",
        env={**os.environ, "PYTHONPATH": ""},
    )
    assert done.returncode == 0, done.stdout + done.stderr
    assert tree_hash(root) == before
    (patch,) = (tmp_path / "brt-patches/issue").glob("*.diff")
    return read_report(tmp_path / "r.json"), patch.read_text("utf-8"), root


def test_repairagent_repairs_a_crash(tmp_path: Path) -> None:
    report, patch, root = repaired(
        "tabulate-maxcolwidths", TABULATE, "repairagent", tmp_path, "test/test_regression.py"
    )
    (repair,) = report["repairs"]
    (fix,) = repair["fixes"]
    assert (fix["source"], repair["ending"], repair["steps"]) == ("variant", "finish", 10)
    assert len(fix["passed"]) == fix["total"]
    assert fix["existing"]["broken"] == []
    assert "+    if maxcolwidths is not None and list_of_lists:" in patch
    subprocess.run(["git", "apply", "--check", "-"], input=patch.encode(), cwd=root, check=True)


def test_passerine_repairs_a_wrong_value(tmp_path: Path) -> None:
    report, patch, _ = repaired(
        "sqlparse-strip-comments", SQLPARSE, "passerine", tmp_path, "tests/test_format.py"
    )
    (repair,) = report["repairs"]
    (fix,) = repair["fixes"]
    assert fix["plausible"]
    assert (repair["ending"], repair["steps"]) == ("finish", 8)
    assert "+            tidx, token = get_next_comment(idx=tidx - 1)" in patch
    (ranked,) = patches_of(report).values()
    assert (ranked["epr"], ranked["place"]) == (1.0, [1, 1])
