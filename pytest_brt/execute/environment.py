"""The environment variables that code of the subject gets to see."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from pathlib import Path

#: What is passed on as it is; everything else (tokens, keys, sockets) is not.
PASSED_ON = (
    "PATH",
    "LANG",
    "LANGUAGE",
    "TZ",
    "LD_LIBRARY_PATH",
    # How Python reads names of files: ours and the subject's must be the same.
    "PYTHONUTF8",
    "PYTHONCOERCECLOCALE",
    "SYSTEMROOT",
    "COMSPEC",
    "PATHEXT",
)


def scrubbed(extra: Mapping[str, str]) -> dict[str, str]:
    """Return the few variables that are passed on, the locale, and then `extra`."""
    env = {name: os.environ[name] for name in PASSED_ON if name in os.environ}
    env.update({name: value for name, value in os.environ.items() if name.startswith("LC_")})
    env.setdefault("PATH", os.defpath)
    env.setdefault("LANG", "C.UTF-8")
    env.update(extra)
    return env


def inner_environment(
    *,
    tree: str,
    source_roots: Sequence[str],
    python: str,
    home: str,
    scratch: str,
    hash_seed: int,
    extra: Mapping[str, str],
) -> dict[str, str]:
    """Return the environment of a process that runs code of the subject.

    Args:
        tree: the private view of the project.
        source_roots: folders of the import path, relative to the tree.
        python: the interpreter; its folder comes first on PATH, so that the tests'
            own subprocesses find the same one.
        home: private HOME.
        scratch: private TMPDIR.
        hash_seed: PYTHONHASHSEED.
        extra: the user's `--brt-env`; its PYTHONPATH is added after the source roots.
    """
    env = scrubbed(extra)
    entries = [os.path.normpath(f"{tree}/{root}") for root in source_roots]
    entries += [part for part in extra.get("PYTHONPATH", "").split(os.pathsep) if part]
    env["PYTHONPATH"] = os.pathsep.join(entries)
    env["PATH"] = os.pathsep.join([str(Path(python).parent), env["PATH"]])
    env["PYTHONHASHSEED"] = str(hash_seed)
    env["PYTHONDONTWRITEBYTECODE"] = "1"
    env["PYTEST_BRT_INNER"] = "1"
    env["PYTEST_DISABLE_PLUGIN_AUTOLOAD"] = "1"
    env.setdefault("HOME", home)
    env.setdefault("USER", "nobody")
    env.setdefault("LOGNAME", env["USER"])
    for name in ("TMPDIR", "TEMP", "TMP"):
        env.setdefault(name, scratch)
    return env
