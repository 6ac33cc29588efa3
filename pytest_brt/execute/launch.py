"""Chooses how code of the subject is run, and says so."""

from __future__ import annotations

from pytest_brt.errors import UsageProblem
from pytest_brt.execute.cgroup import can_group
from pytest_brt.execute.engine import Engine
from pytest_brt.execute.forked import ForkEngine
from pytest_brt.execute.ladder import climb
from pytest_brt.execute.plain import PlainEngine
from pytest_brt.execute.row import Limits
from pytest_brt.execute.subject import Subject

#: Isolation levels, strongest first.
LEVELS = ("ns", "landlock", "process", "none")


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
        SubjectProblem: the subject's interpreter cannot be started.
    """
    if sandbox not in (*LEVELS, "auto"):
        known = ", ".join(("auto", *LEVELS))
        raise UsageProblem(f"--brt-sandbox: unknown level {sandbox!r} (one of {known})")
    if net not in ("none", "host"):
        raise UsageProblem(f"--brt-net: unknown network {net!r} (one of none, host)")
    return climb(subject, sandbox=sandbox, net=net, limits=limits, jobs=jobs)


def weaknesses(engine: Engine) -> tuple[str, ...]:
    """Return why the level is not the strongest, and what is not limited as it should be."""
    remark = engine.remark if isinstance(engine, ForkEngine | PlainEngine) else ""
    alone = isinstance(engine, ForkEngine) and not can_group()
    return tuple(filter(None, (remark, "memory is limited per process only" if alone else "")))
