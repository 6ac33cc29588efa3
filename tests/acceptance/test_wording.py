"""What is printed where little was found: who is at fault, what was not done, and what to do."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

CLAMP = (
    "# clamp is odd\n\n```\n>>> from interval import clamp\n>>> clamp(5, 0, 10)\n0\n```\n"
    "{}\n\nIn docs/usage.md it is right.\n"
)
TRACEBACK = """\
# mean() crashes

```
Traceback (most recent call last):
  File "report.py", line 3, in <module>
    main()
  File "interval/__init__.py", line 9, in mean
    return sum(values) / len(values)
ZeroDivisionError: division by zero
```
"""


def verdict(result: pytest.RunResult) -> str:
    """Return the answer about a report."""
    return next(line for line in result.outlines if line.startswith(("Not ", "Possibly ")))


@pytest.mark.parametrize("kind", ["new", "into"])
def test_where_nothing_is_written_it_is_said_what_writes_it(
    project: pytest.Pytester, kind: str
) -> None:
    # A title that names no code of the project says little of what is wrong.
    odd = CLAMP.format("").replace("clamp is odd", "Something is odd")
    project.path.joinpath("odd.md").write_text(odd, "utf-8")
    result = project.runpytest_subprocess("--brt-issue=odd.md", f"--brt-write={kind}", "-q")
    assert [line for line in result.outlines if "written" in line] == [
        "not written: test_something_odd is less certain ('pytest-brt review' accepts it, and "
        "the same command then writes it)"
    ]
    project.path.joinpath("none.md").write_text("# mean() is slow\n\nSometimes.\n", "utf-8")
    result = project.runpytest_subprocess("--brt-issue=none.md", f"--brt-write={kind}")
    assert "not written: no test for none.md was found" in result.outlines


def test_a_traceback_is_not_asked_for_where_there_is_one(project: pytest.Pytester) -> None:
    project.path.joinpath("issue.md").write_text(TRACEBACK, "utf-8")
    said = verdict(project.runpytest_subprocess("--brt-issue=issue.md", "-q"))
    assert "traceback" in said.partition(";")[0]
    assert "traceback" not in said.partition(";")[2]


@pytest.mark.slow
def test_long_work_is_shown_to_go_on(project: pytest.Pytester) -> None:
    report = "# clamp is slow\n\n```\nimport time\ntime.sleep(13)\nraise ValueError\n```\n"
    project.path.joinpath("slow.md").write_text(report, "utf-8")
    result = project.runpytest_subprocess("--brt-issue=slow.md", "--brt-timeout=60")
    result.stdout.fnmatch_lines(["*running 3 statements of the report"])


def test_many_tests_that_are_checked_have_a_summary(tmp_path: Path) -> None:
    (tmp_path / "a.py").write_text("def half(n):\n    return n / 0\n", "utf-8")
    (tmp_path / "issue.md").write_text(
        "# half() raises\n\n```\n>>> from a import half\n>>> half(2)\n"
        "ZeroDivisionError: division by zero\n```\n",
        "utf-8",
    )
    (tmp_path / "test_a.py").write_text(
        "from a import half\n\ndef test_half():\n    half(2)\n\ndef test_more():\n    pass\n",
        "utf-8",
    )
    command = [sys.executable, "-m", "pytest_brt", "check", "test_a.py", "--issue=issue.md"]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=False)
    assert done.returncode == 1
    lines = done.stdout.splitlines()
    assert lines[-1] == "bug tests for issue.md: 1 of 2"
    assert "test_a.py::test_half: a bug test" in lines
    assert "test_a.py::test_more: not a bug test" in lines
