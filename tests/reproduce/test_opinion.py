"""What a model says of a failing test, how it is asked, and what that moves."""

from __future__ import annotations

import itertools
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
    is_in_report,
    judge_prompt,
    opinion_of,
    with_opinion,
)
from pytest_brt.reproduce.prompting.context import Hints
from pytest_brt.reproduce.prompting.fit import Brief, PromptTooLong
from pytest_brt.types import JudgedTest, Oracle, OracleKind
from tests.reproduce.examples import scripted
from tests.reproduce.model_tests.judging import judged, run

ISSUE = read_issue(
    "# f() is wrong\n\nf(1) gives 'a-b'.\nIt should give `ab`, as f(2) does.", "i.md"
)
GIVES, SHOULD, MADE_UP = "f(1) gives 'a-b'", "It should give ab", "f(9) gives something else"


def brief_of(model: Model) -> Brief:
    return Brief(issue=ISSUE, hints=Hints(), prompts=Prompts(), model=model)


def asked(folder: Path, *replies: object) -> tuple[Opinion, list[Prompt]]:
    """Return the opinion of a model that gives `replies`, and what it was asked."""
    texts = [text if isinstance(text, str) else json.dumps(text) for text in replies]
    model = scripted(folder, "".join(f"=== reply\n{text}\n" for text in texts))
    prompts: list[Prompt] = []

    def ask(prompt: Prompt) -> str:
        prompts.append(prompt)
        return model.complete(prompt)[0].text

    found = opinion_of(judged(run()), brief_of(model), ask)
    return found, prompts


def quote(text: str, answer: str) -> dict[str, str]:
    return {"quote": text, "answer": answer}


def other(answer: str) -> dict[str, str]:
    return {"fix": "it may give None", "answer": answer}


@pytest.mark.parametrize(
    ("replies", "right", "reason"),
    [
        ([quote(GIVES, "yes"), quote(SHOULD, "yes"), other("no")], True, "is the reported bug"),
        ([quote(GIVES, "yes"), quote(SHOULD, "implied"), other("no")], True, "is the reported"),
        ([quote(GIVES, "no")], False, "about another input"),
        ([quote(GIVES, "yes"), quote(GIVES, "no")], False, "does not ask for this"),
        ([quote(GIVES, "yes"), quote("", "no")], False, "does not ask for this"),
        ([quote(GIVES, "yes"), quote("", "implied"), other("no")], True, "is the reported bug"),
        ([quote(GIVES, "yes"), quote("", "yes")], None, "does not say"),
        ([quote(GIVES, "yes"), quote(SHOULD, "implied"), other("yes")], False, "may give None"),
        ([quote(GIVES, "yes"), quote(SHOULD, "yes"), other("yes")], None, "another right fix"),
        # Words that are not the report's: whatever it says, it does not count.
        ([quote(MADE_UP, "no")], None, "does not say"),
        ([quote(GIVES, "yes"), quote(MADE_UP, "yes")], None, "does not say"),
        ([quote(GIVES, "yes"), quote(MADE_UP, "no")], None, "does not say"),
        ([quote("", "no")], None, "does not say"),
        (["yes"], None, "cannot be read"),
        (['{"quote": "It is cut of'], None, "cannot be read"),
        ([quote(GIVES, "perhaps")], None, "cannot be read"),
    ],
)
def test_the_answers_decide(
    replies: list[object], right: bool | None, reason: str, tmp_path: Path
) -> None:
    found, prompts = asked(tmp_path, *replies)
    assert found.right is right
    assert reason in found.reason
    assert len(prompts) == len(replies)


def test_each_question_comes_after_the_answers_to_those_before(tmp_path: Path) -> None:
    replies = [quote(GIVES, "yes"), quote(SHOULD, "yes"), other("no")]
    _, prompts = asked(tmp_path, *replies)
    for shorter, longer in itertools.pairwise(prompts):
        assert longer.messages[: len(shorter.messages)] == shorter.messages
    assert [message.role.value for message in prompts[2].messages] == (
        ["system", "user", "assistant", "user", "assistant", "user"]
    )
    grammars = [prompt.grammar for prompt in prompts]
    assert all(grammar is not None for grammar in grammars)
    starts = [grammar.gbnf.partition("root ::= ")[2] for grammar in grammars if grammar]
    leads = [re.findall(r"\w+", start)[0] for start in starts]
    assert leads == ["quote", "quote", "fix"]
    assert grammars[1] is not None
    assert '"implied"' in grammars[1].schema


@pytest.mark.parametrize(
    ("words", "there"),
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
def test_a_quotation_is_looked_for_in_the_report(words: str, there: bool) -> None:
    assert is_in_report(words, ISSUE) is there


def test_a_question_that_does_not_fit_is_not_asked(tmp_path: Path) -> None:
    scripted(tmp_path, "=== always\nx")
    small = ScriptedModel(str(tmp_path / "replies.txt"), Settings(context=40))
    with pytest.raises(PromptTooLong):
        judge_prompt(judged(run()), brief_of(small))


def test_seeds_and_room_are_what_they_say(tmp_path: Path) -> None:
    assert seed_of("a", 1) != seed_of("a", 2)
    assert 0 <= seed_of("a", 1) < 2**31
    model = scripted(tmp_path, "=== always\nx")
    assert answer_room(model, 512) == 512
    assert (
        answer_room(ScriptedModel(str(tmp_path / "replies.txt"), Settings(context=400)), 512) == 100
    )


def test_of_a_long_failure_both_ends_are_shown(tmp_path: Path) -> None:
    message = "\n".join(
        ["assert 'a-b' == 'ab'", *(f"line {n}" for n in range(60)), "KeyError: 'k'"]
    )
    model = scripted(tmp_path, "=== always\nyes")
    prompt = judge_prompt(judged(run(message=message)), brief_of(model))
    text = prompt.messages[-1].text
    assert "assert 'a-b' == 'ab'" in text
    assert "KeyError: 'k'\n```" in text
    assert "[… 50 lines left out …]" in text
    assert "line 30" not in text


def believed(right: bool | None, item: JudgedTest, facts: Facts) -> float:
    return with_opinion(item, Opinion(right=right, reason="r"), facts).judgement.confidence


def test_a_yes_says_most_where_execution_agrees_and_a_no_always_counts() -> None:
    far = Facts(text="something else", crash=False, context="")
    near = Facts(text="it gives 'a-b'", crash=False, context="")
    item = judged(run(message="assert 'a-b' == 'ab'"))
    item = replace(item, judgement=replace(item.judgement, candidate=True, confidence=0.5))
    assert believed(None, item, near) == 0.5
    assert believed(False, item, near) == believed(False, item, far) < 0.5
    assert 0.5 < believed(True, item, far) < 0.8 < believed(True, item, near)
    alike = replace(item, judgement=replace(item.judgement, agree=4, samples=5))
    assert believed(True, alike, far) == believed(True, item, near)
    origin = replace(item.test.origin, strategy="invert")
    turned = replace(item, test=replace(item.test, origin=origin))
    assert believed(True, turned, far) == believed(True, item, near)
    # What rules made has its own figures.
    oracle = Oracle(kind=OracleKind.EQUALS, sentence="s", prior=0.5)
    made = replace(item, test=replace(item.test, oracle=oracle))
    assert believed(True, made, near) == believed(True, item, far)
    strong = replace(made, judgement=replace(made.judgement, confidence=0.85))
    assert believed(False, strong, near) < 0.6
