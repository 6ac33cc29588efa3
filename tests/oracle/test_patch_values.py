"""What the expressions of bug tests give on patches that only mend what is wrong."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from pytest_brt.oracle.patch_values import showing, weak_assertion
from pytest_brt.patches import canonical_diff
from pytest_brt.rank.evaluate import evaluate
from pytest_brt.rank.ranking import rank
from pytest_brt.render.ranking import notes_of
from pytest_brt.sandbox.run_tests import Runner
from pytest_brt.types import FileChange, JudgedTest, OracleKind, Patch, Value
from tests.support.projects import open_on
from tests.support.rows import judged
from tests.support.trees import write_tree

CORE = "def name(n):\n    return f'Max({n})'\n"


@pytest.fixture(scope="module")
def engine(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Runner]:
    root = tmp_path_factory.mktemp("values") / "project"
    write_tree(root, {"core.py": CORE})
    engine = open_on(root)
    yield engine
    engine.close()


def weak(assertion: str, kind: OracleKind = OracleKind.GONE) -> JudgedTest:
    made = judged(0, kind=kind)
    source = f"from core import name\n\n\ndef test_a():\n    {assertion}\n"
    test = replace(made.test, source=source, name="test_a")
    return replace(made, test=test)


NAME = weak("assert name(2) != 'Max(2)'")


def patch(engine: Runner, body: str) -> Patch:
    changes = (FileChange(path="core.py", content=f"def name(n):\n    {body}\n".encode()),)
    text = canonical_diff(changes, Path(engine.subject.root))
    return Patch(id=body, name=f"{body[7:12]}.diff", text=text)


def given(engine: Runner, body: str, test: JudgedTest = NAME) -> tuple[Value, ...]:
    return evaluate(patch(engine, body), "", (test,), engine).values


def test_each_patch_shows_what_it_gives(engine: Runner) -> None:
    (value,) = given(engine, "return 'max(2)'")
    assert value == Value(test="t0", expression="name(2)", before="Max(2)", text="max(2)")
    (value,) = given(engine, "raise KeyError(n)")
    assert (value.text, value.raised) == ("", "KeyError")
    (value,) = given(engine, "return n", weak("assert repr(name(2)) != \"'Max(2)'\""))
    assert (value.expression, value.before, value.text) == ("name(2)", "'Max(2)'", "2")


def test_a_test_that_forbids_an_exception_shows_what_comes_instead(engine: Runner) -> None:
    for body in ("name(2)", "try:\n        name(2)\n    except KeyError:\n        pass"):
        test = weak(body, OracleKind.NO_RAISE)
        (value,) = given(engine, "return '2'", test)
        assert (value.expression, value.before, value.text) == ("name(2)", "", "'2'")
        assert value.raised_before == "AssertionError"
        (value,) = given(engine, "raise KeyError(n)", test)
        assert (value.text, value.raised) == ("", "KeyError")


def test_patches_are_grouped_by_what_they_give(engine: Runner) -> None:
    bodies = ("return 'max(2)'", "return 'max' + '(2)'", "return 'Max(2)' + ''", "return None")
    results = [evaluate(patch(engine, body), "", (NAME,), engine) for body in bodies]
    named = [
        replace(result, patch=replace(result.patch, name=name))
        for result, name in zip(results, "abcd", strict=True)
    ]
    (line,) = notes_of(rank(named, (NAME,)))
    assert line == "`name(2)`: before `Max(2)`; a and b `max(2)`; d `None`; 1 unchanged"


@pytest.mark.parametrize(
    "test",
    [
        weak("assert name(2) != 'Max(2)'", OracleKind.EQUALS),
        weak("assert name(2) == 'max(2)'"),
        weak("assert name(2)"),
        weak("x = name(2)", OracleKind.NO_RAISE),
        replace(NAME, test=replace(NAME.test, source=None)),
        replace(NAME, test=replace(NAME.test, source="def (")),
        weak(f"assert {'+'.join(['1'] * 900)} != 1"),
    ],
)
def test_a_test_that_states_a_value_shows_none(test: JudgedTest) -> None:
    assert weak_assertion(test.test) is None
    assert showing([test]) == ()


def test_one_that_is_no_candidate_shows_none() -> None:
    refused = replace(NAME, judgement=replace(NAME.judgement, candidate=False))
    assert showing([refused]) == ()
