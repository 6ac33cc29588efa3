"""Chooses how code of the subject is run, and says so."""

from __future__ import annotations

from pytest_brt.errors import UsageProblem
from pytest_brt.execute.engine import Engine
from pytest_brt.execute.plain import PlainEngine
from pytest_brt.execute.row import Limits
from pytest_brt.execute.subject import Subject

#: Isolation levels, strongest first.
LEVELS = ("ns", "landlock", "process", "none")

_WORDS = {
    "ns": "namespaces: private file system, processes and network",
    "landlock": "landlock: files outside are read-only",
    "process": "process: own process, private copy of the tree, limits; other files can be written",
    "none": "none: own process and private copy of the tree, no limits but time",
}


def open_engine(
    subject: Subject,
    *,
    sandbox: str = "auto",
    net: str = "none",
    limits: Limits,
    jobs: int = 1,
) -> Engine:
    """Return an engine that runs code of `subject`; close it when done.

    Args:
        subject: the project under test.
        sandbox: the level wanted, or "auto" for the strongest that can be had.
        net: "none", or "host" for the machine's network.
        limits: what one test may use up.
        jobs: rows that may run at a time.

    Raises:
        UsageProblem: an unknown level or network.
        SandboxProblem: the level that was asked for cannot be had here.
    """
    if sandbox not in (*LEVELS, "auto"):
        raise UsageProblem(
            f"--brt-sandbox: unknown level {sandbox!r} (one of auto, {', '.join(LEVELS)})"
        )
    if net not in ("none", "host"):
        raise UsageProblem(f"--brt-net: unknown network {net!r} (one of none, host)")
    level = "none" if sandbox == "none" else "process"
    return PlainEngine(subject, level=level, limits=limits, jobs=jobs)


def describe_level(engine: Engine) -> str:
    """Return one line for the header: the isolation level and what it means."""
    return _WORDS[engine.level]
