"""Finds the sandbox that this machine has, before anything of a project is run."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator, Sequence
from contextlib import closing
from dataclasses import replace
from pathlib import Path

from pytest_brt.bounded import is_folder
from pytest_brt.errors import SandboxProblem, SubjectProblem, UsageProblem
from pytest_brt.execute.engine import Engine, Limits
from pytest_brt.execute.layout import code_places
from pytest_brt.execute.local import LocalEngine
from pytest_brt.execute.memory_group import can_group
from pytest_brt.execute.process import Event, hear_of_ends
from pytest_brt.execute.sandbox import (
    SAFE_LEVELS,
    Sandbox,
    can_keep_signals_in,
    drop_to,
    read_text,
    shows_too_much,
)
from pytest_brt.execute.scratch import HeldFolder
from pytest_brt.render.levels import trouble_words
from pytest_brt.types.subject import Subject
from pytest_brt.types.trouble import (
    Leak,
    Leaked,
    LevelTrouble,
    NoTrial,
    NotThere,
    OthersFiles,
    OtherSystem,
    Switch,
)

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


#: Isolation levels, strongest first.
LEVELS = (*SAFE_LEVELS, "process", "none")


def open_sandbox(
    wanted: str, *, net: str = "none", project: Path | None = None, shown: Sequence[str] = ()
) -> Sandbox:
    """Return the sandbox of the level `wanted`; "auto" is the strongest that this machine has.

    It has the network `net`: "none", or "host" for the machine's. A level is tried with our own
    interpreter on an empty folder: nothing of a project is run, so none can choose its level.
    "ns" has to show the folder `project` too, which the file system there, or the owner of the
    files, may forbid; "landlock" is the least that is taken for it then. Code in it may read the
    folders `shown` too.

    Raises:
        UsageProblem: an unknown level or network, or a folder that cannot be shown.
        SandboxProblem: the level wanted does not work; or none above "process" does, and
            the user must say that it is all right: this is not a container, or "ns" does not do
            for this project alone.
    """
    _check_names(wanted, net)
    hear_of_ends()
    return replace(_find_level(wanted, net, project), shown=tuple(map(_check_folder, shown)))


def _find_level(wanted: str, net: str, project: Path | None) -> Sandbox:
    """Return the level that is wanted, or the strongest.

    Raises:
        SandboxProblem: it cannot be had.
    """
    troubles: tuple[LevelTrouble, ...] = ()
    for level in SAFE_LEVELS:
        if wanted in ("auto", level):
            sandbox = replace(_make_sandbox(level, net), troubles=troubles)
            trouble = _find_trouble(sandbox, project)
            if trouble is None:
                return sandbox
            troubles = (*troubles, trouble)
    if wanted in SAFE_LEVELS:
        raise SandboxProblem(
            f"--brt-sandbox: {wanted!r} cannot be had here ({trouble_words(troubles)})"
        )
    return _make_sandbox(wanted, net) if wanted != "auto" else _take_process(net, troubles)


def _take_process(net: str, troubles: tuple[LevelTrouble, ...]) -> Sandbox:
    """Return the level "process", where it may be taken without the user's word.

    Raises:
        SandboxProblem: it may not.
    """
    # Where a project lies, and whose it is, is no reason to do without any isolation of files.
    is_projects = any(isinstance(trouble.why, OthersFiles | NotThere) for trouble in troubles)
    if is_projects or not in_container():
        raise SandboxProblem(
            f"no isolation of files can be had here ({trouble_words(troubles)});"
            " add --brt-sandbox process to run the tests as ordinary processes that can change"
            " your files"
        )
    return replace(_make_sandbox("process", net), troubles=troubles)


def _check_names(wanted: str, net: str) -> None:
    if wanted not in (*LEVELS, "auto"):
        known = ", ".join(("auto", *LEVELS))
        raise UsageProblem(f"--brt-sandbox: unknown level {wanted!r} (one of {known})")
    if net not in ("none", "host"):
        raise UsageProblem(f"--brt-net: unknown network {net!r} (one of none, host)")
    if sys.platform == "win32":
        raise SandboxProblem(
            "tests are run on POSIX systems only, and this is Windows"
            " (use the Windows Subsystem for Linux)"
        )


def _check_folder(shown: str) -> str:
    """Return the absolute path of a folder that is to be shown."""
    folder = os.path.normpath(Path(shown).absolute())
    if not shown or not is_folder(Path(folder)):
        raise UsageProblem(f"--brt-show: no such folder: {shown!r} (give one that exists)")
    if shows_too_much(folder):
        raise UsageProblem(
            f"--brt-show: {shown!r} holds your home, or folders that each test has of its own"
            " (give a folder in it)"
        )
    return folder


def _make_sandbox(level: str, net: str) -> Sandbox:
    """Return a level with what this machine has for it."""
    if sys.platform != "linux" or level == "none":
        return Sandbox(level=level, net=net, forks=False)
    return Sandbox(
        level=level,
        net=net,
        uid=drop_to(),
        scope=level in SAFE_LEVELS and can_keep_signals_in(),
        processes=OWN_PROCESSES if level == "ns" else MORE_PROCESSES,
    )


def _find_trouble(sandbox: Sandbox, project: Path | None) -> LevelTrouble | None:
    """Return why a level that keeps files safe cannot be had, None when it can."""
    why = _find_reason(sandbox, project)
    if why is None:
        return None
    is_off = sandbox.level == "ns" and isinstance(why, NoTrial)
    return LevelTrouble(level=sandbox.level, why=why, switch=_find_switch() if is_off else None)


def _find_reason(
    sandbox: Sandbox, project: Path | None
) -> OtherSystem | NoTrial | Leaked | OthersFiles | NotThere | None:
    if sys.platform != "linux":
        return OtherSystem(platform=sys.platform)
    if sandbox.level != "ns" or project is None or not is_folder(project):
        return _try_on_nothing(sandbox)
    # Only here the project's own folder is shown: what is mounted there, or how, may forbid it.
    found = _try_level(sandbox, project)
    if found is not None:
        return _try_on_nothing(sandbox) or NotThere(reason=found)
    return None if _can_show(project, sandbox) else OthersFiles()


def _can_show(project: Path, sandbox: Sandbox) -> bool:
    """Return whether an overlay lets rows change the project's files.

    Rows have one user and one group there: this user's, or as root those of the project's folder,
    which are shown as theirs.
    """
    seen = project.stat()
    own = (os.getuid(), os.getgid()) if sandbox.uid is None else (seen.st_uid, seen.st_gid)
    found = (project.joinpath(place).lstat() for place in code_places(project))
    return all((place.st_uid, place.st_gid) == own for place in found)


def _try_on_nothing(sandbox: Sandbox) -> NoTrial | Leaked | None:
    """Try a level with an empty folder as the project."""
    with HeldFolder("brt-trial-") as folder:
        folder.chmod(0o755)  # as root, rows are of another user
        root = folder / "project"
        root.mkdir()
        return _try_level(sandbox, root)


def _try_level(sandbox: Sandbox, root: Path) -> NoTrial | Leaked | None:
    """Return what is wrong with a level where `root` is the project; our own interpreter tries it.

    No folder of the project is on its import path, and what lies in `root` changes nothing.
    """
    subject = Subject(
        root=str(root),
        # Not that of an environment, which may lie in a project.
        python=os.path.realpath(sys.executable),
        paths=(sys.base_prefix, sys.base_exec_prefix),
    )
    try:
        with closing(LocalEngine(subject, sandbox, limits=Limits())) as engine:
            seen = engine.check()
    except (SandboxProblem, SubjectProblem) as error:
        # What the worker itself said: whose interpreter it is needs no saying here.
        return NoTrial(said=str(error.__cause__ or error))
    leak = next(_find_leaks(sandbox, seen), None)
    return None if leak is None else Leaked(leak=leak)


def _find_leaks(sandbox: Sandbox, seen: Event) -> Iterator[Leak]:
    """Yield how a level does not do what it is for."""
    if seen.outside:
        yield Leak.FILES
    if not seen.inside:
        yield Leak.COPY
    if sandbox.level != "ns":
        return
    if seen.signal:
        yield Leak.PROCESSES
    if seen.visible:
        yield Leak.TEMPORARY_FILES
    if sandbox.net == "none" and {*seen.interfaces} - {"lo"}:
        yield Leak.NETWORK


def _find_switch() -> Switch | None:
    """Return the setting by which user namespaces are off, None when none is known."""
    for path, value in _SWITCHES.items():
        if read_text(Path(path)).strip() == value:
            return Switch(path=path, value=value)
    return None


def in_container() -> bool:
    """Return whether this process runs in a container (docker, podman, kubernetes, lxc)."""
    if "container" in os.environ or any(Path(name).exists() for name in _CONTAINER_FILES):
        return True
    text = read_text(Path("/proc/1/cgroup"))
    return any(word in text for word in _CONTAINER_WORDS)


def weaknesses(engine: Engine) -> tuple[str, ...]:
    """Return why the level is not the strongest, and what is not limited as it should be."""
    if not isinstance(engine, LocalEngine):
        return ()
    troubles = trouble_words(engine.troubles)
    if troubles and engine.level == "process":
        troubles = f"inside a container; {troubles}"
    alone = engine.forks and not can_group()
    return tuple(filter(None, (troubles, "memory is limited per process only" * alone)))
