"""Tells a model what tests did: how many fail, and how the first ones do."""

from __future__ import annotations

import re
from collections.abc import Sequence

from pytest_brt.agents.prompts import cut
from pytest_brt.render.causes import run_words
from pytest_brt.types import TestRun, Verdict

#: Tests that are told in full, and that are named; characters of a message and of an output.
_MOST, _NAMED, _TEXT, _FRAMES = 3, 12, 1500, 6
#: What of a message differs from run to run, or says nothing: pytest's remarks on where functions
#: come from, addresses, colours.
_NOISE = re.compile(
    r"^\s*\+\s+(?:where|and)\s+<(?:function|built-in|bound method|method|class|module)\b.*\n?"
    r"|\x1b\[[0-?]*[ -/]*[@-~]|(?<= at) 0x[0-9a-f]{4,}",
    re.MULTILINE,
)


def failures(runs: Sequence[TestRun]) -> list[TestRun]:
    """Return the runs of tests that neither pass nor are skipped."""
    fine = (Verdict.PASS, Verdict.SKIP, Verdict.XFAIL)
    return [run for run in runs if run.verdict not in fine]


def clean(message: str) -> str:
    r"""Return the message of an exception without what says nothing, the same for equal runs.

    >>> clean("assert 2 == 3\n +  where 2 = f(1)\n +    where <function f at 0x7f1c> = m.f")
    'assert 2 == 3\n +  where 2 = f(1)'
    """
    return _NOISE.sub("", message).strip("\n")


def describe_runs(runs: Sequence[TestRun]) -> str:
    """Return what tests did."""
    bad = failures(runs)
    good = sum(run.verdict is Verdict.PASS for run in runs)
    lines = [f"{len(runs)} test{'s' if len(runs) != 1 else ''}: {len(bad)} fail, {good} pass"]
    lines += map(_describe_run, bad[:_MOST])
    if bad[_MOST:]:
        lines.append(f"Also fail: {', '.join(map(_name, bad[_MOST : _MOST + _NAMED]))}")
    return "\n".join(lines)


def _name(run: TestRun) -> str:
    return run.node or "its file cannot be collected"


def _describe_run(run: TestRun) -> str:
    """Return how a test fails: its exception with the project's frames, and what it printed."""
    if run.raised is None:
        lines = [f"{_name(run)}: {run.verdict}: {clean(run_words(run))}"]
    else:
        kind = run.raised.type.removeprefix("builtins.")
        lines = [f"{_name(run)}: {run.verdict}", f"{kind}: {clean(run.raised.message[:_TEXT])}"]
        # Frames of libraries, which have absolute paths, say nothing that could be changed.
        near = [frame for frame in run.raised.frames if not frame.path.startswith(("/", "<"))]
        lines += [f"  at {one.path}:{one.line} in {one.function}" for one in near[-_FRAMES:]]
    if printed := clean(run.output).strip():
        lines.append(f"It printed:\n{cut(printed, _TEXT)}")
    return "\n".join(lines)
