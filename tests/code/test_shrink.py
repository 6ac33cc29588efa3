from __future__ import annotations

import ast
from collections.abc import Callable, Sequence

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pytest_brt.code.shrink import BATCH, shrink

TEST = """\
import os
import json
from pkg import area, other


def helper(x):
    return other(x)


def test_bug(tmp_path):
    '''It should be one.'''
    first = helper(3)
    print(first)
    if os.getcwd():
        for number in range(10):
            value = area([1, 27, "some long text"], scale=2, other={"a": 1, "b": 2})
    else:
        value = None
    assert value == 1
"""


class Judge:
    """Accepts what compiles and satisfies a condition; counts."""

    def __init__(self, fails: Callable[[str], bool]) -> None:
        self.fails = fails
        self.batches: list[int] = []
        self.asked: list[str] = []

    def __call__(self, variants: Sequence[str]) -> list[bool]:
        self.batches.append(len(variants))
        self.asked.extend(variants)
        for variant in variants:
            compile(variant, "variant", "exec")
        return [self.fails(variant) for variant in variants]


def calls_area_with_27(source: str) -> bool:
    return "value = area(" in source and "27" in source and "import area" in source


def test_small() -> None:
    judge = Judge(calls_area_with_27)
    assert shrink(TEST, judge, budget=500) == (
        "from pkg import area, other\n\ndef test_bug(tmp_path):\n"
        "    value = area([1, 27, 'some long text'], scale=2, other={'a': 1, 'b': 2})\n"
        "    assert value == 1\n"
    )
    assert max(judge.batches) <= BATCH
    assert len(set(judge.asked)) == len(judge.asked)


def test_same_answers_same_result() -> None:
    first, second = Judge(calls_area_with_27), Judge(calls_area_with_27)
    assert shrink(TEST, first) == shrink(TEST, second)
    assert first.asked == second.asked


@pytest.mark.parametrize("budget", [0, 1, 5, 17, 60])
def test_budget(budget: int) -> None:
    judge = Judge(calls_area_with_27)
    result = shrink(TEST, judge, budget=budget)
    assert len(judge.asked) <= budget
    assert calls_area_with_27(result)


def test_nothing_to_gain_keeps_the_text() -> None:
    source = "def test_a():\n    # why\n    assert  f(1)\n"
    assert shrink(source, Judge(lambda _: False)) == source


def test_the_last_statement_stays() -> None:
    result = shrink("def test_a():\n    x = 1\n    assert f(100, 'abc') == x\n", Judge(bool))
    assert result == "def test_a():\n    assert f(100, 'abc') == x\n"


def test_named_lines_stay() -> None:
    source = "def test_a():\n    x = [1, 2]\n    with g():\n        f(x, 3)\n    h()\n"
    assert shrink(source, Judge(bool), keep=[4]) == "def test_a():\n    f(x, 3)\n"


@pytest.mark.parametrize("call", ["pytest.raises(E)", "pytest.warns(W)", "self.assertRaises(E)"])
def test_what_waits_for_an_exception_stays_with_all_that_is_in_it(call: str) -> None:
    block = f"    with {call}:\n        z()\n        f('a.b', 3)\n"
    source = f"def test_a():\n    y()\n{block}    assert x\n"
    assert shrink(source, Judge(bool)) == f"def test_a():\n{block}    assert x\n"


def test_oracle_in_a_block_stays() -> None:
    source = "def test_a():\n    y()\n    with raises(E):\n        z()\n        f(x, 3)\n"
    result = shrink(source, Judge(lambda _: True))
    assert result == "def test_a():\n    with raises(E):\n        z()\n        f(x, 3)\n"


STATEMENTS = st.sampled_from(
    [
        "x = f(1, a=2)",
        "y = [1, 2, 'abc']",
        "for i in range(3):\n        g(i)",
        "if x:\n        h(-1 + 2)\n    else:\n        h({'a': 1})",
        "try:\n        g(1.5)\n    except E:\n        pass",
        "with c() as d:\n        d(f'{x} and {y!r:>5}')",
        "x[1:2] = lambda a: (a, 1)",
    ]
)


@settings(max_examples=30, deadline=None)
@given(st.lists(STATEMENTS, max_size=6), st.sampled_from(["f(1", "'abc'", "g(", "assert"]))
def test_what_is_kept_still_fails_and_never_grows(body: list[str], needle: str) -> None:
    source = "def test_a():\n" + "".join(f"    {line}\n" for line in body) + "    assert x == y\n"
    judge = Judge(lambda text: needle in text)
    result = shrink(source, judge, budget=150)
    ast.parse(result)
    assert "assert x == y" in result
    assert len(ast.unparse(ast.parse(result))) <= len(ast.unparse(ast.parse(source)))
    assert needle in result or result == source
