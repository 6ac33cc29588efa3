"""Chooses how code of the subject is run, and says so."""

from __future__ import annotations

import os
import sys
from pathlib import Path

from pytest_brt.errors import SandboxProblem, SubjectProblem, UsageProblem
from pytest_brt.execute.engine import Engine, Limits
from pytest_brt.execute.local import LocalEngine
from pytest_brt.execute.sandbox import Sandbox, can_group, can_keep_signals_in, drop_to
from pytest_brt.types.subject import Subject

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


#: Isolation levels, strongest first; those that keep files safe come before the others.
LEVELS = ("ns", "landlock", "process", "none")
_SAFE = LEVELS[:2]


def open_engine(
    subject: Subject, *, sandbox: str = "auto", net: str = "none", limits: Limits, jobs: int = 1
) -> LocalEngine:
    """Return an engine that runs code of `subject`; close it when done.

    It is of the level `sandbox`, where "auto" is the strongest that can be had, with the network
    `net`: "none", or "host" for the machine's. As many as `jobs` rows run at a time.

    Raises:
        UsageProblem: an unknown level or network.
        SandboxProblem: the level wanted does not work; or none above "process" does, and
            this is not a container, so that the user must say that it is all right.
        SubjectProblem: the subject's interpreter cannot be started at any level.
    """
    if sandbox not in (*LEVELS, "auto"):
        known = ", ".join(("auto", *LEVELS))
        raise UsageProblem(f"--brt-sandbox: unknown level {sandbox!r} (one of {known})")
    if net not in ("none", "host"):
        raise UsageProblem(f"--brt-net: unknown network {net!r} (one of none, host)")
    if sys.platform == "win32":
        raise SandboxProblem(
            "tests are run on POSIX systems only, and this is Windows"
            " (use the Windows Subsystem for Linux)"
        )

    def engine(level: str, remark: str) -> LocalEngine:
        chosen = _sandbox(level, net)
        return LocalEngine(subject, chosen, limits=limits, jobs=jobs, remark=remark)

    troubles: list[str] = []
    for level in _SAFE:
        if sandbox in ("auto", level):
            try:
                return _tried(engine(level, "; ".join(troubles)), net)
            except (SandboxProblem, SubjectProblem) as error:
                troubles.append(f"no {level}: {_reason(error, subject)}")
    why = "; ".join(troubles)
    if sandbox in _SAFE:
        raise SandboxProblem(f"--brt-sandbox: {sandbox!r} cannot be had here ({why})")
    if sandbox != "auto":
        return engine(sandbox, "")
    if not in_container():
        raise SandboxProblem(
            f"no isolation of files can be had here ({why}); add --brt-sandbox process to run"
            " the tests as ordinary processes that can change your files"
        )
    return engine("process", f"inside a container; {why}")


def _sandbox(level: str, net: str) -> Sandbox:
    """Return a level with what this machine has for it; SandboxProblem where it is another's."""
    if sys.platform != "linux" and level in _SAFE:
        raise SandboxProblem(f"needs Linux, and this is {sys.platform}")
    if sys.platform != "linux" or level == "none":
        return Sandbox(level=level, forks=False)
    return Sandbox(
        level=level,
        net=net,
        uid=drop_to(),
        scope=level in _SAFE and can_keep_signals_in(),
        processes=OWN_PROCESSES if level == "ns" else MORE_PROCESSES,
    )


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


def _tried(engine: LocalEngine, net: str) -> LocalEngine:
    """Return an engine that has shown to keep code in; one that does not is closed."""
    try:
        seen = engine.check()
        faults = [
            ("files outside can be written", seen.outside),
            ("the project's copy cannot be written", not seen.inside),
        ]
        if engine.level == "ns":
            network = net == "none" and bool({*seen.interfaces} - {"lo"})
            faults += [
                ("processes outside can be signalled", seen.signal),
                ("the folder for temporary files is not private", bool(seen.visible)),
                ("the network can be seen", network),
            ]
        for what, is_so in faults:
            if is_so:
                raise SandboxProblem(what)
    except BaseException:
        engine.close()
        raise
    return engine


def in_container() -> bool:
    """Return whether this process runs in a container (docker, podman, kubernetes, lxc)."""
    if "container" in os.environ or any(Path(name).exists() for name in _CONTAINER_FILES):
        return True
    text = _text("/proc/1/cgroup")
    return any(word in text for word in _CONTAINER_WORDS)


def weaknesses(engine: Engine) -> tuple[str, ...]:
    """Return why the level is not the strongest, and what is not limited as it should be."""
    if not isinstance(engine, LocalEngine):
        return ()
    alone = engine.forks and not can_group()
    return tuple(filter(None, (engine.remark, "memory is limited per process only" * alone)))
