"""Two questions to a model: is a failing test what the report asks for, and where is the bug?

A quotation counts only where it stands in the report: a model that makes words up has not read it,
and is not believed, whatever it says.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

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
from pytest_brt.reproduce.rate import with_odds
from pytest_brt.types import COUNTS, Issue, JudgedTest, Note, Place

#: Demands that are asked about, characters of a quotation, tokens of one in an answer.
_CLAIMS, _QUOTED, _TOKENS = 8, 240, 90
#: Characters of a failure, and of code that is shown with a test.
_FAILURE, _CODE = 1_500, 4_000
#: Share of a quotation's words that must follow each other in the report; of short ones all. With
#: fewer words than the last number it could be anybody's.
_FOUND, _EXACT, _LEAST = 0.8, 6, 3
_WORD = re.compile(r"\w+|[^\w\s`*_]")
#: What it moves the odds by when a model says no, says yes, and says yes of a test that execution
#: speaks for, too: so many samples fail alike, or the failure is the reported one.
_NO, _YES, _CONFIRMED, _AGREE = 0.25, 3.0, 6.0, 3
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
        key = _key(item)
        if key not in self._known:
            try:
                self._known[key] = self._ask(item)
            except Overflowed:
                self._known[key] = Opinion(None, "the question does not fit the model")
        return self._known[key]

    def _ask(self, item: JudgedTest) -> Opinion:
        run = item.judgement.runs[0]
        claims, failed = claims_of(item.test.source or "", failing_line(item.test, run))
        claims = claims[:_CLAIMS] or [item.test.name]
        names = [f"words_{number}" for number in range(1, len(claims) + 1)]
        asked = names[min(failed, len(names) - 1)]
        # Where the report states the value, it leaves no other fix open.
        is_stated = bool(states_values(self.facts, run.raised))
        names += [] if is_stated else ["fix", "passes"]
        raised = run.raised
        failure = f"{raised.type}: {clean(raised.message)}" if raised else run_words(run)

        def build(values: Mapping[str, object]) -> Request:
            every = {**values, "code": item.test.source or "", "claims": claims}
            every |= {"failure": cut(failure, _FAILURE), "is_stated": is_stated}
            return _question("judge", names, _TOKENS * (len(claims) + 2), **every)

        request, _ = fitted(build, self.findings.bare_values, ("session",), self.model, _CODE)
        return self._decided(read_object(self.model.text(request), names), asked)

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


def _question(name: str, fields: Sequence[str], tokens: int, **values: object) -> Request:
    """Return a question that is answered with a JSON object of these fields."""
    return Request(
        messages=system_and_user(name, **values),
        temperature=0.0,
        top_p=1.0,
        max_tokens=tokens,
        schema=object_schema(fields, _NAMES),
    )


def with_opinion(item: JudgedTest, opinion: Opinion, facts: ReportFacts) -> JudgedTest:
    """Return a test after a model was asked about it: it counts, is less likely, or as it was."""
    judgement = item.judgement
    if opinion.right is None or not judgement.candidate:
        return item
    if not opinion.right:
        return rescored(item, with_odds(judgement.confidence, _NO), opinion.reason)
    if judgement.measured and judgement.counts:
        return rescored(item, judgement.confidence, opinion.reason)
    alike = judgement.agree >= _AGREE and judgement.agree * 2 > judgement.samples
    agrees = alike or failure_matches_report(
        facts, item.test.source or "", judgement.runs[0].raised
    )
    likelier = with_odds(judgement.confidence, _CONFIRMED if agrees else _YES)
    # It ends the search, so it counts: of what a large model wrote and held for right, nearly all
    # was right, however few samples agreed.
    return rescored(item, max(COUNTS, likelier), opinion.reason)


def claims_of(source: str, line: int) -> tuple[list[str], int]:
    """Return the demands of a test as code, in its order, and the place of the one at `line`.

    Where none of them stands there, one is that the statement raises nothing.
    """
    try:
        statements = [node for node in ast.walk(parse(source)) if isinstance(node, ast.stmt)]
    except SyntaxError:
        return [], 0
    statements.sort(key=lambda node: node.lineno)
    found: list[str] = []
    failed = 0
    for node in statements:
        claim = _claim(node)
        is_here = covers(node, line) and not isinstance(node, Function | ast.ClassDef)
        if is_here and not claim and not any(covers(n, line) and _claim(n) for n in statements):
            claim = f"{ast.unparse(node)}  # raises nothing"
        if claim and is_here:
            failed = len(found)
        found += [claim] if claim else []
    return found, failed


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
    text = " ".join(_WORD.findall(f"{issue.title} {issue.text}".lower()))
    most = round(len(wanted) * _FOUND) if len(wanted) > _EXACT else len(wanted)
    runs = (wanted[start : start + most] for start in range(len(wanted) - most + 1))
    return len(wanted) >= _LEAST and any(f" {' '.join(run)} " in f" {text} " for run in runs)


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
    listed = [f"{place.path}::{place.function}{_signature(place, index)}" for place in places]

    def build(values: Mapping[str, object]) -> Request:
        return _question("places", ["places"], _NAMES // 2, **values, places=listed)

    request, _ = fitted(build, findings.bare_values, ("session",), model, 0)
    said = read_object(model.text(request), ["places"]) or {}
    names = re.findall(r"[\w./-]+(?:::[\w.]*)?", said.get("places", ""))
    best = [place for name in names for place in _named(name, places, index)]
    return tuple({(one.path, one.function): one for one in (*best, *places)}.values())


def _signature(place: Place, index: Index) -> str:
    found = index.definition_at(place.path, place.line) if place.function else None
    return found.signature if found else ""


def _named(name: str, places: Sequence[Place], index: Index) -> Iterator[Place]:
    """Yield the place that a model names as PATH or PATH::NAME."""
    file, _, function = name.partition("::")
    path = index.layout.find_path(file)
    known = [one for one in places if one.path == path and one.function == function]
    for one in () if known or not function else index.definitions(function):
        if one.path == path:
            place = Place(path=path, function=one.qualname, line=one.line, end_line=one.end_line)
            known.append(
                replace(place, clues=(Note(code="named-by-model", text="the model names it"),))
            )
    yield from known[:1]
