"""How likely a failing test is F→P: from agreement, match with the report, kind and length.

The shares were counted on the features that LIBRO's authors published: 6,253 distinct failing
tests of 570 Java bugs, 50 samples each. Each sign multiplies the odds by how far its share lies
from the base; what it gives is rough, and the reasons are shown beside it.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Sequence
from dataclasses import dataclass, replace

from pytest_brt.oracle.facts import CLAIMS, Facts, matches, simple, states
from pytest_brt.oracle.judge import Rating, first_line, is_misuse, judge
from pytest_brt.syntax.parse import parse
from pytest_brt.types import CandidateTest, JudgedTest, TestRun, Verdict
from pytest_brt.types.cause import OwnError, PhaseFailed

#: Share of all failing tests that are F→P.
BASE = 0.315
#: Samples that fail alike (at most this many) → share.
AGREEMENT = ((1, 0.12), (3, 0.22), (9, 0.37), (19, 0.48), (10_000, 0.61))
#: The failure is the reported one; it is not.
MATCH, NO_MATCH = 0.50, 0.26
#: It saw a value that the report shows where it asks for one that the report wants.
STATED = 0.75
#: The report is about a wrong value, and the test crashes.
OTHER_KIND = 0.18
#: The same text was written this often → share.
REPEATED, REPEATED_SHARE = 4, 0.79
#: Tokens of the test, fewer than or at least → share.
SHORT, SHORT_SHARE, LONG, LONG_SHARE = 30, 0.40, 120, 0.26
#: Samples that the shares of AGREEMENT were counted with.
_SAMPLES = 50
#: For calling the project in a way that it cannot be called.
MISMATCH = 0.25
_TOKEN = re.compile(r"\w+|[^\w\s]")


@dataclass(frozen=True, slots=True, kw_only=True)
class Signs:
    """What is known of a failing test."""

    #: Samples that fail alike, this one too; how many there were.
    agree: int = 1
    samples: int = 1
    #: Samples with the same text.
    same: int = 1
    #: How the failure matches the report, in words; "" when it does not.
    match: str = ""
    #: It asks for a value that the report wants in place of one that the report shows.
    stated: bool = False
    #: It crashes, though the report is about a wrong value.
    other_kind: bool = False
    #: The failure comes from calling the project wrongly.
    mismatch: bool = False
    #: Tokens of the test, imports left out.
    tokens: int = 60


def confidence(signs: Signs) -> tuple[float, tuple[str, ...]]:
    """Return a probability in 0.01..0.95, and the reasons in a few words each."""
    factor = 1.0
    reasons = []
    for share, reason in _shares(signs):
        factor *= _odds(share) / _odds(BASE)
        if reason:
            reasons.append(reason)
    if signs.mismatch:
        factor *= MISMATCH
        reasons.append("the test may call the project wrongly")
    return round(with_odds(BASE, factor), 2), tuple(reasons)


def with_odds(confidence: float, factor: float) -> float:
    """Return the confidence with `factor` times the odds of `confidence`, in 0.01..0.95."""
    odds = factor * _odds(min(confidence, 1 - 1e-9))
    return min(max(odds / (1 + odds), 0.01), 0.95)


def _shares(signs: Signs) -> Sequence[tuple[float, str]]:
    found: list[tuple[float, str]] = []
    if signs.samples > 1:
        words = f"{signs.agree} of {signs.samples} samples fail alike"
        found.append((agreement_share(signs.agree, signs.samples), words))
    share = STATED if signs.stated else MATCH
    found.append((share, signs.match) if signs.match else (NO_MATCH, ""))
    if signs.same >= REPEATED:
        found.append((REPEATED_SHARE, f"written {signs.same} times alike"))
    if signs.other_kind:
        found.append((OTHER_KIND, "crashes, though the report is about a wrong value"))
    if signs.tokens < SHORT:
        found.append((SHORT_SHARE, "short"))
    elif signs.tokens >= LONG:
        found.append((LONG_SHARE, "long"))
    return found


def agreement_share(agree: int, samples: int) -> float:
    """Return the share for so much agreement.

    With fewer samples each that agrees says more, and that others do not agree says less.
    """
    part = (min(max(samples, 1), _SAMPLES) / _SAMPLES) ** 0.5
    counted = 1 + (agree - 1) / part
    share = next(share for most, share in AGREEMENT if counted <= most)
    return share if share >= BASE else BASE + (share - BASE) * part


def _odds(share: float) -> float:
    return share / (1 - share)


def count_tokens(source: str) -> int:
    r"""Return the tokens of the tests in a module: imports and helpers are not counted.

    >>> count_tokens("import a\n\ndef test_a():\n    assert a.b == 1\n")
    12
    """
    try:
        body = parse(source).body
    except SyntaxError:
        return len(_TOKEN.findall(source))
    tests = [node for node in body if getattr(node, "name", "").lower().startswith("test")]
    return len(_TOKEN.findall("\n".join(map(ast.unparse, tests or body))))


#: pytest's word in what it says of a fixture that it does not find.
_FIXTURE = "fixture"
#: Exceptions of a test that only lacks an import, a name or a fixture.
_NAMES = frozenset(
    {"ImportError", "ModuleNotFoundError", "NameError", "UnboundLocalError", "FixtureLookupError"}
)


def judge_written(
    test: CandidateTest, runs: tuple[TestRun, ...], facts: Facts, signs: Signs | None = None
) -> JudgedTest:
    """Judge a model's test by its runs on the unpatched tree.

    `signs` says how many samples agree with it. The others are filled in here.
    """

    def rate(run: TestRun) -> Rating:
        seen = signs_of(test, run, facts, signs or Signs())
        value, reasons = confidence(seen)
        return Rating(confidence=value, reasons=reasons, agree=seen.agree, samples=seen.samples)

    return judge(test, runs, facts, rate)


def signs_of(test: CandidateTest, run: TestRun, facts: Facts, signs: Signs) -> Signs:
    """Return `signs` with what the failure itself shows."""
    raised = run.raised
    crashed = raised is not None and simple(raised.type) not in CLAIMS
    match = matches(facts, test.source or "", raised)
    return replace(
        signs,
        match=match,
        stated=bool(states(facts, raised)),
        other_kind=crashed and not facts.crash and not match,
        mismatch=run.mismatch,
        tokens=count_tokens(test.source or ""),
    )


def is_repairable(run: TestRun) -> bool:
    """Say whether a test is broken by nothing but an import, a name or a fixture."""
    if run.verdict is Verdict.FAIL and run.raised is not None:
        return is_misuse(run.raised)
    cause = run.cause
    if not isinstance(cause, (OwnError, PhaseFailed)):
        return False
    if isinstance(cause, PhaseFailed) and cause.denied:
        return False
    if run.raised is None:
        return isinstance(cause, PhaseFailed) and _FIXTURE in cause.text
    names = {simple(run.raised.type), *(simple(base) for base in run.raised.bases)}
    return bool(names & _NAMES) or _FIXTURE in first_line(run.raised)
