"""What is printed where little was found: who is at fault, what was not done, and what to do."""

from __future__ import annotations

import pytest

#: A title that names no code of the project says little of what is wrong.
ODD = "# Something is odd\n\n```\n>>> from interval import clamp\n>>> clamp(5, 0, 10)\n0\n```\n"
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


def test_where_nothing_is_written_it_is_said_what_writes_it(project: pytest.Pytester) -> None:
    project.path.joinpath("odd.md").write_text(ODD, "utf-8")
    result = project.runpytest_subprocess("--brt-issue=odd.md", "--brt-write=new", "-q")
    assert [line for line in result.outlines if "written" in line] == [
        "not written: test_something_odd is less certain ('pytest-brt review' accepts it, and "
        "the same command then writes it)"
    ]
    project.path.joinpath("none.md").write_text("# mean() is slow\n\nSometimes.\n", "utf-8")
    result = project.runpytest_subprocess("--brt-issue=none.md", "--brt-write=into")
    assert "not written: no test for none.md was found" in result.outlines


def test_a_traceback_is_not_asked_for_where_there_is_one(project: pytest.Pytester) -> None:
    project.path.joinpath("issue.md").write_text(TRACEBACK, "utf-8")
    result = project.runpytest_subprocess("--brt-issue=issue.md", "-q")
    (said,) = result.outlines[1:-1]
    assert "traceback" in said.partition(";")[0]
    assert "traceback" not in said.partition(";")[2]


@pytest.mark.slow
def test_long_work_is_shown_to_go_on(project: pytest.Pytester) -> None:
    project.makepyfile(sooner="from pytest_brt.plugin import session\n\nsession._APART = 0.5\n")
    report = "# clamp is slow\n\n```\nimport time\ntime.sleep(1.5)\nraise ValueError\n```\n"
    project.path.joinpath("slow.md").write_text(report, "utf-8")
    result = project.runpytest_subprocess("-p", "sooner", "--brt-issue=slow.md")
    result.stdout.fnmatch_lines(["*running 3 statements of the report"])
