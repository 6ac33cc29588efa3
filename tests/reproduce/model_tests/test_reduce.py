"""What a failing test does not need is cut; helpers and what is left stay as they were."""

from __future__ import annotations

import time
from dataclasses import replace
from typing import Any, SupportsIndex

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pytest_brt.execute.engine import Engine
from pytest_brt.oracle.facts import Facts
from pytest_brt.oracle.judge import failing_line, run_tests
from pytest_brt.render.causes import run_words
from pytest_brt.reproduce.model_tests.confidence import Signs, judge_written
from pytest_brt.reproduce.model_tests.reduce import reduce_test, without_claims
from pytest_brt.types import CandidateTest, JudgedTest, Verdict
from tests.reproduce.model_tests.judging import candidate

FACTS = Facts(text="double(2) gives 5", crash=False, context="")


def judged(test: CandidateTest, engine: Engine) -> JudgedTest:
    return judge_written(test, run_tests([test], engine, 1)[test.id], FACTS, Signs())


def small(source: str, engine: Engine, name: str = "test_a") -> JudgedTest:
    item = judged(replace(candidate(source), name=name), engine)
    assert item.judgement.candidate, item.judgement.reason
    return reduce_test(item, engine, 1, FACTS)


def test_only_what_the_failure_needs_is_left(engine: Engine) -> None:
    source = """\
import os
from pkg import double, first


def unused():
    return os


def two():
    # Helpers stay as they are:
    x = 1
    assert x
    return   2


def test_a(tmp_path):
    path = tmp_path / "x"
    path.write_text("1")

    # Lists work as well.
    assert first([1]) == 1

    assert unused
    n = two()  # not cut
    assert double(n) == 4
    assert double(3) == 6
"""
    item = small(source, engine)
    assert item.test.source == (
        "from pkg import double\n\n\n"
        "def two():\n    # Helpers stay as they are:\n    x = 1\n    assert x\n    return   2\n\n\n"
        "def test_a(tmp_path):\n"
        '    path = tmp_path / "x"\n    path.write_text("1")\n\n'
        "    n = two()  # not cut\n    assert double(n) == 4\n    assert double(3) == 6\n"
    )
    assert item.judgement.candidate
    assert item.test.origin.parent == "t"


def test_a_test_in_a_class_is_cut_as_well(engine: Engine) -> None:
    source = """\
from pkg import double


class TestA:
    def setup_method(self):
        self.n = 2

    def test_a(self):
        assert double
        assert double(self.n) == 4
"""
    item = small(source, engine, "TestA::test_a")
    assert "assert double\n" not in (item.test.source or "")
    assert "self.n = 2" in (item.test.source or "")


def test_the_inputs_of_the_failure_stay_though_it_looks_the_same_without(engine: Engine) -> None:
    source = """\
from pkg import double


def test_a():
    seen = {"sum": double(2)}
    seen["twice"] = double(0)
    assert True
    assert "product" in seen, "no product"
"""
    text = small(source, engine).test.source or ""
    assert 'seen["twice"] = double(0)' in text
    assert "assert True" not in text


def test_inputs_and_claims_are_left_as_they_are(engine: Engine) -> None:
    source = """\
import pytest
from pkg import double, first


@pytest.mark.parametrize("text", ["a.b", ".a"])
def test_a(text):
    assert double(0) == double(0)
    first("a.b")
    print("nothing to do with it")
    with pytest.raises(TypeError):
        double(text, 2)
    for number in [2, 3]:
        assert double(number) == 2 * number
    assert double(text) == text
"""
    facts = replace(FACTS, text="double('a.b') and double(2) are wrong")
    item = judged(replace(candidate(source), name="test_a[.a]"), engine)
    assert item.judgement.candidate, item.judgement.reason
    text = reduce_test(item, engine, 1, facts).test.source or ""
    assert text.replace("'", '"') == source.replace("    assert double(0) == double(0)\n", "")


CLAIMS = """\
import pkg
from pkg import make


def test_a(thing):
    expected = [1, 2]
    assert thing
    assert thing.pop(0) == 0, "first"
    assert not thing.empty() and thing
    assert isinstance(thing, object)
    assert pkg.size([1]) == make(2)
    assert make(thing) in expected
    assert (n := thing.pop(1)) == 1
    assert thing.get(n)[0] == 1; thing.clear()
    assert thing.index(9) == 8
    assert thing.other
"""


def test_of_a_claim_stays_what_it_calls() -> None:
    assert (
        without_claims(CLAIMS, 15)
        == """\
from pkg import make


def test_a(thing):
    expected = [1, 2]
    thing.pop(0)
    not thing.empty() and thing
    make(thing)
    assert (n := thing.pop(1)) == 1
    assert thing.get(n)[0] == 1; thing.clear()
    assert thing.index(9) == 8
    assert thing.other
"""
    )
    assert without_claims(CLAIMS, 1) == CLAIMS


class Items(list[int]):
    """A list on a tree with other methods."""

    def __init__(self, tree: int) -> None:
        super().__init__(range(10))
        self.tree = tree

    def pop(self, at: SupportsIndex = -1) -> int:
        if self.tree == 1:
            return self[0]
        return super().pop(at) if self else -1

    def put(self, value: int) -> Items:
        if self.tree != 2:
            self.append(value)
        return self


CALLS = ("items.pop(0)", "items.pop()", "items.put(3)", "items.put(4).pop(0)", "len(items)")
FORMS = ("{call}", "assert {call} == {value!r}", "assert {call} == {value!r} or items.pop()")


def body_of(calls: list[tuple[str, str]]) -> list[str]:
    """Return statements of which each claim holds on the first tree."""
    items = Items(0)
    return [
        form.format(call=call, value=eval(call, {"items": items}))  # what it gives there
        for call, form in calls
    ]


def passes(source: str, tree: int) -> bool:
    scope: dict[str, Any] = {}
    exec(source, scope)
    try:
        scope["test_a"](Items(tree))
    except (AssertionError, TypeError):
        return False
    return True


@given(st.lists(st.tuples(st.sampled_from(CALLS), st.sampled_from(FORMS)), min_size=2, max_size=9))
def test_it_passes_cut_wherever_it_passes_whole(calls: list[tuple[str, str]]) -> None:
    body = ["low = high = 0", *body_of(calls), "assert high >= low"]
    source = "def test_a(items):\n" + "".join(f"    {line}\n" for line in body)
    small = without_claims(source, len(body) + 1)
    assert passes(small, 0)
    for tree in (1, 2):
        assert passes(small, tree) or not passes(source, tree)


def test_a_shorter_test_that_the_rules_refuse_is_undone(engine: Engine) -> None:
    source = """\
from pkg import double


def test_a():
    assert double(0) == double(0)
    assert double(2) == 4
"""
    item = judged(candidate(source), engine)
    assert item.judgement.candidate, item.judgement.reason
    # What the report complains about is what the short form demands, and nothing else.
    assert reduce_test(item, engine, 1, FACTS).test.source != source
    against = replace(FACTS, text="double(2) is 4", wrong=("4",))
    assert reduce_test(item, engine, 1, against).test.source == source


def test_a_short_test_is_left_alone(engine: Engine) -> None:
    source = "from pkg import double\n\n\ndef test_a():\n    # Why.\n    assert double(2) == 4\n"
    assert small(source, engine).test.source == source


def test_where_it_failed_is_known(engine: Engine) -> None:
    source = (
        "from pkg import double\n\n\ndef test_a():\n    assert double\n    assert double(2) == 4\n"
    )
    item = judged(candidate(source), engine)
    assert failing_line(item.test, item.judgement.runs[0]) == 6


@pytest.mark.slow
def test_a_test_that_hangs_gets_its_share_of_the_time(engine: Engine) -> None:
    source = "import time\n\n\ndef test_a():\n    time.sleep(60)\n"
    (run,) = run_tests([candidate(source)], engine, 2, deadline=time.monotonic())["t"]
    assert (run.verdict, run_words(run)) == (Verdict.TIMEOUT, "did not end within 5 s")
