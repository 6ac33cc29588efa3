"""Who runs the tests: an ordinary user, that no account is needed for."""

from __future__ import annotations

import stat
import sys
from pathlib import Path

import pytest

#: Of the repository.
ROOT = Path(__file__).parents[2]

#: No account is needed for it.
ORDINARY = 12345


def as_ordinary_user(*command: str, home: Path) -> list[str]:
    """Return what runs a command as an ordinary user, who can reach our interpreter and code.

    Folders on the way that are shut are empty for that user, but for what is needed. Where that is
    shut itself, as in a checkout made with a umask of 077, nobody else can run anything of ours.
    """
    needed = {Path(path).resolve() for path in (sys.base_prefix, sys.prefix, ROOT)}
    for path in needed:
        if not path.stat().st_mode & stat.S_IXOTH:
            pytest.skip(f"{path} can be read by its owner alone")
    shut = [p for path in needed for p in path.parents if not p.stat().st_mode & stat.S_IXOTH]
    line = ["bwrap", "--dev-bind", "/", "/"]
    for folder in shut:
        line += ["--perms", "0755", "--tmpfs", str(folder)]
        below = [path for path in sorted(needed) if path.is_relative_to(folder)]
        for path in below:
            for parent in reversed(path.parents):
                if parent.is_relative_to(folder) and parent != folder:
                    line += ["--perms", "0755", "--dir", str(parent)]
            line += ["--ro-bind", str(path), str(path)]
    line += ["--chdir", str(ROOT), "setpriv", f"--reuid={ORDINARY}", f"--regid={ORDINARY}"]
    return [*line, "--clear-groups", "--inh-caps=-all", "env", f"HOME={home}", *command]
