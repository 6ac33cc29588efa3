"""Tells a model what tests did: what fails newly, what fails as it did before, what is skipped."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from types import MappingProxyType

from pytest_brt.agent.excerpt import without_repeats
from pytest_brt.render.causes import run_words
from pytest_brt.types import Raised, TestRun, Verdict

#: Tests that are told in full, and that are named.
_MOST, _NAMED = 3, 12
#: Lines and characters of an exception's message, frames, and lines of output that are shown.
_MESSAGE, _CHARACTERS, _FRAMES, _OUTPUT = 30, 1500, 6, 40
#: Exceptions by which tests say that they do not count here; projects have their own ones.
_NOT_RUN = re.compile(
    r"_?(?:skip|skipped|skiptest|xfail|xfailed|expectedfailure)(?:exception|error)?", re.IGNORECASE
)
_BAD = frozenset(Verdict) - {Verdict.PASS, Verdict.SKIP, Verdict.XFAIL}
#: Of several tests the worst verdict counts.
_WORST_FIRST = (Verdict.FAIL, Verdict.CRASH, Verdict.TIMEOUT, Verdict.BROKEN, Verdict.PASS)
#: What tests are called, by their ids.
Names = Mapping[str, str]
_NO_NAMES: Names = MappingProxyType({})


@dataclass(frozen=True, slots=True, kw_only=True)
class Outcomes:
    """What tests did, sorted."""

    passing: tuple[TestRun, ...]
    skipped: tuple[TestRun, ...]
    #: Those that fail, but did not before; all that fail when nothing is known of before.
    newly_failing: tuple[TestRun, ...]
    still_failing: tuple[TestRun, ...]
    #: Those of the passing ones that failed before.
    mended: tuple[TestRun, ...]

    @property
    def verdict(self) -> Verdict:
        """What they did as a whole: the first new failure says it, then an old one."""
        bad = (*self.newly_failing, *self.still_failing)
        if bad:
            return bad[0].verdict
        if self.passing:
            return Verdict.PASS
        return Verdict.SKIP if self.skipped else Verdict.INVALID


def sort_runs(runs: Sequence[TestRun], before: Sequence[TestRun] | None = None) -> Outcomes:
    """Sort what tests did; `before` is what they did without the change, where that is known."""
    failed = {_key(run) for run in before or () if fails(run)}
    bad = [run for run in runs if fails(run)]
    passing = tuple(run for run in runs if run.verdict is Verdict.PASS)
    return Outcomes(
        passing=passing,
        skipped=tuple(run for run in runs if not fails(run) and run.verdict is not Verdict.PASS),
        newly_failing=tuple(run for run in bad if _key(run) not in failed),
        still_failing=tuple(run for run in bad if _key(run) in failed),
        mended=tuple(run for run in passing if _key(run) in failed),
    )


def fails(run: TestRun) -> bool:
    """Return whether a test fails; one that skips itself by an exception of the project does not.

    >>> from pytest_brt.types.cause import Skipped
    >>> fails(TestRun(test="t", node="t", verdict=Verdict.SKIP, cause=Skipped(said="")))
    False
    """
    if run.verdict not in _BAD:
        return False
    types = (run.raised.type, *run.raised.bases) if run.raised else ()
    return not any(_NOT_RUN.fullmatch(name.rpartition(".")[2]) for name in types)


def worst_verdict(runs: Sequence[TestRun]) -> Verdict:
    """Return the verdict that counts of several tests."""
    found = {run.verdict for run in runs}
    return next((verdict for verdict in _WORST_FIRST if verdict in found), runs[0].verdict)


def tell_runs(
    runs: Sequence[TestRun], names: Names = _NO_NAMES, before: Sequence[TestRun] | None = None
) -> str:
    """Return what tests did, for a model: how many fail, and how the first ones do.

    They are called by their `names`, by id, else as pytest calls them. `before` is what they did
    without the change; None when nothing is changed.
    """
    found = sort_runs(runs, before)
    head = _tell_one(found, before) if len(runs) == 1 else _counted(found, len(runs), before)
    bad = found.newly_failing or found.still_failing
    if not bad:
        return f"{head}."
    lines = [f"{head}:", *(describe_run(run, _name(run, names)) for run in bad[:_MOST])]
    if bad[_MOST:]:
        lines.append(f"Also fail: {_names(bad[_MOST:], names)}")
    if found.newly_failing and found.still_failing:
        lines.append(f"Fail as before: {_names(found.still_failing, names)}")
    return "\n".join(lines)


def _tell_one(found: Outcomes, before: Sequence[TestRun] | None) -> str:
    if found.passing:
        return "The test passes" + ("; it failed before your change" if found.mended else "")
    if found.skipped:
        return "The test is skipped"
    if before is None:
        return "The test fails"
    if found.still_failing:
        return "The test fails, as it did before your change"
    return "The test fails; it did not fail before your change"


def _counted(found: Outcomes, total: int, before: Sequence[TestRun] | None) -> str:
    """Return how many of several tests did what, with what failed before the change told apart."""
    newly = "" if before is None else "newly "
    mended = f"{len(found.mended)} of them" if len(found.passing) > 1 else "it"
    mended = f" ({mended} failed before your change)" if found.mended else ""
    parts = (
        (found.newly_failing, f"{newly}fails", f"{newly}fail"),
        (found.passing, f"passes{mended}", f"pass{mended}"),
        (found.skipped, "is skipped", "are skipped"),
        (found.still_failing, "fails as before your change", "fail as before your change"),
    )
    told = (
        f"{'all' if len(some) == total else len(some)} {one if len(some) == 1 else many}"
        for some, one, many in parts
        if some
    )
    return f"{total} tests: {', '.join(told)}"


def describe_run(run: TestRun, name: str) -> str:
    """Return what a test did: its exception with the project's own frames, and what it printed."""
    if run.raised is None:
        said = "" if run.verdict is Verdict.PASS else f": {plain(run_words(run))}"
        lines = [f"{name}: {run.verdict}{said}"]
    else:
        lines = [f"{name}: {run.verdict}", *_raised(run.raised)]
    output = without_repeats(printed(run.output), numbers=False).split("\n")
    if run.verdict is not Verdict.PASS and output != [""]:
        left = len(output) - _OUTPUT
        lines.append("It printed:" if left <= 0 else f"It printed (the last {_OUTPUT} lines):")
        lines += output[-_OUTPUT:]
    return "\n".join(lines)


def _raised(raised: Raised) -> list[str]:
    name = raised.type.removeprefix("builtins.")
    message = told_message(raised.message[:_CHARACTERS]).split("\n")
    lines = [f"{name}: {message[0]}", *message[1:_MESSAGE]]
    # Frames of libraries, which have absolute paths, say nothing that could be changed.
    near = [frame for frame in raised.frames if not frame.path.startswith(("/", "<"))]
    return lines + [f"  at {f.path}:{f.line} in {f.function}" for f in near[-_FRAMES:]]


#: pytest's remarks on where a function or a class comes from that an assertion uses.
_WHERE = re.compile(
    r"^\s*\+\s+(?:where|and)\s+<(?:function|built-in|bound method|method|class|module)\b.*\n?",
    re.MULTILINE,
)
#: Where an object is in memory, which differs in every run.
_ADDRESS = re.compile(r"\b0x[0-9a-f]{4,}\b")


def told_message(message: str) -> str:
    r"""Return the message of an exception without what says nothing, the same for equal runs.

    >>> told_message("assert 2 == 3\n +  where 2 = f(1)\n +    where <function f at 0x7f1c> = m.f")
    'assert 2 == 3\n +  where 2 = f(1)'
    >>> told_message("no <Thing object at 0x7f1c2d>")
    'no <Thing object at 0x…>'
    """
    return _ADDRESS.sub("0x…", _WHERE.sub("", plain(message))).strip("\n")


#: What shows that an output is that of pytest, and what the test printed in it.
_REPORT = re.compile(r"^=+ (?:FAILURES|ERRORS|short test summary info) =+$", re.MULTILINE)
_CAPTURED = re.compile(
    r"^-+ Captured std\w+ \w+ -+\n(.*?)(?=^[-=_]{4,}|\Z)", re.DOTALL | re.MULTILINE
)
#: pytest's list of warnings, up to its next heading.
_WARNINGS = re.compile(r"^=+ warnings summary.*?=+$.*?(?=^=+ .*=+$|\Z)", re.DOTALL | re.MULTILINE)
#: Colours and cursor movements of terminals.
_ESCAPES = re.compile(r"\x1b(?:\[[0-?]*[ -/]*[@-~]|\][^\x07\x1b]*(?:\x07|\x1b\\)|[@-Z\\^_])")


def printed(output: str) -> str:
    r"""Return what a test itself printed; pytest's own report of it says nothing new.

    >>> printed("F      [100%]\n=== FAILURES ===\n---- Captured stdout call ----\nhello\n====")
    'hello'
    """
    output = _WARNINGS.sub("", plain(output))
    if not _REPORT.search(output):
        return output.strip("\n")
    return "\n".join(part.strip("\n") for part in _CAPTURED.findall(output))


def plain(text: str) -> str:
    r"""Return `text` without colours and other orders to a terminal.

    >>> plain("\x1b[01mdone\x1b[39;49;00m")
    'done'
    """
    return _ESCAPES.sub("", text)


def _key(run: TestRun) -> tuple[str, str]:
    return run.test, run.node


def _name(run: TestRun, names: Names) -> str:
    return names.get(run.test) or run.node or "its file cannot be collected"


def _names(runs: Sequence[TestRun], names: Names) -> str:
    shown = ", ".join(_name(run, names) for run in runs[:_NAMED])
    return f"{shown} and {len(runs) - _NAMED} more" if len(runs) > _NAMED else shown
