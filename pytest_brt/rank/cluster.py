"""Tests that fail of the same thing are one vote, however many there are."""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass

from pytest_brt.rank.reliability import reliability
from pytest_brt.types import JudgedTest

_ADDRESS = re.compile(r"0x[0-9a-f]{4,}", re.IGNORECASE)


@dataclass(frozen=True, slots=True, kw_only=True)
class Cluster:
    """Candidates that fail in the same way on the unpatched tree."""

    #: Ids of its tests, the most reliable first.
    tests: tuple[str, ...]
    #: Each test's share of the cluster's one vote; they sum to 1.
    shares: tuple[float, ...]
    #: Probability that what its tests ask for is right: that of its best.
    reliability: float
    #: Share of wrong patches that would pass all the same.
    leniency: float


def clusters_of(tests: Iterable[JudgedTest]) -> tuple[Cluster, ...]:
    """Group the candidates among `tests` by how they fail, in order of first appearance."""
    members: dict[tuple[str, ...], list[JudgedTest]] = {}
    for judged in tests:
        if judged.judgement.candidate:
            members.setdefault(signature(judged), []).append(judged)
    return tuple(_cluster(group) for group in members.values())


def signature(judged: JudgedTest) -> tuple[str, ...]:
    """Return what tests have in common that fail of the same thing.

    An exception of the project is known by its type, message and deepest project frame; a claim
    that does not hold by what it says. A test whose failure is not known is alone.
    """
    runs = judged.judgement.runs
    raised = runs[0].raised if runs else None
    if raised is None:
        return ("", judged.test.id)
    last = raised.in_project
    place = (last.path, last.function) if last else ("", "")
    message = _ADDRESS.sub("0x", raised.message.strip())[:400]
    if not message:
        return ("", judged.test.id)
    return (raised.type, *place, message)


def _cluster(group: list[JudgedTest]) -> Cluster:
    agreeing = len({judged.test.origin for judged in group})
    trusted = sorted(
        ((reliability(judged, agreeing), judged) for judged in group), key=lambda pair: -pair[0]
    )
    total = sum(weight for weight, _ in trusted)
    return Cluster(
        tests=tuple(judged.test.id for _, judged in trusted),
        shares=tuple(weight / total for weight, _ in trusted),
        reliability=trusted[0][0],
        leniency=min(judged.test.oracle.kind.leniency for _, judged in trusted),
    )
