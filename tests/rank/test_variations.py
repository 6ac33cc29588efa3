"""Variations of the calls of bug tests: what they tell apart, and what becomes a test."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pytest_brt.pysource.parse import parse
from pytest_brt.rank.calls import Call, call_of, variations
from pytest_brt.rank.variations import find_difference, find_special_cases, saying, stumbles
from pytest_brt.render.ranking import given_sentence, telling_sentence
from pytest_brt.sandbox.placing import Test
from pytest_brt.sandbox.run_tests import Runner
from pytest_brt.types import (
    FileChange,
    Frame,
    Given,
    JudgedTest,
    Raised,
    Review,
    Telling,
    Verdict,
)
from tests.support.projects import open_on
from tests.support.rows import judged
from tests.support.trees import write_tree

CORE = "def size(text):\n    return int(text)\n"
HEAD = "import math\n\n\ndef size(text):\n    "
RIGHT = HEAD + "return float(text.strip('KB')) * 1024\n"
ROUNDED = HEAD + "return math.floor(float(text.strip('KB'))) * 1024 + 512\n"
LITERAL = HEAD + "return 1536.0 if text == '1.5KB' else int(text)\n"
CHANCE = HEAD + "import random\n    return 1536.0 + random.random()\n"


@pytest.fixture(scope="module")
def engine(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Runner]:
    root = tmp_path_factory.mktemp("telling") / "project"
    write_tree(root, {"core.py": CORE})
    engine = open_on(root)
    yield engine
    engine.close()


def asking(body: str, head: str = "from core import size\n\n\ndef test_size():\n") -> JudgedTest:
    made = judged(0)
    return replace(made, test=replace(made.test, name="test_size", source=f"{head}    {body}\n"))


SIZE = asking("assert size('1.5KB') == 1536.0")


def found(engine: Runner, seconds: float = 60.0, **patches: str) -> Telling | None:
    changes = {
        name: (FileChange(path="core.py", content=text.encode()),) for name, text in patches.items()
    }
    return find_difference((SIZE,), changes, engine, seconds)


def test_patches_that_pass_the_same_tests_are_told_apart_by_a_call_near_it(engine: Runner) -> None:
    telling = found(engine, a=RIGHT, b=ROUNDED, c=LITERAL)
    assert telling is not None
    assert telling.test == "t0"
    assert telling.setup == ("from core import size",)
    assert {name for given in telling.gives for name in given.patches} == {"a", "b", "c"}
    assert len(telling.gives) > 1


def test_what_the_bug_test_asks_is_tried_first(engine: Runner) -> None:
    telling = found(engine, a=RIGHT, d=HEAD + "return 7\n")
    assert telling is not None
    assert telling.expression == "size('1.5KB')"
    assert telling.gives == (Given(patches=("a",), text="1536.0"), Given(patches=("d",), text="7"))
    assert telling_sentence(telling) == "for `size('1.5KB')` a gives `1536.0`, d gives `7`"
    assert given_sentence(telling, telling.gives[1]) == "size('1.5KB') gives 7 (d)"


def test_patches_that_do_the_same_are_not_told_apart(engine: Runner) -> None:
    assert found(engine, a=RIGHT, b=RIGHT + "# the same\n") is None


def test_what_differs_by_chance_tells_nothing(engine: Runner) -> None:
    assert found(engine, a=CHANCE, b=CHANCE + "# the same\n") is None


def test_nothing_is_tried_when_the_time_is_over(engine: Runner) -> None:
    assert found(engine, 0.0, a=RIGHT, b=LITERAL) is None


@pytest.mark.parametrize(
    ("given", "passing"),
    [
        (Given(patches=("a",), text="1536.0"), RIGHT),
        (Given(patches=("a",), raised="ZeroDivisionError"), HEAD + "return 1 / 0\n"),
        (Given(patches=("a",), text="<object of nothing>"), HEAD + "class A:\n"
         "        __repr__ = lambda self: '<object of nothing>'\n    return A()\n"),
    ],
)  # fmt: skip
def test_what_a_person_calls_right_becomes_a_test(
    engine: Runner, given: Given, passing: str
) -> None:
    telling = Telling(
        issue="",
        test="t0",
        setup=("from core import size", "text = '1.5KB'"),
        expression="size(text)",
        gives=(given,),
    )
    made = saying(SIZE, telling, given)
    assert made.review is Review.ACCEPTED
    assert made.test.name == "test_size_as_you_said"
    change = FileChange(path="core.py", content=passing.encode())
    targets = (Test.of(replace(made.test, path="test_said.py")),)
    verdicts = [engine.run(targets, changes)[0].verdict for changes in ((), (change,))]
    assert verdicts == [Verdict.FAIL, Verdict.PASS]


@pytest.mark.parametrize(
    ("body", "call"),
    [
        ("assert size('1') == 1", Call(setup=("from core import size",), expression="size('1')")),
        ("assert size('1')", Call(setup=("from core import size",), expression="size('1')")),
        ("size('1')", Call(setup=("from core import size",), expression="size('1')")),
        (
            "import pytest\n    with pytest.raises(KeyError):\n        size('1')",
            Call(setup=("from core import size", "import pytest"), expression="size('1')"),
        ),
        ("x = size('1')", None),
        ('"""Only words."""', None),
    ],
)
def test_a_call_is_what_the_last_line_looks_at(body: str, call: Call | None) -> None:
    assert call_of(asking(body).test) == call


def test_a_test_with_fixtures_has_no_call() -> None:
    head = "from core import size\n\n\ndef test_size(tmp_path):\n"
    assert call_of(asking("assert size('1') == 1", head).test) is None


PRINTING = asking(
    "capsys.readouterr()\n    for n in range(2):\n        print(size('1'))\n"
    "    assert capsys.readouterr().out != '2'",
    "from core import size\n\n\ndef test_size(capsys):\n",
)


def test_what_a_test_has_printed_counts_where_it_looks_at_that(engine: Runner) -> None:
    call = call_of(PRINTING.test)
    assert call == Call(
        setup=("from core import size",),
        expression="for n in range(2):\n    print(size('1'))",
        prints=True,
    )
    changes = {
        name: (FileChange(path="core.py", content=text.encode()),)
        for name, text in {"a": HEAD + "return 1\n", "b": HEAD + "return 2\n"}.items()
    }
    telling = find_difference((PRINTING,), changes, engine, 60.0)
    assert telling is not None
    assert telling.prints
    (right,) = [given for given in telling.gives if "a" in given.patches]
    made = saying(PRINTING, telling, right)
    assert "def test_size_as_you_said(capsys):" in (made.test.source or "")
    targets = (Test.of(replace(made.test, path="test_said.py")),)
    verdicts = [engine.run(targets, c)[0].verdict for c in changes.values()]
    assert verdicts == [Verdict.PASS, Verdict.FAIL]


def test_a_literal_gets_values_near_it_and_a_list_loses_each_of_its_elements() -> None:
    calls = variations(Call(setup=("x = True",), expression="size([5, 'ab'], {0.5}, b'cd')"))
    assert {call.statements for call in calls} >= {
        ("x = False", "size([5, 'ab'], {0.5}, b'cd')"),
        ("x = True", "size(['ab'], {0.5}, b'cd')"),
        ("x = True", "size([5], {0.5}, b'cd')"),
        ("x = True", "size([6, 'ab'], {0.5}, b'cd')"),
        ("x = True", "size([5, 'b'], {0.5}, b'cd')"),
        ("x = True", "size([5, 'ab'], {5.0}, b'cd')"),
        ("x = True", "size([5, 'ab'], {0.5}, b'')"),
    }
    # A set of nothing is not written as one.
    assert not any("{}" in call.expression for call in calls)


@settings(max_examples=30, deadline=None)
@given(st.recursive(st.integers() | st.text() | st.booleans() | st.none(), st.lists, max_leaves=6))
def test_variations_are_python_different_and_begin_with_the_call_itself(value: object) -> None:
    call = Call(setup=("import core",), expression=f"core.size({value!r})")
    first, *others = variations(call)
    assert first == call
    assert len({one.statements for one in (first, *others)}) == len(others) + 1
    for one in others:
        assert one.setup == call.setup
        parse("\n".join(one.statements))


def special(engine: Runner, *sound: str, **patches: str) -> dict[str, str]:
    changes = {
        name: (FileChange(path="core.py", content=text.encode()),) for name, text in patches.items()
    }
    return find_special_cases((SIZE,), changes, sound or tuple(patches), engine, 60.0)


#: It refuses what it does not know on purpose, and other than the unpatched code.
REFUSING = (
    HEAD
    + "if not text.endswith('KB'): raise ValueError('no unit')\n    "
    + ("return float(text[:-2]) * 1024\n")
)
SWALLOWING = (
    HEAD + "try:\n        return int(text)\n    except ValueError:\n        return 1536.0\n"
)


def test_a_patch_that_still_raises_for_other_inputs_handles_the_reported_one_alone(
    engine: Runner,
) -> None:
    shown = special(engine, right=RIGHT, literal=LITERAL)
    assert set(shown) == {"literal"}
    assert shown["literal"].startswith("size(")
    assert shown["literal"].endswith(" still raises ValueError")


def test_one_answer_for_all_is_no_proof_that_another_patch_is_special(engine: Runner) -> None:
    assert special(engine, swallowing=SWALLOWING, literal=LITERAL) == {}


def test_what_breaks_existing_tests_is_no_proof_either(engine: Runner) -> None:
    assert special(engine, "literal", right=RIGHT, literal=LITERAL) == {}


def test_a_refusal_in_other_words_is_none_of_the_bug(engine: Runner) -> None:
    assert special(engine, right=RIGHT, refusing=REFUSING) == {}


@pytest.mark.parametrize(
    ("line", "stumbling"),
    [
        ("return int(text)", True),
        ("raise ValueError(text)", False),
        ("assert text.isdigit()", False),
    ],
)
def test_code_stumbles_where_it_does_not_raise_on_purpose(
    line: str, stumbling: bool, tmp_path: Path
) -> None:
    write_tree(tmp_path, {"core.py": f"def size(text):\n    {line}\n"})
    frames = (Frame(path="core.py", line=2, function="size", project=True),)
    raised = Raised(type="ValueError", message="", frames=frames)
    run = replace(SIZE.judgement.runs[0], raised=raised)
    judgement = replace(SIZE.judgement, runs=(run,))
    assert stumbles(replace(SIZE, judgement=judgement), tmp_path) is stumbling
    (tmp_path / "fast.pyx").write_text("cdef int size(text): return int(text)\n", "utf-8")
    for place in ({"project": False}, {"path": "fast.pyx"}, {"path": "made.py"}):
        elsewhere = replace(raised, frames=(replace(frames[0], **place),))
        judgement = replace(SIZE.judgement, runs=(replace(run, raised=elsewhere),))
        assert not stumbles(replace(SIZE, judgement=judgement), tmp_path)
