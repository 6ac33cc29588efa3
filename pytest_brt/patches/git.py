"""Runs git so that it starts no program and asks no network, whatever a repository says.

A repository's configuration names programs (filters, textconv, fsmonitor, gpg, hooks) and places
to fetch from. It is not read: git is given a folder of ours, with links to the repository's
objects, refs and index. Attributes of the tree then name drivers that nobody has defined.
"""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import tempfile
from contextlib import ExitStack
from pathlib import Path
from typing import NamedTuple

from pytest_brt.bounded import read_bounded
from pytest_brt.errors import PatchProblem, UsageProblem
from pytest_brt.patches.text import decode

#: Seconds after which git is stuck.
_SECONDS = 120.0
_NOWHERE = "/nonexistent"
#: What a program needs to start at all; the rest of the user's environment stays out.
_KEPT = ("PATH", "TMPDIR", "LD_LIBRARY_PATH")
#: What keeps git from the network, the terminal, and every configuration but ours.
_ALONE = {
    "GIT_DIR": _NOWHERE,
    "GIT_CONFIG_NOSYSTEM": "1",
    "GIT_CONFIG_GLOBAL": os.devnull,
    "GIT_ATTR_NOSYSTEM": "1",
    "GIT_NO_LAZY_FETCH": "1",
    "GIT_OPTIONAL_LOCKS": "0",
    "GIT_TERMINAL_PROMPT": "0",
    "GIT_ALLOW_PROTOCOL": "none",
    "GIT_PAGER": "cat",
    "HOME": _NOWHERE,
    "LC_ALL": "C",
}
#: Blocks of 512 bytes of one file that git may write, seconds of its processor, KiB of its memory.
_LIMITED = 'ulimit -f 262144; ulimit -t 120; ulimit -v 4194304 2>/dev/null; exec git "$@"'
#: What of a repository git is shown.
_SHOWN = ("objects", "refs", "packed-refs", "shallow")
#: A remote in a configuration, and where it is fetched from.
_REMOTE = re.compile(r'\[remote "(.+?)"\][^\[]*?^\s*url\s*=\s*(\S+)', re.MULTILINE)
_CONFIG = "[core]\n\trepositoryformatversion = 0\n\tbare = false\n"


class Repository(NamedTuple):
    """Where a repository keeps what git reads."""

    #: Of this working tree: HEAD and the index.
    git: Path
    #: Of all its working trees: objects and refs.
    common: Path
    #: The working tree.
    work: Path


def find_repository(folder: Path) -> Repository | None:
    """Return the repository that `folder` lies in, None where there is none.

    Raises:
        UsageProblem: a file that says where it is kept cannot be read.
    """
    for work in (folder, *folder.parents):
        git = work / ".git"
        if git.is_file():
            git = work / decode(_read(git)).partition("gitdir:")[2].strip()
        link = git / "commondir"
        common = git / decode(_read(link)).strip() if link.is_file() else git
        if (git / "HEAD").is_file() and (common / "objects").is_dir():
            return Repository(git=git, common=common, work=work)
    return None


def _read(path: Path) -> bytes:
    try:
        return read_bounded(path, 1 << 20)
    except OSError as error:
        reason = error.strerror
        raise UsageProblem(f"cannot read {str(path)!r}, a file of git's: {reason}") from error


def run_git(
    folder: Path, *arguments: str, stdin: bytes = b"", repository: Repository | None = None
) -> subprocess.CompletedProcess[bytes]:
    """Run ``git *arguments`` in `folder`: in no repository, or in `repository`.

    Raises:
        UsageProblem: git is not installed, or a file of the repository cannot be read.
        PatchProblem: git does not end in time.
    """
    if shutil.which("git") is None:
        raise UsageProblem("git: not found on PATH; patches are applied by it (install git)")
    env = {name: os.environ[name] for name in _KEPT if name in os.environ} | _ALONE
    with ExitStack() as held:
        if repository is not None:
            own = Path(held.enter_context(tempfile.TemporaryDirectory(prefix="brt-git-")))
            _link(own, repository)
            env |= {"GIT_DIR": str(own), "GIT_WORK_TREE": str(repository.work)}
        try:
            return subprocess.run(
                ["/bin/sh", "-c", _LIMITED, "git", *arguments],
                cwd=folder,
                env=env,
                input=stdin,
                capture_output=True,
                timeout=_SECONDS,
                check=False,
            )
        except subprocess.TimeoutExpired as error:
            late = f"git {arguments[0]} did not end within {_SECONDS:.0f} s"
            raise PatchProblem("git-failed", late) from error


def _link(own: Path, repository: Repository) -> None:
    """Make a git folder that shows a repository without its configuration."""
    for kept in (repository.git / "index", *(repository.common / name for name in _SHOWN)):
        if kept.exists():
            if not (kept.is_file() or kept.is_dir()):
                raise UsageProblem(f"{str(kept)!r} is no file or folder (clone it again)")
            (own / kept.name).symlink_to(kept.resolve())
    (own / "refs").mkdir(exist_ok=True)
    (own / "HEAD").write_bytes(_read(repository.git / "HEAD"))
    (own / "config").write_text(_CONFIG, encoding="utf-8")


def read_remotes(repository: Repository) -> dict[str, str]:
    """Return where a repository is fetched from, by the names of its remotes."""
    path = repository.common / "config"
    text = decode(_read(path)) if path.exists() else ""
    return dict(_REMOTE.findall(text))
