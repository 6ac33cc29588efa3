"""Variations of the calls of bug tests: what they tell apart, and what becomes a test."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import closing
from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pytest_brt.oracle.patch_values import saying
from pytest_brt.pysource.parse import parse
from pytest_brt.rank.ranking import rank
from pytest_brt.rank.variations import (
    Call,
    call_of,
    comparable,
    find_difference,
    find_remarks,
    try_calls,
    variations,
)
from pytest_brt.render.ranking import telling_words
from pytest_brt.sandbox.placing import Test
from pytest_brt.sandbox.run_tests import Runner
from pytest_brt.types import (
    FileChange,
    Given,
    JudgedTest,
    Review,
    Telling,
    Verdict,
)
from tests.support.projects import open_on
from tests.support.rows import broken, judged, row
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


def changing(**patches: str) -> dict[str, tuple[FileChange, ...]]:
    """Return what patches make of core.py, by their names."""
    return {
        name: (FileChange(path="core.py", content=text.encode()),) for name, text in patches.items()
    }


def found(engine: Runner, seconds: float = 60.0, **patches: str) -> Telling | None:
    changes = changing(**patches)
    return find_difference(try_calls((SIZE,), changes, engine, seconds), changes, engine)


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
    assert telling_words(telling) == "`size('1.5KB')` gives `1536.0` (a), gives `7` (d)"


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
        ('"""Words."""\n    size(1)', Call(setup=("from core import size",), expression="size(1)")),
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


def test_a_literal_gets_values_near_it_and_a_list_loses_each_of_its_elements() -> None:
    calls = variations(Call(setup=("import core", "x = True"), expression="core.size([5, b'cd'])"))
    assert {call.statements[1:] for call in calls} >= {
        ("x = False", "core.size([5, b'cd'])"),
        ("x = True", "core.size([b'cd'])"),
        ("x = True", "core.size([5])"),
        ("x = True", "core.size([6, b'cd'])"),
        ("x = True", "core.size([5, b'c'])"),
    }
    assert {call.setup[0] for call in calls} == {"import core"}
    # Each literal has its turn, and the digits of a text are other ones first.
    first, *_ = variations(Call(setup=(), expression="size('1.5 KB', 0.5)"))
    assert first.expression == "size('2.6 KB', 0.5)"


@settings(max_examples=30, deadline=None)
@given(st.recursive(st.integers() | st.text() | st.booleans() | st.none(), st.lists, max_leaves=6))
def test_at_most_twelve_variations_are_python_and_different(value: object) -> None:
    call = Call(setup=("import core",), expression=f"core.size({value!r})")
    calls = variations(call)
    assert len({one.statements for one in (call, *calls)}) == len(calls) + 1 <= 13
    for one in calls:
        assert one.setup == call.setup
        parse("\n".join(one.statements))


def remarks(engine: Runner, *sound: str, **patches: str) -> dict[str, str]:
    """Return what variations show of patches, by a code; all of them are sound but where said."""
    tried = try_calls((SIZE,), changing(**patches), engine, 60.0)
    notes = find_remarks(tried, sound or tuple(patches), Path(engine.subject.root))
    return {name: f"{note.code}: {note.text}" for name, note in notes.items()}


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
    (shown,) = remarks(engine, right=RIGHT, literal=LITERAL).items()
    assert shown[0] == "literal"
    assert shown[1].startswith("singles-out-input: may handle only the reported input: size(")
    assert shown[1].endswith(" still raises ValueError")


def test_one_answer_for_all_or_a_patch_that_breaks_something_is_no_proof(engine: Runner) -> None:
    (swallowed,) = remarks(engine, swallowing=SWALLOWING, literal=LITERAL).values()
    (broken,) = remarks(engine, "literal", right=RIGHT, literal=LITERAL).values()
    for text in (swallowed, broken):
        assert text.startswith("as-unpatched: it gives what the unpatched code gives on all ")


def test_a_refusal_in_other_words_is_none_of_the_bug(engine: Runner) -> None:
    assert remarks(engine, right=RIGHT, refusing=REFUSING) == {}


@pytest.mark.parametrize(
    ("line", "is_special"),
    [
        ("return int(text)", True),
        ("raise ValueError(text)", False),
        ("assert text.isdigit(), text", False),
        ("return __import__('json').loads(text)", False),
    ],
)
def test_what_is_raised_on_purpose_or_in_a_library_may_be_right(
    line: str, is_special: bool, tmp_path: Path
) -> None:
    core = f"def size(text):\n    {line}\n"
    write_tree(tmp_path, {"core.py": core})
    literal = core.replace("    ", "    if text == '1.5KB': return 1536.0\n    ", 1)
    with closing(open_on(tmp_path)) as runner:
        tried = try_calls((SIZE,), changing(right=RIGHT, literal=literal), runner, 60.0)
    notes = find_remarks(tried, ("right", "literal"), tmp_path)
    assert [*notes] == ["literal"]
    assert (notes["literal"].code == "singles-out-input") is is_special


def test_leaders_and_those_that_pass_what_the_first_passes_are_compared() -> None:
    results = (
        row("a", "pp", normal="n"),
        row("b", "pp", normal="n"),
        row("c", "pp", guarded=broken(1)),
        row("d", "pf"),
    )
    tests = (judged(0), judged(1))
    assert [one.name for one in comparable(rank(results, tests))] == ["a", "c"]
    assert comparable(rank((row("a", "ff"), row("b", "ff")), tests)) == ()
