"""Variations of the calls of bug tests: what they tell apart, and what they show of patches."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pytest_brt.pipeline.ranking import comparable
from pytest_brt.pysource.parse import parse
from pytest_brt.rank.ranking import rank
from pytest_brt.rank.variations import (
    find_difference,
    find_remarks,
    find_values,
    find_variations,
    run_calls,
    vary,
)
from pytest_brt.sandbox.run_tests import Runner
from pytest_brt.types import FileChange, Given, JudgedTest, OracleKind, Outcome, Rank, Variation
from tests.support.projects import open_on
from tests.support.rows import broken, judged, row
from tests.support.trees import write_tree

CORE = "def size(text):\n    return int(text)\n"
HEAD = "import math\n\n\ndef size(text):\n    "
RIGHT = HEAD + "return float(text.strip('KB')) * 1024\n"
LITERAL = HEAD + "return 1536.0 if text == '1.5KB' else int(text)\n"
CHANCE = HEAD + "import random\n    return 1536.0 + random.random()\n"
SWALLOWING = (
    HEAD + "try:\n        return int(text)\n    except ValueError:\n        return 1536.0\n"
)


@pytest.fixture(scope="module")
def engine(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Runner]:
    root = tmp_path_factory.mktemp("variations") / "project"
    write_tree(root, {"core.py": CORE})
    engine = open_on(root)
    yield engine
    engine.close()


def asking(body: str) -> JudgedTest:
    source = f"from core import size\n\n\ndef test_size():\n    {body}\n"
    made = judged(0)
    return replace(made, test=replace(made.test, name="test_size", source=source))


SIZE = asking("assert size('1.5KB') == 1536.0")


def tried(engine: Runner, **patches: str) -> tuple[list[Rank], tuple[Variation, ...]]:
    """Return the ranks of patches of core.py, on which a test passes, and what was tried."""
    calls = find_variations([SIZE.test], engine)
    results = [
        row(
            name,
            "p",
            outcomes=run_calls(calls, (FileChange(path="core.py", content=text.encode()),), engine),
        )
        for name, text in patches.items()
    ]
    return list(rank(results, [SIZE])), calls


def test_patches_that_do_the_same_are_not_told_apart(engine: Runner) -> None:
    assert find_difference(*tried(engine, a=RIGHT, b=RIGHT + "# the same\n")) is None


def test_what_differs_by_chance_tells_nothing(engine: Runner) -> None:
    assert find_difference(*tried(engine, a=CHANCE, b=CHANCE + "# the same\n")) is None


def test_a_call_that_ends_the_process_leaves_what_came_before(engine: Runner) -> None:
    calls = find_variations([SIZE.test], engine)
    ends = b"def size(text):\n    return 1 if text == '1.5KB' else __import__('os')._exit(0)\n"
    first, *others = run_calls(calls, (FileChange(path="core.py", content=ends),), engine)
    assert first == Outcome(text="1")
    assert set(others) == {Outcome()}


def test_each_literal_gets_values_near_it_in_its_turn_and_a_list_fewer_elements() -> None:
    own = ("import core", "x = True", "core.size([5, b'cd'])")
    calls = vary(Variation(test="t0", statements=own))
    assert {one.statements[1:] for one in calls} >= {
        ("x = False", "core.size([5, b'cd'])"),
        ("x = True", "core.size([6, b'cd'])"),
        ("x = True", "core.size([5])"),
        ("x = True", "core.size([5, b'c'])"),
    }
    assert {one.statements[0] for one in calls} == {"import core"}
    # The digits of a text are other ones first.
    _, first, *_ = vary(Variation(test="t0", statements=("size('1.5 KB', 0.5)",)))
    assert first.statements == ("size('2.6 KB', 0.5)",)


@settings(max_examples=30, deadline=None)
@given(st.recursive(st.integers() | st.text() | st.booleans() | st.none(), st.lists, max_leaves=6))
def test_at_most_twelve_variations_are_python_and_different(value: object) -> None:
    call = Variation(test="t0", statements=("import core", f"core.size({value!r})"))
    calls = vary(call)
    assert calls[0] == call
    assert len({one.statements for one in calls}) == len(calls) <= 13
    for one in calls:
        assert one.statements[:-1] == call.statements[:-1]
        parse("\n".join(one.statements))


def remarks(engine: Runner, *breaking: str, **patches: str) -> dict[str, str]:
    """Return what variations show of patches; some of them break an existing test."""
    ranks, calls = tried(engine, **patches)
    compared = [
        replace(one, result=replace(one.result, guarded=broken(one.name in breaking)))
        for one in ranks
    ]
    return {
        name: f"{note.code}: {note.text}" for name, note in find_remarks(compared, calls).items()
    }


def test_one_answer_for_all_or_a_patch_that_breaks_something_is_no_proof(engine: Runner) -> None:
    (swallowed,) = remarks(engine, swallowing=SWALLOWING, literal=LITERAL).values()
    (harmed,) = remarks(engine, "right", right=RIGHT, literal=LITERAL).values()
    for text in (swallowed, harmed):
        assert text.startswith("as-unpatched: on all variations ")


def test_those_that_fail_no_more_tests_than_the_first_are_compared() -> None:
    facts = {"outcomes": (Outcome(text="1"),)}
    results = (
        row("a", "pp", **facts),
        row("c", "pp", guarded=broken(1), **facts),
        row("d", "pf", **facts),
        row("e", "pp"),
    )
    tests = (judged(0), judged(1))
    assert [one.name for one in comparable(rank(results, tests))] == ["a", "c"]
    assert comparable(rank((row("a", "ff"), row("b", "ff")), tests)) == ()


def test_values_are_those_of_calls_whose_tests_only_say_what_is_wrong() -> None:
    call = Variation(test="t0", statements=("f()",), before=Outcome(text="1"))
    texts = {"a": "2", "b": "2", "c": "1", "d": ""}
    results = [row(name, "p", outcomes=(Outcome(text=texts[name]),)) for name in texts]
    ranks = rank(results, (judged(0),))
    (value,) = find_values(ranks, (call,), [judged(0, kind=OracleKind.GONE)])
    assert value.gives == (
        Given(patches=("no patch", "c"), text="1"),
        Given(patches=("a", "b"), text="2"),
    )
    varied = replace(call, change="2 instead of 1")
    assert find_values(ranks, (varied,), [judged(0, kind=OracleKind.GONE)]) == ()
    assert find_values(ranks, (call,), [judged(0)]) == ()
