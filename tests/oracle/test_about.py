"""What of a test has to do with the project, by the names that lead to its failure."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pytest_brt.oracle.asked import is_about_python


def at_the_end(source: str) -> bool:
    return is_about_python(source, source.count("\n"))


@pytest.mark.parametrize(
    "source",
    [
        "def test_a():\n    assert max(101, max(102)) == max(101)\n",
        "import pkg\n\ndef test_a():\n    pkg.f()\n    x = [1]\n    assert sorted(x) == [2]\n",
        "import json\n\ndef test_a():\n    x = json.dumps(1)\n    assert x == 2\n",
        "from itertools import chain\n\ndef test_a():\n    list(chain(map(len, [5])))\n",
        "def helper():\n    return 3\n\ndef test_a():\n    assert helper() == 4\n",
    ],
)
def test_what_only_python_is_asked(source: str) -> None:
    assert at_the_end(source)


@pytest.mark.parametrize(
    "source",
    [
        "from pkg import f\n\ndef test_a():\n    x = f(2)\n    assert x == 2\n",
        "from pkg import *\n\ndef test_a():\n    assert f(2) == 2\n",
        "from .core import f\n\ndef test_a():\n    assert f(2) == 2\n",
        "def test_a(client):\n    assert client.get() == 2\n",
        "import io\nimport pkg\n\ndef test_a():\n    b = io.StringIO()\n    pkg.dump(b)\n"
        "    assert b.getvalue() == ''\n",
        "import io\nimport pkg\n\ndef test_a():\n    b = io.StringIO()\n    n = pkg.dump(b)\n"
        "    with b:\n        assert b.getvalue() == ''\n",
        "import pkg\n\ndef test_a():\n    for x in pkg.all():\n        assert x\n",
        "import pkg\n\ndef help():\n    return pkg.f()\n\ndef test_a():\n    assert help() == 4\n",
        "import subprocess\n\ndef test_a():\n    subprocess.run(['x'], check=True)\n",
        "from other import parse\n\ndef test_a():\n    assert parse('a') == 1\n",
    ],
)
def test_what_may_be_the_project_s(source: str) -> None:
    assert not at_the_end(source)


@given(st.text(), st.integers(0, 20))
def test_any_text_is_accepted(source: str, line: int) -> None:
    is_about_python(source, line)
