"""Runs a command as an ordinary user who can reach our interpreter: for tests run by root.

``python -m tests.hostile.as_user UID HOME COMMAND...``
"""

from __future__ import annotations

import importlib.util
import os
import sys
from pathlib import Path
from types import ModuleType

import pytest_brt.execute

CALLS = Path(pytest_brt.execute.__file__).parent / "inside" / "syscalls.py"


def _calls() -> ModuleType:
    spec = importlib.util.spec_from_file_location("syscalls", CALLS)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def main() -> None:
    """Show the interpreter's folder past a home that is shut, change the user, and go."""
    uid, home, command = int(sys.argv[1]), sys.argv[2], sys.argv[3:]
    calls = _calls()
    closed = Path("/root")
    prefix = Path(sys.base_prefix).resolve()
    if prefix.is_relative_to(closed):
        calls.unshare(calls.CLONE_NEWNS)
        calls.make_private()
        tree = calls.open_tree(str(prefix))
        calls.mount("tmpfs", str(closed), "tmpfs", 0, "mode=755")
        prefix.mkdir(parents=True)
        calls.move_mount(tree, str(prefix))
    os.setgroups([])
    os.setresgid(uid, uid, uid)
    os.setresuid(uid, uid, uid)
    calls.prctl(calls.PR_SET_DUMPABLE, 1)
    os.environ["HOME"] = home
    os.execvp(command[0], command)


if __name__ == "__main__":
    main()
