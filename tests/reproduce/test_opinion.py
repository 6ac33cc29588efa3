"""What a model says of a failing test, how it is asked, and what that moves."""

from __future__ import annotations

import json
import re
from dataclasses import replace
from pathlib import Path

import pytest

from pytest_brt.agent.prompts import Prompts
from pytest_brt.issue.load import read_issue
from pytest_brt.model.base import Model, Prompt, Settings
from pytest_brt.model.scripted import ScriptedModel
from pytest_brt.oracle.facts import Facts
from pytest_brt.reproduce.asking import answer_room, seed_of
from pytest_brt.reproduce.opinion import (
    Opinion,
    Opinions,
    is_confirmed,
    is_in_report,
    sentence_prompt,
    with_opinion,
)
from pytest_brt.reproduce.prompting.context import Hints
from pytest_brt.reproduce.prompting.fit import Brief, PromptTooLong
from pytest_brt.types import Frame, JudgedTest, Measured, Oracle, OracleKind
from tests.reproduce.examples import scripted
from tests.reproduce.model_tests.judging import CRASH, PRODUCT, judged, run

ISSUE = read_issue(
    "# f() is wrong\n\nf(1) gives 'a-b'.\nIt should give `ab`, as f(2) does.", "i.md"
)
GIVES, SHOULD, MADE_UP = "f(1) gives 'a-b'", "It should give ab", "f(9) gives something else"


def brief_of(model: Model) -> Brief:
    return Brief(issue=ISSUE, hints=Hints(), prompts=Prompts(), model=model)


#: What `judged(run())` demands is one thing.
NOTHING = Facts(text="", crash=False, context="")


def words(text: str) -> dict[str, str]:
    return {"words_1": text}


def other(passes: str, fix: str = "it may give None") -> dict[str, str]:
    return {"fix": fix, "passes": passes}


def asked(folder: Path, *replies: object, facts: Facts = NOTHING) -> tuple[Opinion, list[Prompt]]:
    """Return the opinion of a model that gives `replies`, and what it was asked."""
    texts = [text if isinstance(text, str) else json.dumps(text) for text in replies]
    model = scripted(folder, "".join(f"=== reply\n{text}\n" for text in texts))
    prompts: list[Prompt] = []

    def ask(prompt: Prompt) -> str:
        prompts.append(prompt)
        return model.complete(prompt)[0].text

    opinions = Opinions(brief_of(model), facts)
    found = opinions.of(judged(run()), ask)
    # Nobody is asked twice, not of a test that differs in its name alone either.
    renamed = judged(run(), source="def test_b():\n    assert f(1) == 'ab'  # not a-b\n")
    assert opinions.known(renamed) is opinions.of(renamed, ask) is found
    return found, prompts


@pytest.mark.parametrize(
    ("replies", "right", "reason"),
    [
        ([words(SHOULD), other("yes")], True, "is the reported bug"),
        ([words(GIVES), other("yes")], True, "is the reported bug"),
        ([words(SHOULD), other("no", "none")], True, "is the reported bug"),
        ([words(SHOULD), other("no")], False, "may give None"),
        ([words("none")], False, "does not ask for this"),
        ([words("")], False, "does not ask for this"),
        # Words that are not the report's: it has not read it, and is not believed.
        ([words(MADE_UP)], None, "does not say"),
        (["yes"], None, "cannot be read"),
        (['{"words_1": "It is cut of'], None, "cannot be read"),
        ([words(SHOULD), "perhaps"], None, "cannot be read"),
        ([words(SHOULD), other("perhaps")], None, "cannot be read"),
    ],
)
def test_the_answers_decide(
    replies: list[object], right: bool | None, reason: str, tmp_path: Path
) -> None:
    found, prompts = asked(tmp_path, *replies)
    assert found.right is right
    assert reason in found.reason
    assert len(prompts) == len(replies)


def test_where_the_report_states_the_value_no_other_fix_is_believed(tmp_path: Path) -> None:
    stated = Facts(text="", crash=False, context="", shown=("'a-b'",), wanted=("'ab'",))
    found, _ = asked(tmp_path, words(SHOULD), other("no"), facts=stated)
    assert found.right is None
    assert found.reason == "the model names another right fix: it may give None"


def test_the_second_question_comes_after_the_answer_to_the_first(tmp_path: Path) -> None:
    _, (first, second) = asked(tmp_path, words(SHOULD), other("yes"))
    assert second.messages[: len(first.messages)] == first.messages
    assert [message.role.value for message in second.messages] == (
        ["system", "user", "assistant", "user"]
    )
    assert first.grammar is not None
    assert second.grammar is not None
    assert "words_1" in first.grammar.gbnf
    starts = second.grammar.gbnf.partition("root ::= ")[2]
    assert re.findall(r"\w+", starts)[0] == "fix"


def test_each_demand_is_asked_about_the_failed_one_first(tmp_path: Path) -> None:
    source = (
        "import pytest\n\n\ndef test_a():\n    with pytest.raises(KeyError):\n        f(0)\n"
        "    text = '''\nassert 0'''\n    assert f(2) == text\n    assert f(1) == 'ab'\n"
    )
    at = Frame(path="tests/test_a.py", line=10, function="test_a", project=False)
    model = scripted(tmp_path, "=== always\nx")
    prompt, form = sentence_prompt(judged(run(frames=(at,)), source=source), brief_of(model))
    _, _, demands = prompt.messages[-1].text.partition("What it demands:")
    assert re.findall(r"(?m)^\d\. (.*)", demands) == [
        "assert f(1) == 'ab'",
        "with pytest.raises(KeyError):",
        "assert f(2) == text",
    ]
    assert [name for name, _ in form.fields] == ["words_1", "words_2", "words_3"]


def test_a_demand_that_only_its_message_says_is_shown_with_it(tmp_path: Path) -> None:
    source = "def test_a():\n    f(1)\n    assert False, 'f(1) raises nothing'\n"
    at = Frame(path="tests/test_a.py", line=3, function="test_a", project=False)
    model = scripted(tmp_path, "=== always\nx")
    prompt, _ = sentence_prompt(judged(run(frames=(at,)), source=source), brief_of(model))
    assert "1. assert False, 'f(1) raises nothing'\n" in prompt.messages[-1].text


def test_of_a_crash_it_is_asked_whether_nothing_is_to_be_raised(tmp_path: Path) -> None:
    at = Frame(path="tests/test_a.py", line=2, function="test_a", project=False)
    source = "def test_a():\n    x = f(1)\n    assert x\n"
    model = scripted(tmp_path, "=== always\nx")
    crash = judged(run("KeyError", "'k'", frames=(at, PRODUCT)), facts=CRASH, source=source)
    prompt, _ = sentence_prompt(crash, brief_of(model))
    assert "1. x = f(1)  # raises nothing\n2. assert x\n" in prompt.messages[-1].text


@pytest.mark.parametrize(
    ("quoted", "there"),
    [
        ("f(1) gives 'a-b'.", True),
        ("it should  give ab, as f(2) does", True),
        ("f() is wrong", True),
        ("the report says: f(1) gives 'a-b'", False),
        ("gives f(1)", False),
        ("it", False),
        ("", False),
        ("...", False),
    ],
)
def test_a_quotation_is_looked_for_in_the_report(quoted: str, there: bool) -> None:
    assert is_in_report(quoted, ISSUE) is there


def test_a_question_that_does_not_fit_is_not_asked(tmp_path: Path) -> None:
    scripted(tmp_path, "=== always\nx")
    small = ScriptedModel(str(tmp_path / "replies.txt"), Settings(context=40))
    with pytest.raises(PromptTooLong):
        sentence_prompt(judged(run()), brief_of(small))


def test_seeds_and_room_are_what_they_say(tmp_path: Path) -> None:
    assert seed_of("a", 1) != seed_of("a", 2)
    assert 0 <= seed_of("a", 1) < 2**31
    model = scripted(tmp_path, "=== always\nx")
    assert answer_room(model, 512) == 512
    assert (
        answer_room(ScriptedModel(str(tmp_path / "replies.txt"), Settings(context=400)), 512) == 100
    )


def believed(right: bool | None, item: JudgedTest, *, agrees: bool) -> float:
    opinion = Opinion(right=right, reason="r")
    return with_opinion(item, opinion, agrees=agrees).judgement.confidence


def test_a_yes_says_most_where_execution_agrees_and_a_no_always_counts() -> None:
    item = judged(run())
    item = replace(item, judgement=replace(item.judgement, candidate=True, confidence=0.5))
    assert believed(None, item, agrees=True) == 0.5
    assert believed(False, item, agrees=True) == believed(False, item, agrees=False) < 0.5
    assert 0.5 < believed(True, item, agrees=False) < 0.8 < believed(True, item, agrees=True)


def test_a_test_that_stands_counts_however_few_samples_agreed() -> None:
    item = judged(run())
    item = replace(item, judgement=replace(item.judgement, candidate=True, confidence=0.1))
    assert not item.judgement.counts
    standing = with_opinion(item, Opinion(right=True), agrees=False)
    assert standing.judgement.counts


def test_a_yes_leaves_a_measured_number_that_counts_alone_and_lets_others_count() -> None:
    item = judged(run())
    for figures, right, told in (
        (Measured(right=21, of=23), True, True),
        (Measured(right=21, of=23), False, False),
        (Measured(right=1, of=5), True, False),
    ):
        measured = replace(
            item.judgement, candidate=True, confidence=figures.confidence, measured=figures
        )
        said = with_opinion(replace(item, judgement=measured), Opinion(right=right), agrees=False)
        assert said.judgement.counts is right
        assert (said.judgement.measured is not None) is told


def test_execution_agrees_where_the_failure_is_the_reported_one_or_most_fail_alike() -> None:
    far = Facts(text="something else", crash=False, context="")
    near = Facts(text="it gives 'a-b'", crash=False, context="")
    item = judged(run(message="assert 'a-b' == 'ab'"))
    assert not is_confirmed(item, far)
    assert is_confirmed(item, near)
    alike = replace(item, judgement=replace(item.judgement, agree=4, samples=5))
    assert is_confirmed(alike, far)
    # What rules made has its own figures.
    oracle = Oracle(kind=OracleKind.EQUALS, sentence="s")
    assert not is_confirmed(replace(item, test=replace(item.test, oracle=oracle)), near)
