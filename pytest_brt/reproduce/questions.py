"""Two questions to a model: is a failing test what the report asks for, and where is the bug?

A quotation counts only where it stands in the report: a model that makes words up has not read it,
and is not believed, whatever it says.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from pytest_brt.agents.outcomes import clean
from pytest_brt.agents.prompts import system_and_user
from pytest_brt.agents.reply import object_schema, read_object
from pytest_brt.agents.shown import cut
from pytest_brt.errors import Overflowed
from pytest_brt.model.model import Model
from pytest_brt.model.request import Request
from pytest_brt.oracle.judge import failing_line, rescored
from pytest_brt.oracle.report_facts import ReportFacts, failure_matches_report, states_values
from pytest_brt.project.index import Index
from pytest_brt.pysource.normal_form import test_key
from pytest_brt.pysource.parse import Function, called_name, covers, parse
from pytest_brt.render.causes import run_words
from pytest_brt.reproduce.prompt import Findings, fitted
from pytest_brt.reproduce.rate import is_agreed
from pytest_brt.types import COUNTS, Issue, JudgedTest, Note, Place

#: Demands that are asked about, characters of a quotation, tokens of one in an answer.
_CLAIMS, _TOKENS = 8, 90
#: Characters of a failure, and of code that is shown with a test.
_FAILURE, _CODE = 1_500, 4_000
#: Share of a quotation's words that must follow each other in the report; of short ones all. With
#: fewer words than the last number it could be anybody's.
_FOUND, _EXACT, _LEAST = 0.8, 6, 3
_WORD = re.compile(r"\w+|[^\w\s`*_]")
#: What is left of a confidence when a model says no, and what is added to that of a test that
#: counts where execution speaks for it, too.
_NO, _CONFIRMED = 0.5, 0.15
_DEMANDS = ("raises", "warns", "deprecated_call")
#: Places that are not asked about, and characters of the answer.
_FEW, _NAMES = 2, 400


@dataclass(frozen=True, slots=True)
class Opinion:
    """Whether a model holds a failing test for right."""

    #: None where it could not be asked, or what it said does not count.
    right: bool | None
    #: Why, in a few words.
    reason: str = ""


class Judge:
    """A model's word on the tests of one report, asked once for each; for one thread."""

    def __init__(self, findings: Findings, facts: ReportFacts, model: Model) -> None:
        self.findings = findings
        self.facts = facts
        self.model = model
        self._known: dict[str, Opinion] = {}

    def known(self, item: JudgedTest) -> Opinion | None:
        """Return what was said of the test, None where nobody asked."""
        return self._known.get(_key(item))

    def opinion(self, item: JudgedTest) -> Opinion:
        """Return what is said of a candidate; tests with the same code are the same.

        Raises:
            ModelProblem: the model cannot be reached.
        """
        if self.known(item) is None:
            try:
                self._known[_key(item)] = self._ask(item)
            except Overflowed:
                self._known[_key(item)] = Opinion(None, "the question does not fit the model")
        return self._known[_key(item)]

    def _ask(self, item: JudgedTest) -> Opinion:
        run, source = item.judgement.runs[0], item.test.source or ""
        claims, failed = claims_of(source, failing_line(item.test, run))
        claims = claims[:_CLAIMS] or [item.test.name]
        names = [f"words_{number}" for number in range(1, len(claims) + 1)]
        asked = names[min(failed, len(names) - 1)]
        # Where the report states the value, it leaves no other fix open.
        is_stated = bool(states_values(self.facts, run.raised))
        names += [] if is_stated else ["fix", "passes"]
        raised = run.raised
        failure = f"{raised.type}: {clean(raised.message)}" if raised else run_words(run)
        own = {"code": source, "claims": claims, "is_stated": is_stated}
        own["failure"] = cut(failure, _FAILURE)
        tokens = _TOKENS * (len(claims) + 2)
        said = _ask(self.findings, self.model, "judge", names, _CODE, tokens, **own)
        return self._decided(said, asked)

    def _decided(self, said: Mapping[str, str] | None, asked: str) -> Opinion:
        if said is None:
            return Opinion(None, "the model's answer cannot be read")
        if _is_none(said[asked]):
            return Opinion(False, "the model says the report does not ask for this")
        if not is_in_report(said[asked], self.findings.issue):
            return Opinion(None, "the model quotes what the report does not say")
        fix = " ".join(said.get("fix", "none").split())[:80]
        if _is_none(fix) or said["passes"].strip().lower().startswith("y"):
            return Opinion(True, "the model says it is the reported bug")
        return Opinion(False, f"the model says another right fix would fail it: {fix}")


def _ask(
    findings: Findings,
    model: Model,
    name: str,
    fields: Sequence[str],
    code: int,
    tokens: int,
    /,
    **own: object,
) -> dict[str, str] | None:
    """Return the answer to a question about a report, these fields of a JSON object."""

    def build(values: Mapping[str, object]) -> Request:
        return Request(
            messages=system_and_user(name, **values, **own),
            temperature=0.0,
            top_p=1.0,
            max_tokens=tokens,
            schema=object_schema(fields, _NAMES),
        )

    request, _ = fitted(build, findings.bare_values, ("session",), model, code)
    return read_object(model.text(request), fields)


def with_opinion(item: JudgedTest, opinion: Opinion, facts: ReportFacts) -> JudgedTest:
    """Return a test after a model was asked about it: it counts, is less likely, or as it was.

    One that is held for right ends the search, so it counts: of what a large model wrote and held
    for right, nearly all was right, however few samples agreed.
    """
    judgement = item.judgement
    if opinion.right is None or not judgement.candidate:
        return item
    confidence = judgement.confidence
    if not opinion.right:
        confidence *= _NO
    elif not (judgement.measured and judgement.counts):
        source, raised = item.test.source or "", judgement.runs[0].raised
        agrees = is_agreed(judgement.agree, judgement.samples)
        is_confirmed = agrees or failure_matches_report(facts, source, raised)
        confidence = max(COUNTS, confidence) + (_CONFIRMED if is_confirmed else 0)
    return rescored(item, confidence, opinion.reason)


def claims_of(source: str, line: int) -> tuple[list[str], int]:
    """Return the demands of a test as code, in its order, and the place of the one at `line`.

    Where none of them stands there, one is that the statement raises nothing.
    """
    try:
        statements = [node for node in ast.walk(parse(source)) if isinstance(node, ast.stmt)]
    except SyntaxError:
        return [], 0
    statements.sort(key=lambda node: node.lineno)
    at = [n for n in statements if covers(n, line) and not isinstance(n, Function | ast.ClassDef)]
    is_claim = any(map(_claim, at))
    claims: list[str] = []
    failed = 0
    for node in statements:
        claim = _claim(node)
        if node in at:
            claim = claim or ("" if is_claim else f"{ast.unparse(node)}  # raises nothing")
            failed = len(claims) if claim else failed
        claims += [claim] if claim else []
    return claims, failed


def _claim(node: ast.stmt) -> str:
    match node:
        case ast.Assert():
            return ast.unparse(ast.Assert(test=node.test))
        case ast.With(items=[ast.withitem(context_expr=ast.Call() as call), *_]):
            return ast.unparse(node) if called_name(call) in _DEMANDS else ""
        case ast.Expr(value=ast.Call() as call) if called_name(call).startswith("assert"):
            return ast.unparse(call)
    return ""


def _key(item: JudgedTest) -> str:
    return test_key(item.test.source or item.test.id)


def _is_none(text: str) -> bool:
    return text.strip(" .\"'").lower() in ("", "none")


def is_in_report(quote: str, issue: Issue) -> bool:
    """Say whether the words of a quotation stand in the report, but for markup and a few."""
    wanted = _WORD.findall(quote.lower())
    text = " ".join(["", *_WORD.findall(f"{issue.title} {issue.text}".lower()), ""])
    most = round(len(wanted) * _FOUND) if len(wanted) > _EXACT else len(wanted)
    starts = range(len(wanted) - most + 1)
    parts = (" ".join(["", *wanted[n : n + most], ""]) for n in starts)
    return len(wanted) >= _LEAST and any(part in text for part in parts)


# -- where the bug is --


def likeliest_places(findings: Findings, model: Model) -> tuple[Place, ...]:
    """Return the places with those first that a model holds for the likeliest.

    It may name any other place of the project. What it does not name keeps its order; an answer
    that cannot be read changes nothing.

    Raises:
        ModelProblem: the model cannot be reached, or the report does not fit it.
    """
    places, index = findings.places, findings.index
    if len(places) <= _FEW:
        return places
    listed = [f"{one.path}::{one.function}{_signature(one, index)}" for one in places]
    said = _ask(findings, model, "places", ["places"], 0, _NAMES // 2, places=listed) or {}
    names = re.findall(r"[\w./-]+(?:::[\w.]*)?", said.get("places", ""))
    best = [place for name in names for place in _named(name, places, index)]
    return tuple({(one.path, one.function): one for one in (*best, *places)}.values())


def _signature(place: Place, index: Index) -> str:
    found = index.definition_at(place.path, place.line) if place.function else None
    return found.signature if found else ""


def _named(name: str, places: Sequence[Place], index: Index) -> list[Place]:
    """Return the place that a model names as PATH or PATH::NAME, in a list, [] for none."""
    file, _, function = name.partition("::")
    path = index.layout.find_path(file)
    known = [one for one in places if (one.path, one.function) == (path, function)]
    others = index.definitions(function) if function else ()
    known += [
        Place(
            path=one.path,
            function=one.qualname,
            line=one.line,
            end_line=one.end_line,
            clues=(Note(code="named-by-model", text="the model names it"),),
        )
        for one in others
        if one.path == path
    ]
    return known[:1]
