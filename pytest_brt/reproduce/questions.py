"""A question to a model: which words of the report ask for what a failing test demands?

A quotation counts only where it stands in the report: a model that makes words up has not read it,
and is not believed, whatever it says.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from difflib import SequenceMatcher

from pytest_brt.agents.prompts import clean, cut, system_and_user
from pytest_brt.agents.reply import first_object
from pytest_brt.model.model import Model
from pytest_brt.model.request import Request
from pytest_brt.oracle.judge import failing_line, rescored
from pytest_brt.render.words import run_words
from pytest_brt.reproduce.prompt import Findings, fitted
from pytest_brt.types import COUNTS, Issue, JudgedTest

#: Tokens of the answer, and its JSON schema.
_TOKENS = 200
_SCHEMA = (
    '{"type": "object", "properties": {"words": {"type": "string", "maxLength": 400}}, '
    '"required": ["words"]}'
)
#: Characters of a failure, and of code that is shown with a test.
_FAILURE, _CODE = 1_500, 4_000
#: Share of a quotation's words that must follow each other in the report. With fewer words than the
#: last number it could be anybody's.
_FOUND, _LEAST = 0.8, 3
_WORD = re.compile(r"\w+|[^\w\s`*_]")
#: What is left of a confidence when a model says no, and how much more than enough its yes is: of
#: what a large model wrote and held for right, nearly all was right.
_NO, _CONFIRMED = 0.5, 0.15


def with_opinion(item: JudgedTest, findings: Findings, model: Model) -> JudgedTest:
    """Return a candidate after a model was asked about it: it counts, or is less likely.

    It is as it was where the answer cannot be read, or quotes what the report does not say.

    Raises:
        ModelProblem: the model cannot be reached, or the question does not fit it.
    """
    run, confidence = item.judgement.runs[0], item.judgement.confidence
    failure = f"{run.raised.type}: {clean(run.raised.message)}" if run.raised else run_words(run)
    own = {
        "code": item.test.source or "",
        "line": failing_line(item.test, run),
        "failure": cut(failure, _FAILURE),
    }

    def build(values: Mapping[str, object]) -> Request:
        return Request(
            messages=system_and_user("judge", **values, **own),
            temperature=0.0,
            max_tokens=_TOKENS,
            schema=_SCHEMA,
        )

    said = first_object(model.text(fitted(build, findings.values, model, _CODE))).get("words")
    words = str(said).strip(" .\"'")
    if said is not None and words.lower() in ("", "none"):
        reason = "the model says the report does not ask for this"
        return rescored(item, confidence * _NO, reason)
    if said is None or not is_in_report(words, findings.issue):
        return item
    confidence = max(confidence, COUNTS + _CONFIRMED)
    return rescored(item, confidence, "the model says it is the reported bug")


def is_in_report(quote: str, issue: Issue) -> bool:
    """Say whether the words of a quotation stand in the report, but for markup and a few."""
    wanted = _WORD.findall(quote.lower())
    text = _WORD.findall(f"{issue.title} {issue.text}".lower())
    longest = SequenceMatcher(None, text, wanted, autojunk=False).find_longest_match().size
    return longest >= max(_LEAST, len(wanted) * _FOUND)
