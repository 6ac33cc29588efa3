"""What a model says when it is asked to judge: of the places of a bug, and of a failing test.

Of the places it chooses the likeliest: it knows what words mean, and has only names to read.

Of a test it is asked three short questions: whether the test's input is the report's, whether the
report says what it asserts, and whether another right fix would fail it. An answer counts only
with words that do stand in the report: a model that makes them up has not read it, and is not
believed, whatever it says.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Annotated, Literal

import msgspec

from pytest_brt.agent.history import cut
from pytest_brt.model.base import Grammar, Message, Prompt, Role, Sampling
from pytest_brt.model.grammar import Shape, grammar_for
from pytest_brt.oracle.facts import Facts, matches
from pytest_brt.oracle.judge import rescored
from pytest_brt.render.causes import run_words
from pytest_brt.reproduce.model_tests.confidence import with_odds
from pytest_brt.reproduce.prompting.fit import Brief, bug_values, fitted, report_text
from pytest_brt.types import Issue, JudgedTest, OracleKind, Place

#: Lines of the failure that are shown, with the one that says how many are left out.
_LINES = 13
#: Characters of what is quoted, and tokens of the answer.
_QUOTED, _TOKENS = 240, 140
#: Tokens that must be left for all answers, and the questions after the first.
_ALL = 3 * (_TOKENS + 120)
#: Share of a quotation's words that must follow each other in the report; of short ones all. With
#: fewer words than the last number it could be anybody's.
_FOUND, _EXACT, _LEAST = 0.8, 6, 3
_WORD = re.compile(r"\w+|[^\w\s`*_]")


class _Input(msgspec.Struct):
    quote: Annotated[str, msgspec.Meta(max_length=_QUOTED)]
    answer: Literal["yes", "no"]


class _Value(msgspec.Struct):
    quote: Annotated[str, msgspec.Meta(max_length=_QUOTED)]
    answer: Literal["yes", "implied", "no"]


class _Other(msgspec.Struct):
    fix: Annotated[str, msgspec.Meta(max_length=_QUOTED)]
    answer: Literal["yes", "no"]


#: The questions in their order: the prompt, and what the model replies; what it copies or names
#: comes first, so that it looks before it judges.
_QUESTIONS: tuple[tuple[str, type[msgspec.Struct]], ...] = (
    ("judge/input.user", _Input),
    ("judge/value.user", _Value),
    ("judge/other.user", _Other),
)
#: What it moves the odds by when a model says no, says yes, and says yes of a test that a model
#: wrote while execution agrees: its failure is the reported one, most samples fail so too, or the
#: model first said what the code does now, and that held. The last is from 23 reports of which
#: all were right, with a capable model; see docs/writing-tests.md.
SAYS_NO, SAYS_YES, CONFIRMED = 0.25, 3.0, 6.0
#: Samples that must fail alike to agree.
_AGREE = 3


@dataclass(frozen=True, slots=True, kw_only=True)
class Opinion:
    """Whether a model holds a failing test for right."""

    #: None when it could not be asked, or what it said does not count.
    right: bool | None
    #: Why, in a few words.
    reason: str = ""


def opinion_of(item: JudgedTest, brief: Brief, ask: Callable[[Prompt], str]) -> Opinion:
    """Ask up to three questions about the test `item`.

    It says nothing of a test that the rules refused.

    Raises:
        ModelProblem: the model cannot be reached.
        PromptTooLong: the first question does not fit the model.
    """
    said: list[Mapping[str, str]] = []
    prompt = judge_prompt(item, brief)
    for name, shape in _QUESTIONS:
        if said:
            question = brief.prompts.message(Role.USER, name)
            messages = (*prompt.messages, question)
            prompt = replace(prompt, messages=messages, grammar=_grammar(shape))
        text = ask(prompt)
        reply = _read(text, shape)
        if reply is None:
            return Opinion(right=None, reason="the model's answer cannot be read")
        said.append(reply)
        early = _decided(said, brief.issue)
        if early is not None:
            return early
        answered = Message(role=Role.ASSISTANT, text=text)
        prompt = replace(prompt, messages=(*prompt.messages, answered))
    return Opinion(right=True, reason="the model says it is the reported bug")


def with_opinion(item: JudgedTest, opinion: Opinion, facts: Facts) -> JudgedTest:
    """Return the test after a model was asked about it: likelier, less likely, or as it was."""
    judgement = item.judgement
    if opinion.right is None or not judgement.candidate:
        return item
    factor = SAYS_NO
    if opinion.right:
        factor = CONFIRMED if _agrees(item, facts) else SAYS_YES
    return rescored(item, with_odds(judgement.confidence, factor), opinion.reason)


def _agrees(item: JudgedTest, facts: Facts) -> bool:
    """Say whether execution speaks for a test that a model wrote."""
    judgement = item.judgement
    if item.test.oracle.kind is not OracleKind.WRITTEN or not judgement.runs:
        return False
    if item.test.origin.strategy == "invert":
        return True  # what it turned had passed: the model knew what the code does now
    alike = judgement.agree >= _AGREE and judgement.agree * 2 > judgement.samples
    return alike or bool(matches(facts, item.test.source or "", judgement.runs[0].raised))


def _decided(said: list[Mapping[str, str]], issue: Issue) -> Opinion | None:
    """Return what the last of the answers decides, None when more is to be asked."""
    last = said[-1]
    # What the report does not say in so many words cannot be quoted.
    silent = len(said) == 2 and last["answer"] != "yes" and not last["quote"].strip()
    if "quote" in last and not silent and not is_in_report(last["quote"], issue):
        return Opinion(right=None, reason="the model quotes what the report does not say")
    if len(said) < len(_QUESTIONS):
        about = "the report is about another input", "the report does not ask for this"
        no = Opinion(right=False, reason=f"the model says {about[len(said) - 1]}")
        return no if last["answer"] == "no" else None
    if last["answer"] == "no":
        return None
    fix = " ".join(last["fix"].split())[:80]
    if said[1]["answer"] == "yes":
        # It holds the report for exact and for open: it cannot be both.
        return Opinion(right=None, reason=f"the model names another right fix: {fix}")
    return Opinion(right=False, reason=f"the model says another right fix would fail it: {fix}")


def _read(text: str, shape: type[msgspec.Struct]) -> Mapping[str, str] | None:
    """Return the fields of an answer, None when it is no such JSON."""
    start, end = text.find("{"), text.rfind("}")
    try:
        found = msgspec.json.decode(text[start : end + 1], type=shape)
    except msgspec.DecodeError:
        return None
    return msgspec.structs.asdict(found)


def is_in_report(quote: str, issue: Issue) -> bool:
    """Say whether the words of `quote` stand in the report, but for markup and a few of them."""
    wanted = _WORD.findall(quote.lower())
    text = " ".join(_WORD.findall(f"{issue.title} {issue.text}".lower()))
    most = round(len(wanted) * _FOUND) if len(wanted) > _EXACT else len(wanted)
    runs = (wanted[start : start + most] for start in range(len(wanted) - most + 1))
    return len(wanted) >= _LEAST and any(f" {' '.join(run)} " in f" {text} " for run in runs)


def _grammar(shape: type[msgspec.Struct]) -> Grammar:
    return grammar_for(Shape(header=shape), lead=(shape.__struct_fields__[0],))


def judge_prompt(item: JudgedTest, brief: Brief) -> Prompt:
    """Return the first question.

    Raises:
        PromptTooLong: it does not fit the model.
    """
    run = item.judgement.runs[0]
    raised = run.raised
    failure = f"{raised.type}: {raised.message.strip()}" if raised else run_words(run)
    parts = {
        "report": report_text(brief.issue),
        "session": "\n".join(brief.hints.session),
        "code": item.test.source or "",
        # What it is stands at either end.
        "failure": cut(failure, _LINES, lambda text: text.count("\n") + 1, head=0.5),
    }
    name, shape = _QUESTIONS[0]

    def build(texts: Mapping[str, str]) -> Prompt:
        values = {**bug_values(brief, texts), "python": ""}
        return Prompt(
            messages=(
                brief.prompts.message(Role.SYSTEM, "judge/system", **values),
                brief.prompts.message(Role.USER, name, **values),
            ),
            sampling=Sampling(temperature=0.0, top_p=1.0, max_tokens=_ALL),
            grammar=_grammar(shape),
            weighty=True,
            purpose="judge",
        )

    prompt = fitted(build, parts, ("session", "failure", "report"), brief)[0]
    return replace(prompt, sampling=replace(prompt.sampling, max_tokens=_TOKENS))


#: As many suspects are shown anyway.
_FEW = 5
#: Tokens of the answer: three names.
_CHOICE = 200
_ANSWERS = ("first", "second", "third")


def chosen(
    suspects: Sequence[Place], brief: Brief, ask: Callable[[Prompt], str]
) -> tuple[Place, ...]:
    """Return `suspects` with those first that a model holds for the likeliest.

    All stay: what it does not choose keeps its order. It is not asked about a few, and an answer
    that cannot be read changes nothing.

    Raises:
        ModelProblem: the model cannot be reached, or the report does not fit it.
    """
    by_name = {f"{one.path}::{one.function}" if one.function else one.path: one for one in suspects}
    if len(by_name) <= _FEW:
        return tuple(suspects)
    words = Literal[tuple(by_name)]  # type: ignore[valid-type]  # they are known only now
    shape = msgspec.defstruct("Places", [(name, words) for name in _ANSWERS])

    def build(texts: Mapping[str, str]) -> Prompt:
        return Prompt(
            messages=brief.prompts.ask("places", names=tuple(by_name), **bug_values(brief, texts)),
            sampling=Sampling(temperature=0.0, top_p=1.0, max_tokens=_CHOICE),
            grammar=grammar_for(Shape(header=shape)),
            purpose="places",
        )

    parts = {"report": report_text(brief.issue)}
    said = _read(ask(fitted(build, parts, ("report",), brief)[0]), shape)
    best = [by_name[said[name]] for name in _ANSWERS] if said else []
    return tuple(dict.fromkeys((*best, *suspects)))
