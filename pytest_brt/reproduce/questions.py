"""A question to a model: which words of the report ask for what a failing test demands?

A quotation counts only where it stands in the report: a model that makes words up has not read it,
and is not believed, whatever it says.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from difflib import SequenceMatcher

from pytest_brt.agents.outcomes import clean
from pytest_brt.agents.prompts import cut, system_and_user
from pytest_brt.agents.reply import first_object, object_schema
from pytest_brt.model.model import Model
from pytest_brt.model.request import Request
from pytest_brt.oracle.judge import failing_line, rescored
from pytest_brt.pysource.normal_form import test_key
from pytest_brt.render.causes import run_words
from pytest_brt.reproduce.prompt import Findings, fitted
from pytest_brt.types import COUNTS, Issue, JudgedTest

#: Tokens of the answer, and characters of each value in it.
_TOKENS, _VALUE = 200, 400
#: Characters of a failure, and of code that is shown with a test.
_FAILURE, _CODE = 1_500, 4_000
#: Share of a quotation's words that must follow each other in the report. With fewer words than the
#: last number it could be anybody's.
_FOUND, _LEAST = 0.8, 3
_WORD = re.compile(r"\w+|[^\w\s`*_]")
#: What is left of a confidence when a model says no, and how much more than enough its yes is.
_NO, _CONFIRMED = 0.5, 0.15


@dataclass(frozen=True, slots=True)
class Opinion:
    """Whether a model holds a failing test for right."""

    #: None where it could not be asked, or what it said does not count.
    right: bool | None
    #: Why, in a few words.
    reason: str = ""


@dataclass(slots=True)
class Judge:
    """A model's word on the tests of one report, asked once for each; for one thread."""

    findings: Findings
    model: Model
    _known: dict[str, Opinion] = field(default_factory=dict)

    def known(self, item: JudgedTest) -> Opinion | None:
        """Return what was said of the test, None where nobody asked."""
        return self._known.get(test_key(item.test.source or item.test.id))

    def opinion(self, item: JudgedTest) -> Opinion:
        """Return what is said of a candidate; tests with the same code are the same.

        Raises:
            ModelProblem: the model cannot be reached, or the question does not fit it.
        """
        opinion = self.known(item) or self._ask(item)
        self._known[test_key(item.test.source or item.test.id)] = opinion
        return opinion

    def _ask(self, item: JudgedTest) -> Opinion:
        run, source = item.judgement.runs[0], item.test.source or ""
        raised = run.raised
        failure = f"{raised.type}: {clean(raised.message)}" if raised else run_words(run)
        line = failing_line(item.test, run)
        own = {"code": source, "line": line, "failure": cut(failure, _FAILURE)}

        def build(values: Mapping[str, object]) -> Request:
            return Request(
                messages=system_and_user("judge", **values, **own),
                temperature=0.0,
                top_p=1.0,
                max_tokens=_TOKENS,
                schema=object_schema(["words"], _VALUE),
            )

        request = fitted(build, self.findings.values, self.model, _CODE)
        said = first_object(self.model.text(request)).get("words")
        if said is None:
            return Opinion(None, "the model's answer cannot be read")
        words = str(said).strip(" .\"'")
        if words.lower() in ("", "none"):
            return Opinion(False, "the model says the report does not ask for this")
        if not is_in_report(words, self.findings.issue):
            return Opinion(None, "the model quotes what the report does not say")
        return Opinion(True, "the model says it is the reported bug")


def with_opinion(item: JudgedTest, opinion: Opinion) -> JudgedTest:
    """Return a test after a model was asked about it: it counts, is less likely, or as it was.

    One that is held for right ends the search, so it counts: of what a large model wrote and held
    for right, nearly all was right, however few samples agreed.
    """
    judgement = item.judgement
    if opinion.right is None or not judgement.candidate:
        return item
    confidence = judgement.confidence * _NO
    if opinion.right:
        confidence = max(judgement.confidence, COUNTS + _CONFIRMED)
    return rescored(item, confidence, opinion.reason)


def is_in_report(quote: str, issue: Issue) -> bool:
    """Say whether the words of a quotation stand in the report, but for markup and a few."""
    wanted = _WORD.findall(quote.lower())
    text = _WORD.findall(f"{issue.title} {issue.text}".lower())
    longest = SequenceMatcher(None, text, wanted, autojunk=False).find_longest_match().size
    return longest >= max(_LEAST, len(wanted) * _FOUND)
