"""What a model says of a failing test.

It is asked two short questions: which words of the report ask for each demand of the test, and
whether the test passes on the likeliest other fix. A quotation counts only where it stands in the
report: a model that makes words up has not read it, and is not believed, whatever it says.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace

from pytest_brt.agent.report_text import report_text
from pytest_brt.agent.running import told_message
from pytest_brt.model.base import Message, Prompt, Role, Sampling
from pytest_brt.model.form import Choice, Header, Text, grammar_for
from pytest_brt.oracle.facts import Facts, matches, states
from pytest_brt.oracle.judge import rescored
from pytest_brt.render.causes import run_words
from pytest_brt.reproduce.claims import claims_of
from pytest_brt.reproduce.model_tests.confidence import with_odds
from pytest_brt.reproduce.prompting.fit import Brief, PromptTooLong, bug_values, fitted, listings_of
from pytest_brt.syntax.normal import test_key
from pytest_brt.types import COUNTS, Issue, JudgedTest, OracleKind, Raised

#: Demands that are asked about, the failed one first.
_CLAIMS = 4
#: Characters of a quotation, and tokens of one in an answer.
_QUOTED, _TOKENS = 240, 90
#: Tokens of what all questions about a test begin with.
_MOST = 1_000
#: Lines of a failure that are shown at each end.
_LINES = 6
#: How lines begin in which pytest shows what differs.
_DIFFERENCE = re.compile(r"\s*[-+?] ")
#: Share of a quotation's words that must follow each other in the report; of short ones all. With
#: fewer words than the last number it could be anybody's.
_FOUND, _EXACT, _LEAST = 0.8, 6, 3
_WORD = re.compile(r"\w+|[^\w\s`*_]")
_NONE = "none"
#: What it moves the odds by when a model says no, says yes, and says yes of a test that a model
#: wrote while execution agrees: its failure is the reported one, most samples fail so too, or the
#: model first said what the code does now, and that held. The last is from 23 reports of which
#: all were right, with a capable model; see docs/writing-tests.md.
SAYS_NO, SAYS_YES, CONFIRMED = 0.25, 3.0, 6.0
#: Samples that must fail alike to agree.
_AGREE = 3


_OTHER_FIX = Header(
    fields=(("fix", Text(longest=_QUOTED)), ("passes", Choice(words=("yes", "no"))))
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Opinion:
    """Whether a model holds a failing test for right."""

    #: None when it could not be asked, or what it said does not count.
    right: bool | None
    #: Why, in a few words.
    reason: str = ""


#: Asks a model, and returns its reply.
Ask = Callable[[Prompt], str]


class Opinions:
    """A model's word on the tests of one report, asked once for each; not for several threads.

    Tests with the same code but for names, layout and comments are the same.
    """

    def __init__(self, brief: Brief, facts: Facts) -> None:
        self.brief = brief
        self.facts = facts
        self._known: dict[str, Opinion] = {}

    def known(self, item: JudgedTest) -> Opinion | None:
        """Return what was said of the test, None when nobody asked."""
        return self._known.get(_key(item))

    def of(self, item: JudgedTest, ask: Ask) -> Opinion:
        """Return what is said of a candidate test; `ask` is used where that is not known.

        Raises:
            ModelProblem: the model cannot be reached.
        """
        key = _key(item)
        if key not in self._known:
            try:
                self._known[key] = self._asked(item, ask)
            except PromptTooLong:
                self._known[key] = Opinion(right=None, reason="the questions do not fit the model")
        return self._known[key]

    def _asked(self, item: JudgedTest, ask: Ask) -> Opinion:
        prompt, form = sentence_prompt(item, self.brief)
        text = ask(prompt)
        said = form.read(text)
        if said is None:
            return Opinion(right=None, reason="the model's answer cannot be read")
        quote = next(iter(said.values())).strip()
        if _is_none(quote):
            return Opinion(right=False, reason="the model says the report does not ask for this")
        if not is_in_report(quote, self.brief.issue):
            return Opinion(right=None, reason="the model quotes what the report does not say")
        answered = Message(role=Role.ASSISTANT, text=text)
        question = self.brief.prompts.message(Role.USER, "judge/other_fix.user")
        messages = (*prompt.messages, answered, question)
        grammar = grammar_for(_OTHER_FIX)
        other = _OTHER_FIX.read(ask(replace(prompt, messages=messages, grammar=grammar)))
        return self._decided(item, other)

    def _decided(self, item: JudgedTest, other: Mapping[str, str] | None) -> Opinion:
        if other is None:
            return Opinion(right=None, reason="the model's answer cannot be read")
        fix = " ".join(other["fix"].split())[:80]
        if other["passes"] == "yes" or _is_none(fix):
            return Opinion(right=True, reason="the model says it is the reported bug")
        if states(self.facts, _raised(item)):
            # The report states the value: it cannot leave it open.
            reason = f"the model names another right fix: {fix}"
            return Opinion(right=None, reason=reason)
        reason = f"the model says another right fix would fail it: {fix}"
        return Opinion(right=False, reason=reason)


def with_opinion(item: JudgedTest, opinion: Opinion, *, agrees: bool) -> JudgedTest:
    """Return the test after a model was asked about it: one that counts, less likely, or as it was.

    `agrees` says that execution speaks for it, too.
    """
    judgement = item.judgement
    if opinion.right is None or not judgement.candidate:
        return item
    if not opinion.right:
        return rescored(item, with_odds(judgement.confidence, SAYS_NO), opinion.reason)
    if judgement.measured and judgement.counts:
        return rescored(item, judgement.confidence, opinion.reason)
    likelier = with_odds(judgement.confidence, CONFIRMED if agrees else SAYS_YES)
    # It ends the search, so it counts: of what a large model wrote and held for right, nearly all
    # was right, however few samples agreed.
    return rescored(item, max(COUNTS, likelier), opinion.reason)


def is_confirmed(item: JudgedTest, facts: Facts) -> bool:
    """Say whether execution speaks for a test that a model wrote."""
    judgement = item.judgement
    if item.test.oracle.kind is not OracleKind.WRITTEN or not judgement.runs:
        return False
    alike = judgement.agree >= _AGREE and judgement.agree * 2 > judgement.samples
    return alike or bool(matches(facts, item.test.source or "", _raised(item)))


def _key(item: JudgedTest) -> str:
    return test_key(item.test.source or item.test.id)


def _raised(item: JudgedTest) -> Raised | None:
    return item.judgement.runs[0].raised if item.judgement.runs else None


def _is_none(text: str) -> bool:
    return text.strip(" .\"'").lower() in ("", _NONE)


def is_in_report(quote: str, issue: Issue) -> bool:
    """Say whether the words of `quote` stand in the report, but for markup and a few of them."""
    wanted = _WORD.findall(quote.lower())
    text = " ".join(_WORD.findall(f"{issue.title} {issue.text}".lower()))
    most = round(len(wanted) * _FOUND) if len(wanted) > _EXACT else len(wanted)
    runs = (wanted[start : start + most] for start in range(len(wanted) - most + 1))
    return len(wanted) >= _LEAST and any(f" {' '.join(run)} " in f" {text} " for run in runs)


def show_failure(text: str) -> str:
    """Return a failure: its beginning and end, and every line in which two values differ."""
    lines = text.split("\n")
    last = len(lines) - _LINES
    shown = [n for n, line in enumerate(lines) if n < _LINES or n >= last or _differs(line)]
    if len(shown) == len(lines):
        return text
    found: list[str] = []
    before = -1
    for number in shown:
        if number > before + 1:
            found.append(f"[… {number - before - 1} lines left out …]")
        found.append(lines[number])
        before = number
    return "\n".join(found)


def _differs(line: str) -> bool:
    return bool(_DIFFERENCE.match(line))


def sentence_prompt(item: JudgedTest, brief: Brief) -> tuple[Prompt, Header]:
    """Return the first question, and the form of its answer.

    Raises:
        PromptTooLong: it does not fit the model.
    """
    run = item.judgement.runs[0]
    raised = run.raised
    failure = f"{raised.type}: {told_message(raised.message).strip()}" if raised else run_words(run)
    claims = claims_of(item.test, run)[:_CLAIMS] or (item.test.name,)
    quotation = Text(longest=_QUOTED)
    numbers = range(1, len(claims) + 1)
    form = Header(fields=tuple((f"words_{number}", quotation) for number in numbers))
    parts = {
        "report": report_text(brief.issue),
        "session": "\n".join(brief.hints.session),
        "code": item.test.source or "",
        "failure": show_failure(failure),
    }
    room = _TOKENS * (len(claims) + 2)

    def build(texts: Mapping[str, str]) -> Prompt:
        values = {**bug_values(brief, texts), "python": "", "claims": claims}
        return Prompt(
            messages=(
                brief.prompts.message(Role.SYSTEM, "judge/system", **values),
                brief.prompts.message(Role.USER, "judge/sentence.user", **values),
            ),
            # Until it is made to fit: with room for the second question and its answer.
            sampling=Sampling(temperature=0.0, top_p=1.0, max_tokens=2 * room),
            grammar=grammar_for(form),
            weighty=True,
            purpose="judge",
        )

    listings = {}
    if brief.index is not None:
        listings = listings_of(replace(brief.hints, host=""), brief.index)
    order = ("suspected", "session", "failure", "report")
    prompt = fitted(build, parts, order, brief, listings, most=_MOST)[0]
    return replace(prompt, sampling=replace(prompt.sampling, max_tokens=room)), form
