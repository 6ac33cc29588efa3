"""Wishes above a snippet: its result is the complaint, and a fixed tree has no failing test."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from pytest_brt.execute.engine import Engine
from pytest_brt.execute.launch import open_engine
from pytest_brt.execute.row import Limits
from pytest_brt.execute.subject import find_subject
from pytest_brt.issue import read_issue
from pytest_brt.reading.expectations import announces_result
from pytest_brt.reading.script import read_script
from pytest_brt.reproduce.replay.run import ReplaySettings, replay
from pytest_brt.types import JudgedTest
from tests.reproduce.replay.project import make_project

WISHES = (
    "`double(0)` should be `0`:",
    "I want to double zero:",
    "I expect 0 from this:",
    "This should work:",
)


def report(sentence: str, result: str = "1") -> str:
    return (
        f"double() is off by one\n\n{sentence}\n\n```python\n>>> from pkg import double\n"
        f">>> double(0)\n{result}\n```\n"
    )


def roles(text: str, source: str = "double(0)") -> set[tuple[str, str]]:
    steps = read_script(read_issue(text, "x.md")).steps
    return {
        (one.text.strip(), one.role.value)
        for step in steps
        if step.source == source
        for one in step.claims
        if one.text
    }


@pytest.mark.parametrize(
    "text",
    [
        "Expected:", "Expected output:", "Expected output of double(0) is", "I would expect:",
        "I'd expect the following:", "I expected something like this:", "should print:",
        "This should give the following:", "The answer should be", "The correct result is:",
        "I was expecting an error like this:", "I would expect the second one to give:",
        "What did you expect to happen?", "What should happen?", "What you'd like to see",
        "The output I would like for f(x):", "Ideally:", "This should look like:",
    ],
)  # fmt: skip
def test_sentences_that_announce_what_is_right(text: str) -> None:
    assert announces_result(text)


@pytest.mark.parametrize(
    "text",
    [
        *WISHES, "I expect this to be 0:", "I want this to work:", "The following should run:",
        "This should be the minimal example:", "I would like double(0) to be 0:", "Expect 0:",
        "I would like to report this:", "double should be able to do this:",
    ],
)  # fmt: skip
def test_sentences_that_merely_wish(text: str) -> None:
    assert not announces_result(text)


@pytest.mark.parametrize("sentence", WISHES)
def test_a_result_below_a_wish_is_the_complaint(sentence: str) -> None:
    assert ("1", "observed") in roles(report(sentence))
    assert ("1", "expected") not in roles(report(sentence))


@pytest.mark.parametrize("sentence", ["Expected output:", "I would expect:", "It should print:"])
def test_a_result_that_is_announced_is_right(sentence: str) -> None:
    assert roles(report(sentence)) == {("1", "expected")}


def test_a_wish_that_states_the_result_shown_below_it_keeps_it() -> None:
    found = roles(report("`double(0)` should be `0`:", result="0"))
    assert found == {("0", "expected")}


def test_another_result_that_is_called_wrong_leaves_the_one_below_the_wish_right() -> None:
    found = roles(report("This should work:", result="0") + "\nBut `double(0)` returns `1`.\n")
    assert found == {("0", "expected"), ("1", "observed")}


def test_a_traceback_below_a_wish_is_the_complaint() -> None:
    trace = (
        'Traceback (most recent call last):\n  File "x.py", line 1, in double\nValueError: no zero'
    )
    assert {role for _, role in roles(report("This should work:", trace))} == {"observed"}
    assert {role for _, role in roles(report("This should raise:", trace))} == {"expected"}


def test_an_output_below_a_sentence_with_another_value_is_the_complaint() -> None:
    code = "Title\n\n```python\nfrom pkg import double\nprint(double(0))\n```\n\n"
    source = "print(double(0))"
    found = roles(f"{code}It should be `0`:\n\n```text\n1\n```\n", source)
    assert found == {("0", "expected"), ("1", "observed")}
    found = roles(f"{code}It should be:\n\n```text\n0\n```\n", source)
    assert found == {("0", "expected")}


@pytest.fixture(scope="module", params=["buggy", "fixed"])
def tree(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[tuple[bool, Engine]]:
    root = make_project(tmp_path_factory.mktemp("wishes") / "project")
    fixed = request.param == "fixed"
    if fixed:
        core = root / "pkg" / "core.py"
        text = core.read_text(encoding="utf-8")
        assert "x + x + 1" in text
        core.write_text(text.replace("x + x + 1", "x + x"), encoding="utf-8")
    engine = open_engine(find_subject(root, python=None, env={}), limits=Limits(seconds=20))
    yield fixed, engine
    engine.close()


@pytest.mark.parametrize("sentence", WISHES)
def test_the_fix_turns_the_answer(tree: tuple[bool, Engine], sentence: str) -> None:
    fixed, engine = tree
    issue = read_issue(report(sentence), "issue.md")
    made = replay(issue, engine=engine, settings=ReplaySettings(repeat=1))
    found = {_claim(item): item.judgement.candidate for item in made.tests}
    stated = sentence == WISHES[0]
    if fixed:
        assert found == {}
    else:
        wanted = {"assert double(0) == 0": True} if stated else {}
        assert found == {**wanted, "assert double(0) != 1": True}


def _claim(item: JudgedTest) -> str:
    return (item.test.source or "").rstrip().rpartition("\n")[2].strip()
