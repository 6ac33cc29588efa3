"""Tells a model what tests did: what fails newly, what fails as it did before, what is skipped."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass

from pytest_brt.oracle.judge import failure_key
from pytest_brt.types import TestRun, Verdict

#: Tests that are told in full, and that are named.
_MOST, _NAMED = 3, 12
#: Characters of an exception's message.
_MESSAGE = 1500
#: Exceptions by which tests say that they do not count here; projects have their own ones.
_NOT_RUN = re.compile(
    r"_?(?:skip|skipped|skiptest|xfail|xfailed|expectedfailure)(?:exception|error)?", re.IGNORECASE
)
_NEWLY, _ALSO = "; it did not fail before your change", "Also fail"
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

    >>> fails(TestRun(test="t", node="t", verdict=Verdict.SKIP, reason=""))
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

    Args:
        runs: what the tests did.
        names: what they are called, by their ids; else it is as pytest calls them.
        before: what the same tests did without the change; None when nothing is changed.
    """
    found = account(runs, before)
    if not (found.new or found.old):
        return _told_good(found, len(runs), names)
    if before is None:
        head = "The test fails" if len(runs) == 1 else _many_fail(found, len(runs))
    elif len(runs) == 1:
        head = "The test fails" + (", as it did before your change" if found.old else _NEWLY)
    else:
        head = _compared(found)
    lines = [f"{head}:", *_shown(found.new or found.old, names)]
    if found.new and found.old:
        lines.append(f"Fail as before: {_names(found.old, names)}")
    return "\n".join(lines)


def _told_good(found: Account, total: int, names: dict[str, str]) -> str:
    if not found.passing:
        return "The test is skipped." if total == 1 else f"All {total} tests are skipped."
    if total == 1:
        return "The test passes." + (" It failed before your change." if found.mended else "")
    all_pass = "All " if not found.skipped else ""
    text = f"{all_pass}{_count(len(found.passing), 'test passes', 'tests pass')}"
    text += f", {_are_skipped(found)}." if found.skipped else "."
    if found.mended:
        text += f" Failed before your change: {_names(found.mended, names)}."
    return text


def _many_fail(found: Account, total: int) -> str:
    text = f"{len(found.new)} of {total} tests fail"
    return f"{text}, {_are_skipped(found)}" if found.skipped else text


def _compared(found: Account) -> str:
    """Return the numbers of tests, with what failed before the change told apart."""
    parts = [_count(len(found.new), "new failure", "new failures")]
    mended = f"{len(found.mended)} of them" if len(found.passing) > 1 else "it"
    note = f" ({mended} failed before your change)" if found.mended else ""
    parts.append(_count(len(found.passing), "test passes", "tests pass") + note)
    if found.skipped:
        parts.append(_are_skipped(found))
    if found.old:
        parts.append(f"{_count(len(found.old), 'fails', 'fail')} as before your change")
    return "; ".join(parts)


def told_failing(
    runs: Sequence[TestRun], names: dict[str, str], before: Sequence[TestRun], *, passes: bool
) -> str:
    """Return what a fix made of the tests that failed because of the bug.

    Args:
        runs: what they do now.
        names: what they are called, by their ids.
        before: what they do without the fix.
        passes: whether those that must pass do.
    """
    good = [run for run in runs if run.verdict is Verdict.PASS]
    bad = [run for run in runs if run.verdict is not Verdict.PASS]
    if not bad:
        many = f"All {len(runs)} failing tests pass" if len(runs) > 1 else "The failing test passes"
        return f"{many} now."
    if not good:
        head = "The test fails" if len(runs) == 1 else f"{len(bad)} of {len(runs)} tests fail"
        return "\n".join([f"{head}:", *_shown(bad, names)])
    head = f"{len(good)} of {len(runs)} failing tests {'passes' if len(good) == 1 else 'pass'} now"
    known = {(run.test, failure_key(run)) for run in before}
    same = all((run.test, failure_key(run)) in known for run in bad)
    way = "as before" if same else "in another way than before"
    other = f"The other fails {way}" if len(bad) == 1 else f"The other {len(bad)} fail {way}"
    doubt = ", and may demand something wrong" if passes else ""
    lines = [f"{head}: {_names(good, names)}.", f"{other}{doubt}:", *_shown(bad, names)]
    return "\n".join(lines)


def _shown(runs: Sequence[TestRun], names: dict[str, str]) -> list[str]:
    """Return how the first of some tests fail, and the names of the others."""
    shown = [told_run(run, _name(run, names)) for run in runs[:_MOST]]
    return [*shown, f"{_ALSO}: {_names(runs[_MOST:], names)}"] if runs[_MOST:] else shown


def told_run(run: TestRun, name: str) -> str:
    """Return what a test did: its exception, and the project's own frames."""
    if run.raised is None:
        return f"{name}: {run.verdict}: {run.reason}"
    message = run.raised.message[:_MESSAGE]
    lines = [f"{name}: {run.raised.type}: {message}"]
    # Those of the project and its tests; those of others say little.
    frames = [frame for frame in run.raised.frames if not frame.path.startswith(("/", "<"))]
    if frames:
        lines.append("  through " + " → ".join(f"{f.path}:{f.line} {f.function}" for f in frames))
    return "\n".join(lines)


def _key(run: TestRun) -> tuple[str, str]:
    return run.test, run.node


def _name(run: TestRun, names: dict[str, str]) -> str:
    return names.get(run.test) or run.node or "its file cannot be collected"


def _names(runs: Sequence[TestRun], names: dict[str, str]) -> str:
    shown = ", ".join(_name(run, names) for run in runs[:_NAMED])
    return f"{shown} and {len(runs) - _NAMED} more" if len(runs) > _NAMED else shown


def _are_skipped(found: Account) -> str:
    return _count(len(found.skipped), "is skipped", "are skipped")


def _count(number: int, one: str, many: str) -> str:
    return f"{number} {one if number == 1 else many}"
