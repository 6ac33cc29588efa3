"""Which tests are shown first: clusters by failure, best of each first, no doubles."""

from __future__ import annotations

import ast
import re
from collections.abc import Sequence
from dataclasses import replace

from pytest_brt.syntax import is_constant, parse
from pytest_brt.types import JudgedTest, OracleKind, Verdict

#: Order of those that are no candidates: nearest to one first.
_ORDER = (Verdict.FAIL, Verdict.PASS, Verdict.FLAKY, Verdict.TIMEOUT, Verdict.CRASH)


def select(judged: Sequence[JudgedTest], keep: int | None = None) -> tuple[JudgedTest, ...]:
    """Return all tests, best first; beyond `keep` candidates the rest are none any more.

    Candidates go by confidence, but one per cluster (same oracle and same failure) before
    the second of any, as long as the next cluster is not much less likely.
    """
    distinct, doubles = _distinct([item for item in judged if item.judgement.candidate])
    ordered = _round_robin(distinct)
    if keep is not None and len(ordered) > keep:
        reason = f"not kept: {keep} likelier ones were found"
        ordered = [*ordered[:keep], *(dropped(item, reason) for item in ordered[keep:])]
    ordered += [dropped(item, f"the same code as {name}") for item, name in doubles]
    chosen = {item.test.id for item in ordered}
    rest = [item for item in judged if item.test.id not in chosen]
    return (*ordered, *sorted(rest, key=_rest_key))


def cluster_key(item: JudgedTest) -> tuple[str, str, str]:
    """Return what two tests have in common that fail of the same thing."""
    run = item.judgement.runs[0] if item.judgement.runs else None
    raised = run.raised if run else None
    if item.test.oracle.kind is not OracleKind.NO_RAISE or raised is None:
        return (item.test.oracle.kind, "", item.test.id)
    last = raised.in_project
    place = f"{last.path}:{last.function}" if last else ""
    return (item.test.oracle.kind, raised.type, place + re.sub(r"\d+", "0", raised.message[:80]))


def _distinct(items: list[JudgedTest]) -> tuple[list[JudgedTest], list[tuple[JudgedTest, str]]]:
    """Split off tests whose code is another's but for name and docstring, with its name."""
    kept: dict[str, JudgedTest] = {}
    doubles: list[tuple[JudgedTest, str]] = []
    for item in sorted(items, key=_candidate_key):
        key = _skeleton(item.test.source or item.test.id)
        if key in kept:
            doubles.append((item, kept[key].test.name))
        else:
            kept[key] = item
    return list(kept.values()), doubles


def _skeleton(source: str) -> str:
    """Return the code without names of tests and docstrings."""
    tree = parse(source)
    for node in ast.walk(tree):
        if isinstance(node, ast.FunctionDef) and node.name.startswith("test"):
            node.name = "test"
            node.body = [child for child in node.body if not is_constant(child)] or node.body
    return ast.dump(tree)


def _round_robin(items: list[JudgedTest]) -> list[JudgedTest]:
    """Order by confidence, lowered for each one of the same cluster that stands before."""
    ranked = sorted(items, key=_candidate_key)
    before: dict[tuple[str, str, str], int] = {}
    weighed = []
    for item in ranked:
        key = cluster_key(item)
        count = before.get(key, 0)
        before[key] = count + 1
        weighed.append((item.judgement.confidence * 0.8**count, item))
    return [item for _, item in sorted(weighed, key=lambda pair: -pair[0])]


def _candidate_key(item: JudgedTest) -> tuple[float, int, str]:
    return (-item.judgement.confidence, len(item.test.source or ""), item.test.id)


def _rest_key(item: JudgedTest) -> tuple[int, str]:
    verdict = item.judgement.verdict
    place = _ORDER.index(verdict) if verdict in _ORDER else len(_ORDER)
    return (place, item.test.id)


def dropped(item: JudgedTest, reason: str) -> JudgedTest:
    """Return a test that is no candidate any more, for `reason`; as it is when it was none."""
    if not item.judgement.candidate:
        return item
    judgement = replace(
        item.judgement,
        candidate=False,
        confidence=0.0,
        reason=f"{reason}; {item.judgement.reason}",
    )
    return replace(item, judgement=judgement)
