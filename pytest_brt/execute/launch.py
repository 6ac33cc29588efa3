"""Chooses how code of the subject is run, and says so."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable
from pathlib import Path

from pytest_brt.errors import SandboxProblem, SubjectProblem, UsageProblem
from pytest_brt.execute.cgroup import can_group
from pytest_brt.execute.engine import Engine
from pytest_brt.execute.events import Event
from pytest_brt.execute.local import LocalEngine
from pytest_brt.execute.row import Limits
from pytest_brt.execute.sandbox import Sandbox, can_keep_signals_in, drop_to
from pytest_brt.execute.subject import Subject

#: Processes of one test, in a user namespace of its own.
OWN_PROCESSES = 256
#: Processes of one test, on top of what its user runs already.
MORE_PROCESSES = 128

#: What marks a container, as the runtimes themselves document it.
_CONTAINER_FILES = ("/.dockerenv", "/run/.containerenv")
#: Settings of the kernel, and the value at which an ordinary user has no namespaces.
_SWITCHES = {
    "/proc/sys/user/max_user_namespaces": "0",
    "/proc/sys/kernel/unprivileged_userns_clone": "0",
    "/proc/sys/kernel/apparmor_restrict_unprivileged_userns": "1",
}
_CONTAINER_WORDS = ("docker", "kubepods", "containerd", "libpod", "/lxc/")


def climb(subject: Subject, *, sandbox: str, net: str, limits: Limits, jobs: int) -> LocalEngine:
    """Return an engine at the level wanted, or at the strongest that works here.

    Raises:
        SandboxProblem: the level wanted does not work; or none above "process" does, and
            this is not a container, so that the user must say that it is all right.
        SubjectProblem: the subject's interpreter cannot be started at any level.
    """
    if sandbox in ("process", "none"):
        return _low(subject, sandbox, net, limits, jobs, remark="")
    troubles: list[str] = []
    for level in ("ns", "landlock"):
        if sandbox not in ("auto", level):
            continue
        try:
            return _try(subject, level, net, limits, jobs, remark="; ".join(troubles))
        except (SandboxProblem, SubjectProblem) as error:
            troubles.append(f"no {level}: {_reason(error, subject)}")
    why = "; ".join(troubles)
    if sandbox != "auto":
        raise SandboxProblem(f"--brt-sandbox: {sandbox!r} cannot be had here ({why})")
    if not in_container():
        raise SandboxProblem(
            f"no isolation of files can be had here ({why}); add --brt-sandbox process to run"
            " the tests as ordinary processes that can change your files"
        )
    return _low(subject, "process", net, limits, jobs, remark=f"inside a container; {why}")


def _low(
    subject: Subject, level: str, net: str, limits: Limits, jobs: int, *, remark: str
) -> LocalEngine:
    if sys.platform == "win32":
        raise SandboxProblem(
            "tests are run on POSIX systems only, and this is Windows"
            " (use the Windows Subsystem for Linux)"
        )
    if level == "none" or sys.platform != "linux":
        sandbox = Sandbox(level=level, forks=False)
    else:
        sandbox = Sandbox(level=level, net=net, uid=drop_to(), processes=MORE_PROCESSES)
    return LocalEngine(subject, sandbox, limits=limits, jobs=jobs, remark=remark)


def _reason(error: Exception, subject: Subject) -> str:
    """Return why a level cannot be had, with the likely cause where one is known."""
    for path, value in _SWITCHES.items():
        if _text(path).strip() == value:
            return f"{error} (user namespaces are off: {path} is {value})"
    if hasattr(os, "getgid") and Path(subject.root).stat().st_gid != os.getgid() != 0:
        return f"{error} (the project's files are of another group than yours)"
    return str(error)


def _text(path: str) -> str:
    try:
        return Path(path).read_text(encoding="ascii", errors="replace")
    except OSError:
        return ""


def _try(
    subject: Subject, level: str, net: str, limits: Limits, jobs: int, *, remark: str
) -> LocalEngine:
    """Return an engine that has shown to keep code in.

    Raises:
        SandboxProblem, SubjectProblem: it does not.
    """
    if sys.platform != "linux":
        raise SandboxProblem(f"needs Linux, and this is {sys.platform}")
    scope = can_keep_signals_in()
    processes = OWN_PROCESSES if level == "ns" else MORE_PROCESSES
    sandbox = Sandbox(level=level, net=net, uid=drop_to(), scope=scope, processes=processes)
    engine = LocalEngine(subject, sandbox, limits=limits, jobs=jobs, remark=remark)
    try:
        _judge(engine.check(), _RULES[level], net)
    except BaseException:
        engine.close()
        raise
    return engine


_Rule = tuple[str, Callable[[Event], bool]]
_RULES: dict[str, tuple[_Rule, ...]] = {
    "ns": (
        ("files outside can be written", lambda seen: seen.outside),
        ("the project's copy cannot be written", lambda seen: not seen.inside),
        ("processes outside can be signalled", lambda seen: seen.signal),
        ("the folder for temporary files is not private", lambda seen: bool(seen.visible)),
    ),
    "landlock": (
        ("files outside can be written", lambda seen: seen.outside),
        ("the project's copy cannot be written", lambda seen: not seen.inside),
    ),
}


def _judge(seen: Event, rules: tuple[_Rule, ...], net: str) -> None:
    for what, is_so in rules:
        if is_so(seen):
            raise SandboxProblem(what)
    if rules is _RULES["ns"] and net == "none" and set(seen.interfaces) - {"lo"}:
        raise SandboxProblem("the network can be seen")


def in_container() -> bool:
    """Return whether this process runs in a container (docker, podman, kubernetes, lxc)."""
    if "container" in os.environ or any(Path(name).exists() for name in _CONTAINER_FILES):
        return True
    groups = Path("/proc/1/cgroup")
    try:
        text = groups.read_text(encoding="utf-8", errors="replace")
    except OSError:
        return False
    return any(word in text for word in _CONTAINER_WORDS)


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
    if not isinstance(engine, LocalEngine):
        return ()
    alone = engine.forks and not can_group()
    return tuple(filter(None, (engine.remark, "memory is limited per process only" * alone)))
