from __future__ import annotations

import pytest

from pytest_brt.code.ways import found_ways, near_ways, standard_ways
from pytest_brt.pysource.names import Use, uses_in


def use_of(name: str, source: str) -> Use:
    return uses_in(source).get(name, Use())


@pytest.mark.parametrize(
    ("name", "source", "first"),
    [
        ("Path", "Path", "from pathlib import Path"),
        ("Counter", "Counter('aab').most_common()", "from collections import Counter"),
        ("deepcopy", "deepcopy([])", "from copy import deepcopy"),
        ("copy", "copy([])", "from copy import copy"),
        ("copy", "copy.deepcopy([])", "import copy"),
        ("datetime", "datetime.now()", "from datetime import datetime"),
        ("datetime", "datetime.datetime.now()", "import datetime"),
        ("date", "date.today()", "from datetime import date"),
        ("mock", "mock.patch('a.b')", "from unittest import mock"),
        ("patch", "patch('a.b')", "from unittest.mock import patch"),
        ("path", "path.join('a', 'b')", "from os import path"),
        ("sqrt", "sqrt(2)", "from math import sqrt"),
        ("platform", "platform.node()", "import platform"),
    ],
)
def test_the_standard_library_is_known(name: str, source: str, first: str) -> None:
    found = list(standard_ways(name, use_of(name, source)))
    assert found[:1] == [first]
    exec(first, {})  # it does work


@pytest.mark.parametrize(
    ("name", "source"),
    [
        ("path", "open(path)"),
        ("name", "name.lower()"),
        ("run", "run('a')"),
        ("date", "print(date)"),
        ("main", "main()"),
        ("add", "add(1, 2)"),
        ("Counter", "Counter.no_such_method()"),
    ],
)
def test_what_may_be_anything_is_not_looked_for_there(name: str, source: str) -> None:
    assert list(standard_ways(name, use_of(name, source))) == []


def test_the_module_is_meant_that_has_what_is_asked_of_it() -> None:
    asked = use_of("re", "re.compile('a')")
    assert next(near_ways("re", ["sympy"], ["sympy"], asked)) == "import re"
    called = use_of("re", "re(1 + 2j)")
    assert list(near_ways("re", ["sympy"], ["sympy"], called)) == ["from sympy import re"]


def test_of_a_package_that_is_called_its_function_is_meant() -> None:
    called = use_of("parse", "parse('a')")
    assert next(near_ways("parse", ["parse"], ["parse"], called)) == "from parse import parse"
    assert next(near_ways("parse", ["parse"], [], called)) == "import parse"


def test_one_definition_comes_before_what_is_usual() -> None:
    usual = ["from p import twice"]
    assert list(found_ways("twice", ["p.a.b", "p.a"], usual)) == ["from p.a import twice", *usual]
    assert list(found_ways("twice", ["p.a", "p.b"], usual)) == usual
