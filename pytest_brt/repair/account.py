"""Tells a model what tests did: what fails newly, what fails as it did before, what is skipped."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass

from pytest_brt.render.causes import run_words
from pytest_brt.types import TestRun, Verdict

#: Tests that are told in full, and that are named.
_MOST, _NAMED = 3, 12
#: Characters of an exception's message.
_MESSAGE = 1500
#: Exceptions by which tests say that they do not count here; projects have their own ones.
_NOT_RUN = re.compile(
    r"_?(?:skip|skipped|skiptest|xfail|xfailed|expectedfailure)(?:exception|error)?", re.IGNORECASE
)
_BAD = frozenset(Verdict) - {Verdict.PASS, Verdict.SKIP, Verdict.XFAIL}


@dataclass(frozen=True, slots=True, kw_only=True)
class Account:
    """What tests did, sorted."""

    passing: tuple[TestRun, ...]
    skipped: tuple[TestRun, ...]
    #: Those that fail, but did not before; all that fail when nothing is known of before.
    new: tuple[TestRun, ...]
    #: Those that failed before too.
    old: tuple[TestRun, ...]
    #: Those of the passing ones that failed before.
    mended: tuple[TestRun, ...]

    @property
    def verdict(self) -> Verdict:
        """What they did as a whole: the first new failure says it, then an old one."""
        bad = (*self.new, *self.old)
        if bad:
            return bad[0].verdict
        if self.passing:
            return Verdict.PASS
        return Verdict.SKIP if self.skipped else Verdict.INVALID


def account(runs: Sequence[TestRun], before: Sequence[TestRun] | None = None) -> Account:
    """Sort what tests did; `before` is what they did without the change, where that is known."""
    failed = {_key(run) for run in before or () if fails(run)}
    bad = [run for run in runs if fails(run)]
    passing = tuple(run for run in runs if run.verdict is Verdict.PASS)
    return Account(
        passing=passing,
        skipped=tuple(run for run in runs if not fails(run) and run.verdict is not Verdict.PASS),
        new=tuple(run for run in bad if _key(run) not in failed),
        old=tuple(run for run in bad if _key(run) in failed),
        mended=tuple(run for run in passing if _key(run) in failed),
    )


def fails(run: TestRun) -> bool:
    """Say whether a test fails; one that skips itself by an exception of the project does not.

    >>> from pytest_brt.types.cause import Skipped
    >>> fails(TestRun(test="t", node="t", verdict=Verdict.SKIP, cause=Skipped(said="")))
    False
    """
    if run.verdict not in _BAD:
        return False
    types = (run.raised.type, *run.raised.bases) if run.raised else ()
    return not any(_NOT_RUN.fullmatch(name.rpartition(".")[2]) for name in types)


def told_runs(
    runs: Sequence[TestRun], names: dict[str, str], before: Sequence[TestRun] | None = None
) -> str:
    """Return what tests did, for a model: how many fail, and how the first ones do.

    They are called by their `names`, by id, else as pytest calls them. `before` is what they did
    without the change; None when nothing is changed.
    """
    found = account(runs, before)
    head = _told_one(found, before) if len(runs) == 1 else _counted(found, len(runs), before)
    bad = found.new or found.old
    if not bad:
        return f"{head}."
    lines = [f"{head}:", *(_told_run(run, _name(run, names)) for run in bad[:_MOST])]
    if bad[_MOST:]:
        lines.append(f"Also fail: {_names(bad[_MOST:], names)}")
    if found.new and found.old:
        lines.append(f"Fail as before: {_names(found.old, names)}")
    return "\n".join(lines)


def _told_one(found: Account, before: Sequence[TestRun] | None) -> str:
    if found.passing:
        return "The test passes" + ("; it failed before your change" if found.mended else "")
    if found.skipped:
        return "The test is skipped"
    if before is None:
        return "The test fails"
    as_before = ", as it did before your change"
    return "The test fails" + (as_before if found.old else "; it did not fail before your change")


def _counted(found: Account, total: int, before: Sequence[TestRun] | None) -> str:
    """Return how many of several tests did what, with what failed before the change told apart."""
    newly = "" if before is None else "newly "
    mended = f"{len(found.mended)} of them" if len(found.passing) > 1 else "it"
    mended = f" ({mended} failed before your change)" if found.mended else ""
    parts = (
        (found.new, f"{newly}fails", f"{newly}fail"),
        (found.passing, f"passes{mended}", f"pass{mended}"),
        (found.skipped, "is skipped", "are skipped"),
        (found.old, "fails as before your change", "fail as before your change"),
    )
    told = (
        f"{'all' if len(some) == total else len(some)} {one if len(some) == 1 else many}"
        for some, one, many in parts
        if some
    )
    return f"{total} tests: {', '.join(told)}"


def _told_run(run: TestRun, name: str) -> str:
    """Return what a test did: its exception, and the project's own frames."""
    if run.raised is None:
        return f"{name}: {run.verdict}: {run_words(run)}"
    told = f"{name}: {run.raised.type}: {run.raised.message[:_MESSAGE]}"
    # Those of the project and its tests; those of others say little.
    frames = [frame for frame in run.raised.frames if not frame.path.startswith(("/", "<"))]
    through = " → ".join(f"{f.path}:{f.line} {f.function}" for f in frames)
    return f"{told}\n  through {through}" if through else told


def _key(run: TestRun) -> tuple[str, str]:
    return run.test, run.node


def _name(run: TestRun, names: dict[str, str]) -> str:
    return names.get(run.test) or run.node or "its file cannot be collected"


def _names(runs: Sequence[TestRun], names: dict[str, str]) -> str:
    shown = ", ".join(_name(run, names) for run in runs[:_NAMED])
    return f"{shown} and {len(runs) - _NAMED} more" if len(runs) > _NAMED else shown
