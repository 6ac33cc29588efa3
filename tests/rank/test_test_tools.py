"""What the code of a patch names of the tools that run tests."""

from __future__ import annotations

from pathlib import Path

import pytest

from pytest_brt.rank.remarks import remarks_on
from pytest_brt.types import FileChange

OLD = "import os\n\n\ndef f():\n    return os.getcwd()\n"
DECEIT = {
    "import _pytest.python\n_pytest.python.Function.runtest = lambda self: None\n": "_pytest",
    "import os\nif 'PYTEST_CURRENT_TEST' in os.environ: pass\n": "PYTEST_CURRENT_TEST",
    "import os\nif os.environ.get('PYTEST_BRT_INNER'): pass\n": "PYTEST_BRT_INNER",
    "import sys\nsys.modules['_brt_probe'].Probe = None\n": "_brt_probe",
    "from unittest import TestCase\nTestCase.run = None\n": "unittest",
    "import builtins\nbuiltins.len = lambda x: 1\n": "builtins",
    "class A:\n    def __eq__(self, other):\n        return True\n": "__eq__(self, other)",
    "from _pytest.runner import CallInfo\nCallInfo.from_call = None\n": "CallInfo",
    "def f(:\n import pytest\n": "pytest",
    "async def pytest_runtest_call(item): pass\n": "pytest_runtest_call",
    "class A:\n    __eq__ = lambda self, other: True\n": "__eq__ = lambda self, other: True",
    "class A:\n    def __eq__(self, other):\n        return not False\n": "__eq__(self, other)",
    "class A:\n    def __eq__(self, other):\n        return self is self\n": "__eq__(self, other)",
    "import inspect\nf = inspect.stack()[1].frame\n": "inspect.stack",
    "from inspect import currentframe\nf = currentframe()\n": "from inspect import currentframe",
    "import os\nos._exit(0)\n": "_exit",
    "import os\nos.execv('/bin/true', ['true'])\n": "execv",
    "from os import execlpe\n": "execlpe",
    "import os\nopen(f'/proc/self/fd/{7}', 'w')\n": "proc/self/fd",
    "import os\nos.listdir('/proc/1/fd')\n": "proc/1/fd",
    "import os\nos.listdir('/dev/fd')\n": "dev/fd",
    "# -*- coding: utf-7 -*-\nimport p+AHk-test\n": "pytest",
}
INNOCENT = (
    OLD + "# pytest\n",
    "class A:\n    def __eq__(self, other):\n        return other is self\n",
    "import os\nf = open('/proc/self/status')\n",
    "def execute(executor, execution): return '/dev/fd0'\n",
    "import numpy, inspect\nf = numpy.stack([inspect.signature(int)])\n",
)


def named(root: Path, source: str, path: str = "pkg/core.py") -> str:
    """Return the remark on a file that a patch makes, "" for none."""
    change = FileChange(path=path, content=source.encode())
    return "".join(note.text for note in remarks_on([change], root, []))


@pytest.mark.parametrize("source", DECEIT)
def test_code_that_names_the_tools_of_testing_is_remarked(source: str, tmp_path: Path) -> None:
    assert DECEIT[source] in named(tmp_path, source)


@pytest.mark.parametrize("source", INNOCENT)
def test_other_code_is_not(source: str, tmp_path: Path) -> None:
    assert named(tmp_path, source) == ""


def test_a_file_of_another_kind_is_not(tmp_path: Path) -> None:
    assert named(tmp_path, "pytest\nunittest.TestCase\n", "requirements.txt") == ""


def test_what_was_named_before_is_no_news(tmp_path: Path) -> None:
    (tmp_path / "pkg").mkdir()
    (tmp_path / "pkg/core.py").write_text("import pytest\n", encoding="utf-8")
    assert named(tmp_path, "import pytest\nx = 1\n") == ""
