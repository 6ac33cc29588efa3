"""Runs a command as an ordinary user who can reach our interpreter: for tests run by root.

``python -m tests.hostile.as_user UID HOME COMMAND...``
"""

from __future__ import annotations

import os
import sys
from pathlib import Path

from pytest_brt.execute.inside import syscalls
from pytest_brt.execute.sandbox import private_folders


def main() -> None:
    """Show interpreter and code past folders that are shut, change the user, and go."""
    uid, home, command = int(sys.argv[1]), sys.argv[2], sys.argv[3:]
    needed = {str(Path(path).resolve()) for path in (sys.base_prefix, sys.prefix, Path.cwd())}
    shut = private_folders(needed)
    if shut:
        syscalls.unshare(syscalls.CLONE_NEWNS)
        syscalls.make_private()
        trees = {path: syscalls.open_tree(path) for path in needed}
        for path in sorted(needed | shut):
            if path in shut:
                syscalls.mount("tmpfs", path, "tmpfs", 0, "mode=755")
            elif not Path(path).exists():
                Path(path).mkdir(parents=True)
                syscalls.move_mount(trees[path], path)
        os.chdir(Path.cwd())
    os.setgroups([])
    os.setresgid(uid, uid, uid)
    os.setresuid(uid, uid, uid)
    syscalls.prctl(syscalls.PR_SET_DUMPABLE, 1)
    os.environ["HOME"] = home
    os.execvp(command[0], command)


if __name__ == "__main__":
    main()
