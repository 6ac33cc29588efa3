"""Two patches that pass the same tests: a call tells them apart, and a person says who is right."""

from __future__ import annotations

import sys

import pytest

from tests.support.reports import read_report

WRONG = "def size(text):\n    return int(text[:-2]) * 1024\n"
REPORT = """\
# size() knows no fractions

```
>>> from core import size
>>> size("1.5KB")
Traceback (most recent call last):
  File "core.py", line 2, in size
ValueError: invalid literal for int() with base 10: '1.5'
```

`size("1.5KB")` should return `1536.0`.
"""
PATCH = """\
--- a/core.py
+++ b/core.py
@@ -1,2 +1,2 @@
 def size(text):
-    return int(text[:-2]) * 1024
+    return {}
"""


@pytest.fixture
def project(pytester: pytest.Pytester) -> pytest.Pytester:
    pytester.makepyfile(core=WRONG)
    (pytester.path / "issue.md").write_text(REPORT, "utf-8")
    patches = pytester.mkdir("patches")
    (patches / "a.diff").write_text(PATCH.format("float(text[:-2]) * 1024"), "utf-8")
    (patches / "b.diff").write_text(PATCH.format("float(text[:3]) * 1024"), "utf-8")
    return pytester


def test_the_call_is_shown_and_what_is_right_decides(project: pytest.Pytester) -> None:
    result = project.runpytest_subprocess(
        "--brt-issue=issue.md", "--rank-fixes=patches", "--brt-report=out.json"
    )
    result.stdout.fnmatch_lines(
        [
            "No patch stands out: a.diff and b.diff pass the same tests: * "
            "They differ: `size('*')` * (a.diff), raises ValueError (b.diff).",
            "  say which result is right: 'pytest-brt review'",
        ]
    )
    (ranking,) = read_report(project.path.joinpath("out.json"))["rankings"]
    (told,) = ranking["tellings"]
    assert [given["patches"] for given in told["gives"]] == [["a.diff"], ["b.diff"]]
    shown = project.run(sys.executable, "-m", "pytest_brt", "review")
    shown.stdout.fnmatch_lines(
        ["V1  `size('*')` gives `*` (a.diff)", "V2  `size('*')` raises * (b.diff)"]
    )
    said = project.run(sys.executable, "-m", "pytest_brt", "review", "--accept", "V1")
    assert said.ret == 0, said.stderr.str()
    result = project.runpytest_subprocess("--rank-fixes=patches")
    result.stdout.fnmatch_lines(["*a.diff*passes*"])
    result.stdout.no_fnmatch_line("No patch stands out*")
