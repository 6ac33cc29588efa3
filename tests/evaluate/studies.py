"""A study, as a study writes it."""

from __future__ import annotations

from pytest_brt.evaluate.record import (
    PatchOutcome,
    Ranked,
    RankedBy,
    Reproduced,
    StudyResult,
    StudySettings,
    TestOutcome,
)
from pytest_brt.types import Verdict


def bug(name: str, *after: Verdict, strategy: str = "replay") -> Reproduced:
    tests = tuple(
        TestOutcome(
            strategy=strategy, index=0, name="t", rule="no-raise", confidence=0.5, after=verdict
        )
        for verdict in after
    )
    return Reproduced(instance=name, repo="r", tests=tests, seconds=2.0)


def ranking(name: str, *order: str) -> Ranked:
    patches = tuple(
        PatchOutcome(
            name=patch,
            system="",
            applies=True,
            right=patch == "good",
            same_as_fix=False,
            epr=None,
            score=None,
        )
        for patch in ("bad", "good")
    )
    groups = tuple((patch,) for patch in order)
    orders = (RankedBy(ranker="epr", groups=groups),)
    return Ranked(instance=name, repo="r", tests=1, patches=patches, orders=orders, seconds=1.0)


def study(*found: Reproduced | Ranked, strategy: str = "replay") -> StudyResult:
    return StudyResult(
        version="1",
        dataset="d",
        settings=StudySettings(strategies=(strategy,)),
        instances=tuple((one.instance, "r") for one in found),
        extents=("single-line",) * len(found),
        reproduced=tuple(one for one in found if isinstance(one, Reproduced)),
        ranked=tuple(one for one in found if isinstance(one, Ranked)),
    )


ONE = study(
    *(bug(name, Verdict.FAIL) for name in "abcdef"),
    bug("g", Verdict.PASS),
    bug("only-one"),
    ranking("a", "bad", "good"),
)
