"""The sandbox that this machine has, found before anything of a project runs."""

from __future__ import annotations

import os
import shutil
import sys
import tempfile
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

from pytest_brt.errors import SandboxProblem, UsageProblem
from pytest_brt.sandbox.process import Deadlines, run_process
from pytest_brt.sandbox.sandbox import Isolation, Sandbox
from pytest_brt.sandbox.shown import SYSTEM, check_folder
from pytest_brt.sandbox.view import View
from pytest_brt.sandbox.workspace import name_full_disk

#: The first version of Landlock that keeps signals in.
_KEEPS_SIGNALS = 6
#: Seconds within which a small program must have run.
_PATIENCE = 20.0


def open_sandbox(wanted: str, *, net: str = "none", shown: Sequence[str] = ()) -> Sandbox:
    """Return the sandbox called `wanted`; "auto" is the strongest that this machine has.

    It has the network `net`: "none", or "host" for the machine's. Each is tried with a small
    program of the system: nothing of a project can choose it.

    Raises:
        UsageProblem: an unknown sandbox or network, or a folder that cannot be shown.
        SandboxProblem: it does not work here; or none does, and the user has to say that tests
            may run without.
    """
    if wanted not in ("auto", *Isolation):
        known = ", ".join(("auto", *Isolation))
        raise UsageProblem(f"--brt-sandbox: unknown sandbox {wanted!r} (one of {known})")
    if net not in ("none", "host"):
        raise UsageProblem(f"--brt-net: unknown network {net!r} (one of none, host)")
    folders = tuple(map(check_folder, shown))
    sandbox = Sandbox(isolation=Isolation.NONE, network=net == "host", shown=folders)
    if sys.platform != "linux":
        raise SandboxProblem(f"tests are run on Linux only, and this is {sys.platform}")
    if wanted == Isolation.NONE:
        return replace(sandbox, remarks=("tests can read and change all that you can",))
    remarks: list[str] = []
    for isolation in (Isolation.BUBBLEWRAP, Isolation.LANDLOCK):
        if wanted in ("auto", isolation):
            opened = replace(sandbox, isolation=isolation)
            why_not = _lacks(opened) or _try(opened)
            if not why_not:
                return replace(opened, remarks=(*remarks, *_limitations(opened)))
            remarks.append(f"no {isolation}: {why_not}")
    raise SandboxProblem(
        f"--brt-sandbox: tests cannot be isolated here ({'; '.join(remarks)}); install bubblewrap,"
        " or add --brt-sandbox none to run them as processes that can change your files"
    )


def _lacks(sandbox: Sandbox) -> str:
    """Return what a sandbox lacks here, "" for nothing."""
    if sandbox.has_own_root:
        return "" if shutil.which("bwrap") else "bubblewrap is not installed"
    return "" if sandbox.filter else f"no list of system calls for {os.uname().machine}"


def _limitations(sandbox: Sandbox) -> tuple[str, ...]:
    from landlockpy import abi_version  # on Linux alone

    if sandbox.has_own_root or sandbox.user is not None or abi_version() >= _KEEPS_SIGNALS:
        return ()
    return ("tests can send signals to your processes",)


def _try(sandbox: Sandbox) -> str:
    """Return why a small program does not run in a sandbox, "" where it does."""
    with name_full_disk(), tempfile.TemporaryDirectory(prefix="brt-trial-") as folder:
        shown = tuple((path, path) for path in SYSTEM)
        copy = Path(folder, "tree")
        copy.mkdir()
        view = View(root=folder, copy=str(copy), tree=folder, env={}, shown=shown)
        deadlines = Deadlines(start=_PATIENCE, each=_PATIENCE, total=_PATIENCE)
        result = run_process(sandbox, ["/bin/true"], view, deadlines)
    output = result.output.strip().splitlines()[-1:]
    return "".join(output) or f"exit status {result.status}" if result.status else ""
