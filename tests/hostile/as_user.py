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
from pytest_brt.execute.sandbox import private_folders

CALLS = Path(pytest_brt.execute.__file__).parent / "inside" / "syscalls.py"


def _calls() -> ModuleType:
    spec = importlib.util.spec_from_file_location("syscalls", CALLS)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def main() -> None:
    """Show interpreter and code past folders that are shut, change the user, and go."""
    uid, home, command = int(sys.argv[1]), sys.argv[2], sys.argv[3:]
    calls = _calls()
    needed = {str(Path(path).resolve()) for path in (sys.base_prefix, sys.prefix, Path.cwd())}
    shut = private_folders(needed)
    if shut:
        calls.unshare(calls.CLONE_NEWNS)
        calls.make_private()
        trees = {path: calls.open_tree(path) for path in needed}
        for path in sorted(needed | shut):
            if path in shut:
                calls.mount("tmpfs", path, "tmpfs", 0, "mode=755")
            elif not Path(path).exists():
                Path(path).mkdir(parents=True)
                calls.move_mount(trees[path], path)
        os.chdir(Path.cwd())
    os.setgroups([])
    os.setresgid(uid, uid, uid)
    os.setresuid(uid, uid, uid)
    calls.prctl(calls.PR_SET_DUMPABLE, 1)
    os.environ["HOME"] = home
    os.execvp(command[0], command)


if __name__ == "__main__":
    main()
