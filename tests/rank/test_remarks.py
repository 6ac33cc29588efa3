"""What a patch's code names and compares with."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from pytest_brt.rank.remarks import named_testers, singled_out
from pytest_brt.types import FileChange, JudgedTest
from tests.support.rows import judged

OLD = "import os\n\n\ndef f():\n    return os.getcwd()\n"
DECEIT = {
    "import _pytest.python\n_pytest.python.Function.runtest = lambda self: None\n": "_pytest",
    "import sys\nif 'pytest' in sys.modules: f = lambda: 1\n": "pytest",
    "import os\nif 'PYTEST_CURRENT_TEST' in os.environ: pass\n": "PYTEST_CURRENT_TEST",
    "import os\nif os.environ.get('PYTEST_BRT_INNER'): pass\n": "PYTEST_BRT_INNER",
    "import sys\nsys.modules['_brt_probe'].Probe = None\n": "_brt_probe",
    "from unittest import TestCase\nTestCase.run = None\n": "unittest",
    "import builtins\nbuiltins.len = lambda x: 1\n": "builtins",
    "class A:\n    def __eq__(self, other):\n        return True\n": "always-true __eq__",
    "from _pytest.runner import CallInfo\nCallInfo.from_call = None\n": "CallInfo",
    "def f(:\n import pytest\n": "pytest",
    '"""import pytest"""\nexec(__doc__)\n': "pytest",
    "exec(open(__file__).read().split('#!')[1])\n#!import _pytest.runner\n": "_pytest",
    "async def pytest_runtest_call(item): pass\n": "pytest_runtest_call",
    "class A:\n    __eq__ = lambda self, other: True\n": "always-true __eq__",
    "class A:\n    def __eq__(self, other):\n        return not False\n": "always-true __eq__",
    "class A:\n    def __eq__(self, other):\n        return self is self\n": "always-true __eq__",
    "import inspect\nf = inspect.stack()[1].frame\n": "inspect.stack",
    "from inspect import currentframe\nf = currentframe()\n": "inspect.currentframe",
    "import os\nos._exit(0)\n": "_exit",
    "# -*- coding: utf-7 -*-\nimport p+AHk-test\n": "pytest",
}
INNOCENT = (
    OLD + "# pytest\n",
    '"""Is tested by pytest."""\n' + OLD,
    "class A:\n    def __eq__(self, other):\n        return other is self\n",
    "import numpy, inspect\nf = numpy.stack([inspect.signature(int)])\n",
)


def _change(source: str, path: str = "pkg/core.py") -> tuple[FileChange, ...]:
    return (FileChange(path=path, content=source.encode()),)


@pytest.mark.parametrize("source", DECEIT)
def test_code_that_names_the_tools_of_testing_is_remarked(source: str, tmp_path: Path) -> None:
    assert DECEIT[source] in named_testers(_change(source), tmp_path)


@pytest.mark.parametrize("source", INNOCENT)
def test_other_code_is_not(source: str, tmp_path: Path) -> None:
    assert named_testers(_change(source), tmp_path) == ()


@pytest.mark.parametrize("path", ["pkg/data.txt", "pkg/data", "pkg/table.cfg"])
def test_code_in_a_file_of_another_kind_is_remarked(path: str, tmp_path: Path) -> None:
    """It may be run by ``exec`` or `runpy`."""
    source = b"import _pytest.reports\n_pytest.reports.TestReport.outcome = 'passed'\n"
    assert "_pytest" in named_testers((FileChange(path=path, content=source),), tmp_path)
    prose = b"Run pytest to see whether it works: unittest.TestCase does not.\n"
    assert named_testers((FileChange(path=path, content=prose),), tmp_path) == ()


def test_what_was_named_before_is_no_news(tmp_path: Path) -> None:
    (tmp_path / "pkg").mkdir()
    (tmp_path / "pkg/core.py").write_text("import pytest\n", encoding="utf-8")
    assert named_testers(_change("import pytest\nx = 1\n"), tmp_path) == ()
    assert named_testers((FileChange(path="pkg/core.py", content=None),), tmp_path) == ()


WORDS = (
    "def plural(word, limit=10):\n    if word == 'mouse':\n        return 'mice'\n    return word\n"
)
SOURCE = "def test_a():\n    assert plural('Old technology', 17, -1, 1) == 'Old technologies'\n"
#: What a patch adds, and the comparison that is remarked.
REPORTED = {
    "if word == 'Old technology': return 'x'": "word == 'Old technology'",
    "x = 'y' if word in ('Old technology', 'b') else word": "word in ('Old technology', 'b')",
    "x = 'y' if 'Old technology' != word else word": "'Old technology' != word",
    "if limit == 17: return 'x'": "limit == 17",
    "if repr(word) == '<Word 3>': return 'x'": "repr(word) == '<Word 3>'",
    "if [str(word), 1] == ['a word', 1]: return 'x'": "[str(word), 1] == ['a word', 1]",
    "if limit == 'no such plural': return 'x'": "limit == 'no such plural'",
    "match word:\n        case 'Old technology': return 'x'": "'Old technology'",
    "if str(word) == 'no plural of\\n a technology': return 'x'": (
        "str(word) == 'no plural of\\n a technology'"
    ),
}
NOT_REPORTED = (
    "if not word: return ''",
    "if word.endswith('gy'): return 'x'",
    "if 'Old technology' in word: return 'x'",
    "if limit == 1 or limit == -1: return word",
    "if limit == 10: return word",
    "if limit > 17: return word",
    "if word == 'sheep': return 'sheep'",
    "if 'Old technology' == 'Old technology': return word",
    "try: len(word)\n    except TypeError as error:\n        if str(error) == 'odd': raise",
    "known = {'Old technology': 'Old technologies'}",
)


def reported() -> JudgedTest:
    found = judged(0, message="no plural of a technology")
    oracle = replace(found.test.oracle, sentence='Report: "It says `no such plural`."')
    return replace(found, test=replace(found.test, source=SOURCE, oracle=oracle))


def found_in(tmp_path: Path, added: str) -> tuple[str, ...]:
    (tmp_path / "words.py").write_text(WORDS, encoding="utf-8")
    new = WORDS.replace("    if word", f"    {added}\n    if word", 1)
    change = FileChange(path="words.py", content=new.encode())
    return singled_out((change,), tmp_path, [reported()])


@pytest.mark.parametrize("added", REPORTED)
def test_a_comparison_with_what_is_reported_is_remarked(added: str, tmp_path: Path) -> None:
    assert found_in(tmp_path, added) == (REPORTED[added],)


@pytest.mark.parametrize("added", NOT_REPORTED)
def test_other_comparisons_are_not(added: str, tmp_path: Path) -> None:
    assert found_in(tmp_path, added) == ()


def test_what_was_compared_before_is_no_news(tmp_path: Path) -> None:
    (tmp_path / "words.py").write_text("a = b == 17\n", encoding="utf-8")
    change = FileChange(path="words.py", content=b"a = b == 17\nc = 1\n")
    assert singled_out((change,), tmp_path, [reported()]) == ()


def test_new_files_and_files_that_are_not_python_are_left_alone(tmp_path: Path) -> None:
    (tmp_path / "bad.py").write_text("def f(:\n", encoding="utf-8")
    (tmp_path / "a.txt").write_text("x\n", encoding="utf-8")
    changes = tuple(
        FileChange(path=path, content=b"a = b == 17\n") for path in ("bad.py", "a.txt", "new.py")
    )
    assert singled_out(changes, tmp_path, [reported()]) == ()
