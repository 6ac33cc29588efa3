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


IDIOMS = {
    "else": "    try:\n        f({})\n    except ValueError as e:\n        assert 'a' in str(e)\n"
    "    else:\n        assert False",
    "else fail": "    try:\n        f({})\n    except ValueError:\n        pass\n"
    "    else:\n        pytest.fail('nothing raised')",
    "message": "    try:\n        f({})\n    except ValueError as e:\n        assert 'a' in str(e)",
    "args": "    try:\n        f({})\n    except ValueError as e:\n        assert e.args == (1,)",
    "in the body": "    try:\n        f({})\n        pytest.fail()",
    "handler": "    try:\n        f({})\n    except ValueError:\n        pytest.fail('raised')",
    "raise": "    try:\n        f({})\n    except ValueError:\n        raise AssertionError('no')",
    "after a return": "    try:\n        f({})\n    except ValueError:\n        return\n"
    "    assert False",
    "if": "    if f(1) != 2:\n        pytest.fail('wrong')",
    "loop": "    for x in f(1):\n        if x:\n            assert False, x",
    "raises": "    with pytest.raises(ValueError):\n        f(1)",
    "raises says": "    with pytest.raises(ValueError) as e:\n        f(1)\n"
    "    assert 'a' in str(e.value)",
    "raises called": "    pytest.raises(ValueError, f, 1)",
    "warns": "    with pytest.warns(UserWarning) as seen:\n        f(1)\n    assert len(seen) == 1",
    "recorded": "    with warnings.catch_warnings(record=True) as seen:\n        f(1)\n"
    "        assert seen == []",
    "recorded below": "    with warnings.catch_warnings(record=True) as seen:\n        f(1)\n"
    "    assert not seen",
    "redirected": "    out = io.StringIO()\n    with contextlib.redirect_stdout(out):\n"
    "        f(1)\n    assert out.getvalue() == 'a'",
    "opened": "    f(1)\n    assert open('out.txt').read() == 'a'",
    "path": "    f(1)\n    assert pathlib.Path('out.txt').read_text() == 'a'",
    "folder": "    f(1)\n    assert os.listdir('.') == []",
    "environment": "    f(1)\n    assert os.environ['A'] == 'b'",
    "modules": "    f(1)\n    assert 'a' in sys.modules",
    "buffer": "    out = io.StringIO()\n    f(out)\n    assert out.getvalue() == 'a'",
    "list": "    seen = []\n    f(seen.append)\n    assert seen == [1]",
    "handed over": "    seen = {}\n    f(seen)\n    assert seen['a'] == 1",
    "comprehension": "    got = [f(x) for x in range(3)]\n    assert got == [0, 1, 2]",
    "unpacked": "    a, *b = f(1)\n    assert b == []",
    "lambda": "    g = lambda x: f(x)\n    assert g(1) == 2",
    "sorted": "    assert sorted(f(1)) == [1, 2]",
    "type": "    x = f(1)\n    assert type(x) is int",
    "process": "    got = subprocess.run(['python', '-m', 'pkg'], capture_output=True)\n"
    "    assert got.returncode == 0",
    "loaded": "    m = importlib.import_module('pkg')\n    assert m.x == 1",
}
HEAD = (
    "import contextlib, importlib, io, os, pathlib, subprocess, sys, warnings\nimport pytest\n"
    "from pkg import f\n\ndef test_a():\n"
)


@pytest.mark.parametrize("idiom", IDIOMS)
def test_each_idiom_of_people_asks_the_project(idiom: str) -> None:
    source = f"{HEAD}{IDIOMS[idiom]}"
    failing = source.count("\n") + 1
    if idiom.startswith("raises") and "as e" not in source:
        failing -= source.count("        f(1)")  # the block fails, and not what it waits for
    assert not is_about_python(f"{source}\n", failing)


EMPTY = {
    "false": "    f(1)\n    assert False",
    "fail": "    f(1)\n    pytest.fail('todo')",
    "raise": "    f(1)\n    raise AssertionError('todo')",
    "constants": "    f(1)\n    assert 1 == 2",
    "own value": "    f(1)\n    x = [1]\n    assert sorted(x) == [2]",
    "own function": "    def g():\n        return 1\n    f(1)\n    assert g() == 2",
    "library": "    f(1)\n    out = io.StringIO()\n    assert out.getvalue() == 'a'",
    "own loop": "    f(1)\n    for x in range(3):\n        assert x < 2",
    "own if": "    f(1)\n    if len('ab') == 2:\n        assert False",
    "own error": "    f(1)\n    try:\n        int('a')\n    except ValueError:\n"
    "        pytest.fail()",
}


@pytest.mark.parametrize("kind", EMPTY)
def test_each_empty_test_asks_python_alone(kind: str) -> None:
    assert at_the_end(f"{HEAD}{EMPTY[kind]}\n")


@given(st.text(), st.integers(0, 20))
def test_any_text_is_accepted(source: str, line: int) -> None:
    is_about_python(source, line)
