"""A test that is written looks as if somebody of the project had written it."""

from __future__ import annotations

import ast
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

SOURCE = """\
import fractions


class Reader:
    def __init__(self, text, *, sep=",", quote="'", strict=False):
        self.text, self.sep = text, sep

    def row(self, number, default=None):
        return [fractions.Fraction(cell) for cell in self.text.split(self.sep)][number]


def describe(reader, title):
    return f"{title}: {reader.text}"
"""
REPORT = """\
# Reader cannot read an empty cell of a table that somebody has pasted from a spreadsheet program

```python
import sys
from collections import OrderedDict
from table.core import describe, Reader
import json
print(sys.version)
options = OrderedDict(sep=json.loads('";"'))
print(options)
text = "1;2;3;;4;5;6;7;8;9;10;11"
reader = Reader(text, sep=options["sep"], quote='"', strict=bool([1, 2, 3, 4, 5, 6, 7, 8]))
print(reader.row(3))
```

```
Traceback (most recent call last):
  File "report.py", line 9, in <module>
    print(reader.row(3))
ValueError: Invalid literal for Fraction: ''
```

It should be `None`.
"""
HOST = """\
import json

import pytest

from table import core
from table.core import Reader


@pytest.fixture
def reader():
    return Reader("1,2")


class TestReader:
    def test_row(self, reader):
        assert reader.row(0) == 1 == json.loads("1")

    def test_core(self):
        assert core.describe(Reader("1"), "a") == "a: 1"
"""


@pytest.fixture
def project(pytester: pytest.Pytester) -> pytest.Pytester:
    package = pytester.mkpydir("table")
    package.joinpath("core.py").write_text(SOURCE, "utf-8")
    pytester.mkdir("tests").joinpath("test_table.py").write_text(HOST, "utf-8")
    pytester.path.parent.joinpath("given").mkdir(exist_ok=True)
    return pytester


def written(project: pytest.Pytester, report: Path, kind: str) -> Path:
    """Return the file that a run writes."""
    result = project.runpytest_subprocess(
        f"--brt-issue={report}", f"--brt-write={kind}", "--brt-mark=xfail"
    )
    result.stdout.fnmatch_lines(["written: *"])
    (line,) = [line for line in result.outlines if line.startswith("written: ")]
    return project.path / line.removeprefix("written: ")


def test_nothing_in_it_is_unused_and_nothing_is_missing(project: pytest.Pytester) -> None:
    """The report lies outside of the project."""
    report = project.path.parent / "given" / "issue.md"
    report.write_text(REPORT, "utf-8")
    project.runpytest_subprocess(f"--brt-issue={report}")
    project.run(sys.executable, "-m", "pytest_brt", "review", "--accept", "T1", "T2")
    path = written(project, report, "into")
    assert_tidy(project, path)
    plain = (str(path), "-p", "no:randomly")
    project.runpytest_subprocess(*plain).assert_outcomes(xfailed=1, passed=2)
    path.write_text(HOST, "utf-8")
    path = written(project, report, "new")
    assert max(map(len, path.read_text("utf-8").splitlines())) <= 100
    assert_tidy(project, path)
    project.runpytest_subprocess(str(path), *plain[1:]).assert_outcomes(xfailed=2)


def assert_tidy(project: pytest.Pytester, path: Path) -> None:
    text = path.read_text("utf-8")
    assert str(project.path) not in text
    assert str(project.path.parent) not in text
    names = [node.id for node in ast.walk(ast.parse(text)) if isinstance(node, ast.Name)]
    assert "print" not in names, text
    functions = [node for node in ast.walk(ast.parse(text)) if isinstance(node, ast.FunctionDef)]
    assert all(len(node.name) <= 45 for node in functions)
    assert any(" (issue.md)" in line for line in text.splitlines()), text
    imports = [line.split()[1] for line in text.splitlines() if line.startswith(("import", "from"))]
    own = [place for place, module in enumerate(imports) if module.startswith("table")]
    assert imports.index("pytest") < min(own), text
    ruff = shutil.which("ruff", path=str(Path(sys.executable).parent))
    if ruff is not None:
        command = [ruff, "check", "--isolated", "--select=F", str(path)]
        checked = subprocess.run(command, cwd=project.path, capture_output=True, check=False)
        assert checked.returncode == 0, checked.stdout.decode() + text
