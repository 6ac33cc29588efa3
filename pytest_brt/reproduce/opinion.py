"""What a model says of a failure where rules have nothing more to say: yes or no."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Annotated, Literal

import msgspec

from pytest_brt.dialogue.prompts import Prompts
from pytest_brt.model.base import Model, Prompt, Sampling
from pytest_brt.model.grammar import Shape, grammar_for
from pytest_brt.reproduce.asking import Asker
from pytest_brt.reproduce.context import Hints
from pytest_brt.reproduce.cuts import Cut, cut_report
from pytest_brt.reproduce.fit import PromptTooLong, fitted
from pytest_brt.types import Issue, JudgedTest

_WORDS = ("yes", "no")
#: The answer in the form that is asked for; the sentence before it may hold such words, too.
_GIVEN = re.compile(r'"answer"\s*:\s*"(\w+)"\s*}?\s*$')
#: Lines of the failure that are shown.
_LINES = 12
#: Characters of the sentence that is quoted, and tokens of the answer.
_SENTENCE, _TOKENS = 240, 120


class _Answer(msgspec.Struct):
    """What the model replies: a quotation first, so that it looks for one before it judges."""

    sentence: Annotated[str, msgspec.Meta(max_length=_SENTENCE)]
    answer: Literal["yes", "no"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Opinion:
    """Whether a model holds a failure for the reported bug."""

    #: None when it could not be asked, or said neither.
    caused: bool | None


def opinion_of(
    item: JudgedTest, issue: Issue, hints: Hints, *, prompts: Prompts, asker: Asker
) -> Opinion:
    """Ask whether the failure of `item` is the bug that `issue` reports.

    The answer is a quotation and one word, held to that by a grammar: what a small model can
    still give. It says nothing of a test that the rules refused.

    Raises:
        ModelProblem: the model cannot be reached.
    """
    if asker.over or not item.judgement.runs:
        return Opinion(caused=None)
    try:
        prompt = opinion_prompt(item, issue, hints, prompts=prompts, model=asker.model)
    except PromptTooLong:
        return Opinion(caused=None)
    return Opinion(caused=read_opinion(asker.ask(prompt)[0].text))


def read_opinion(text: str) -> bool | None:
    """Return what an answer says, None when it says neither yes nor no.

    >>> read_opinion('{"sentence": "It fails.", "answer": "no"}')
    False
    >>> read_opinion("Yes."), read_opinion("perhaps")
    (True, None)
    """
    given = _GIVEN.search(text)
    words = (given[1] if given else text).strip().lower().split()
    said = words[0].strip(".,!") if words else ""
    return said == "yes" if said in _WORDS else None


def opinion_prompt(
    item: JudgedTest, issue: Issue, hints: Hints, *, prompts: Prompts, model: Model
) -> Prompt:
    """Return the question.

    Raises:
        PromptTooLong: it does not fit the model.
    """
    run = item.judgement.runs[0]
    raised = run.raised
    failure = f"{raised.type}: {raised.message.strip()}" if raised else run.reason
    parts = {
        "report": cut_report(issue, Cut.WHOLE),
        "session": "\n".join(hints.session),
        "code": item.test.source or "",
        "failure": _both_ends(failure),
    }

    def build(texts: Mapping[str, str]) -> Prompt:
        values = {
            "title": issue.title,
            "package": hints.package,
            "stance": hints.stance,
            **dict.fromkeys(("buggy", "buggy_path", "siblings", "imports", "tests"), ""),
            **texts,
        }
        return Prompt(
            messages=prompts.ask("judge", **values),
            sampling=Sampling(temperature=0.0, top_p=1.0, max_tokens=_TOKENS),
            grammar=grammar_for(Shape(header=_Answer), lead=("sentence",)),
            weighty=True,
            purpose="judge",
        )

    return fitted(build, parts, ("session", "failure", "report"), model)[0]


def _both_ends(text: str) -> str:
    """Return the first and the last lines of a failure: what it is stands at either end."""
    lines = text.split("\n")
    left = len(lines) - _LINES
    if left <= 0:
        return text
    head = _LINES // 2
    return "\n".join([*lines[:head], f"[… {left} lines left out …]", *lines[head + left :]])
