"""Tells a model what tests did: how many fail, and how the first ones do."""

from __future__ import annotations

import re
from collections.abc import Sequence

from pytest_brt.agents.prompts import render
from pytest_brt.render.words import run_words
from pytest_brt.types import TestRun, Verdict

#: Tests that are told in full, and frames of each.
_MOST, _FRAMES = 3, 6
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
    """Return what tests did: how many fail, and how the first ones do.

    Frames of libraries, which have absolute paths, are left out: nobody could change them.
    """
    bad, told = failures(runs), []
    for run in bad[:_MOST]:
        frames = run.raised.frames if run.raised else ()
        near = [frame for frame in frames if not frame.path.startswith(("/", "<"))]
        told.append((run, near[-_FRAMES:]))
    return render("runs", runs=runs, bad=bad, told=told, clean=clean, why=run_words)
