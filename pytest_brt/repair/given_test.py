"""Which failing test a repair is given, when nobody knows the fix (paper 001; requirement 45).

How much of what a test asserts stands in the report counts too: such a test is about what was
reported.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Callable, Iterator, Sequence
from random import Random

from pytest_brt.syntax import called_name, parse
from pytest_brt.types import Attempt, Ending, JudgedTest, Verdict

#: Candidates that a model is asked about.
_ASKED = 5


def choose_brt(
    attempts: Sequence[Attempt],
    given: Sequence[JudgedTest],
    seed: int,
    report: str = "",
    says: Callable[[JudgedTest], bool | None] = lambda _: None,
) -> JudgedTest | None:
    """Return the test to give to a repair; None when there is no candidate.

    Preferred is, in this order: a failure that was judged to be caused by the bug, by rules and
    then by a model, a run that ended because its model said so, a last execution that failed,
    more confidence (in tenths), a longer text of the report that it asserts. Among equals it is
    drawn, likelier the more it is trusted. A run without a dialogue ended by itself.

    `given` are tests that a person gave. `says` tells whether a model holds the failure for the
    bug's, None where it was not asked; it is called for the few most trusted candidates, where
    there are several and none is a person's.
    """
    ended = {judged.test.id: True for judged in given}
    tests = list(given)
    for attempt in attempts:
        ended_well = all(one.ending is Ending.FINISH for one in attempt.trajectories)
        for judged in attempt.tests:
            ended[judged.test.id] = ended_well
            tests.append(judged)
    candidates = [judged for judged in tests if judged.judgement.candidate]
    held = _held(candidates, says)

    def merits(judged: JudgedTest) -> tuple[bool, bool, bool, float, int]:
        test, runs = judged.test.id, judged.judgement.runs
        failed = bool(runs) and runs[-1].verdict is Verdict.FAIL
        trust = round(judged.judgement.confidence, 1)
        return test in held, ended[test], failed, trust, quote_length(judged, report)

    of_each = [merits(judged) for judged in candidates]
    best = [one for one, own in zip(candidates, of_each, strict=True) if own == max(of_each)]
    if not best:
        return None
    weights = [max(0.01, judged.judgement.confidence) for judged in best]
    return Random(seed).choices(best, weights)[0]


def _held(
    candidates: Sequence[JudgedTest], says: Callable[[JudgedTest], bool | None]
) -> frozenset[str]:
    """Return the ids of the candidates that a person gave, else of those that a model believes."""
    ours = frozenset(j.test.id for j in candidates if j.test.origin.strategy == "given")
    if ours or len(candidates) < 2:
        return ours
    asked = sorted(candidates, key=lambda judged: -judged.judgement.confidence)[:_ASKED]
    return frozenset(j.test.id for j in asked if j.judgement.runs and says(j))


#: Calls whose texts are asserted, as in ``pytest.raises(Error, match="…")``.
_ASSERTS = frozenset({"raises", "warns", "match", "fnmatch_lines", "fail"})
#: Texts that are shorter stand anywhere.
_SHORTEST = 4


def quote_length(judged: JudgedTest, report: str) -> int:
    """Return the length of the longest asserted text of a test that stands in `report`, or 0.

    Of a text of several lines each counts alone; blanks count as one. Nothing is known of a test
    whose source is not at hand, or is no Python.
    """
    source = judged.test.source
    if source is None:
        return 0
    try:
        tree = parse(source)
    except SyntaxError:
        return 0
    name = judged.test.name.rpartition("::")[2].partition("[")[0]
    inside: list[ast.AST] = [
        node
        for node in ast.walk(tree)
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef) and node.name == name
    ]
    told = _plain(report)
    texts = {
        _plain(line)
        for node in inside or [tree]
        for text in _asserted(node)
        for line in text.splitlines()
    }
    return max((len(t) for t in texts if len(t) >= _SHORTEST and t in told), default=0)


def _asserted(tree: ast.AST) -> Iterator[str]:
    """Yield the texts in what is asserted; those of a regular expression as what it matches."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Assert):
            yield from _texts(node.test)
        elif isinstance(node, ast.Call):
            name = called_name(node)
            if name not in _ASSERTS and not name.lower().startswith("assert"):
                continue
            for text in _texts(node):
                yield text
                yield re.sub(r"\\(.)", r"\1", text)


def _texts(tree: ast.AST) -> Iterator[str]:
    for node in ast.walk(tree):
        if isinstance(node, ast.Constant) and isinstance(node.value, str):
            yield node.value


def _plain(text: str) -> str:
    return " ".join(text.split())
