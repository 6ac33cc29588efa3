"""git, so that it starts no program and asks no network, whatever a repository says; its history.

A repository's configuration names programs (filters, textconv, fsmonitor, gpg, hooks) and places
to fetch from. It is not read: git is given a folder of ours, with links to the repository's
objects, refs and index. Attributes of the tree then name drivers that nobody has defined.

Revisions are changes of the working tree: nothing is checked out, and files that git does not know
stay as they are, for projects often need generated ones.
"""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import tempfile
from fnmatch import fnmatchcase
from pathlib import Path
from typing import NamedTuple

from pytest_brt.errors import PatchProblem, UsageProblem
from pytest_brt.types import FileChange

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
_CONFIG = "[core]\n\trepositoryformatversion = 0\n\tbare = false\n"
#: A remote in a configuration, and where it is fetched from.
_REMOTE = re.compile(r'\[remote "(.+?)"\][^\[]*?^\s*url\s*=\s*(\S+)', re.MULTILINE)
#: Entries that are files, and whether these are executable; one that is not there, too. Links and
#: submodules are none.
_FILES = {"100644": False, "100755": True, "000000": False}
#: No submodule is looked into: git would run itself in it, with what its configuration names.
_DIFF = ("diff", "--ignore-submodules=all", "--no-renames", "--relative", "--no-ext-diff")
#: Before every name: a repository can have a branch that is called as an option.
_END = "--end-of-options"


def decode(data: bytes) -> str:
    """Return `data` as text, with surrogate escapes for what is not UTF-8."""
    return data.decode("utf-8", "surrogateescape")


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

    It is none that only says to be another one: what is unpacked may name a private one.
    """
    for work in (folder, *folder.parents):
        git = common = work / ".git"
        if git.is_file():  # of a working tree beside the first one, which knows of it
            git = work / decode(git.read_bytes()).partition("gitdir:")[2].strip()
            back, common = git / "gitdir", git.parents[1]
            named = decode(back.read_bytes()).strip() if back.is_file() else ""
            if (git / named).resolve() != (work / ".git").resolve():
                return None
        if (git / "HEAD").is_file() and (common / "objects").is_dir():
            is_foreign = any(map(_is_elsewhere, {git, common}))
            return None if is_foreign else Repository(git=git, common=common, work=work)
    return None


def _is_elsewhere(git: Path) -> bool:
    """Return whether something of a repository lies elsewhere, by a link or by its alternates."""
    shown = [git / name for name in ("HEAD", "index", *_SHOWN)]
    inside = (path for one in shown for path in one.rglob("*"))
    is_linked = any(path.is_symlink() for path in (git, *shown, *inside))
    return is_linked or (git / "objects/info/alternates").exists()


def read_remotes(repository: Repository) -> dict[str, str]:
    """Return where a repository is fetched from, by the names of its remotes."""
    path = repository.common / "config"
    return dict(_REMOTE.findall(decode(path.read_bytes()))) if path.is_file() else {}


def run_git(
    folder: Path, *arguments: str, stdin: bytes = b"", **variables: str
) -> subprocess.CompletedProcess[bytes]:
    """Run ``git *arguments`` in `folder`, in no repository where the `variables` name none.

    Raises:
        UsageProblem: git is not installed.
        PatchProblem: git does not end in time.
    """
    if shutil.which("git") is None:
        raise UsageProblem(
            "git: not found on PATH; patches are applied by it (install git)"
        )
    kept = {name: os.environ[name] for name in _KEPT if name in os.environ}
    try:
        return subprocess.run(
            ["/bin/sh", "-c", _LIMITED, "git", *arguments],
            cwd=folder,
            env=kept | _ALONE | variables,
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
            (own / kept.name).symlink_to(kept.resolve())
    (own / "refs").mkdir(exist_ok=True)
    shutil.copyfile(repository.git / "HEAD", own / "HEAD")
    (own / "config").write_text(_CONFIG, encoding="utf-8")


class History:
    """The git history of the project in `root`, which may be a folder of a larger repository.

    Commits are called by their hash.
    """

    def __init__(self, root: Path) -> None:
        """Find the repository.

        Raises:
            UsageProblem: there is none.
        """
        self.root = root.resolve()
        repository = find_repository(self.root)
        if repository is None:
            raise UsageProblem(
                f"no git repository: {str(self.root)!r} (give the project's root)"
            )
        self._repository = repository

    def ends(self, text: str) -> tuple[str, str]:
        """Return both ends of BASE..HEAD: where HEAD left BASE, and HEAD.

        HEAD is what is checked out when left out. Three dots mean the same.

        Raises:
            UsageProblem: it is no range, or there are no such commits.
        """
        base, _, head = text.replace("...", "..", 1).partition("..")
        both = f"{base}...{head}"
        # git tells both commits, and after "^" those that they have in common.
        found = decode(self.git("rev-parse", "--revs-only", both)).split()
        if not base or ".." not in text or len(found) < 3:
            raise UsageProblem(
                f"gate: expected BASE..HEAD, got {text!r} (two commits that are known here, with "
                "one in common; in a shallow clone: 'git fetch --unshallow')"
            )
        return found[2].lstrip("^"), found[0]

    def first_parents(self) -> dict[str, str]:
        """Return what is checked out and the commits before it, along first parents.

        Each comes with its date, author and the first line of its message. In a shallow clone they
        end where it does.
        """
        log = self.git("log", "--first-parent", "--format=%H %cs %an: %s", "HEAD", "--")
        return dict(
            line.split(" ", 1)
            for line in log.decode("utf-8", "replace").split("\n")
            if line
        )

    def changes_to(self, wanted: str, start: str = "") -> tuple[FileChange, ...]:
        """Return what makes the tree of `start`, or else the working tree, that of `wanted`."""
        ends = (wanted, start) if start else (wanted,)
        fields = self.git(*_DIFF, "--raw", "-z", "--no-abbrev", _END, *ends, "--").split(
            b"\0"
        )
        changes = []
        for head, name in zip(fields[::2], fields[1::2], strict=False):
            mode, _, blob, _, _ = decode(head).lstrip(":").split(" ")
            if mode in _FILES:
                content = (
                    self.git("cat-file", "blob", _END, blob) if blob.strip("0") else None
                )
                new = FileChange(
                    path=decode(name), content=content, executable=_FILES[mode]
                )
                changes.append(new)
        return tuple(changes)

    def branches(self, pattern: str) -> dict[str, str]:
        """Return the branches whose names match `pattern` (``*``, ``?``), with their last authors.

        Branches of other repositories are called as git calls them, as in "origin/fix-1".
        What is checked out is none of them. Authors are addresses in small letters.
        """
        form = "--format=%(HEAD)%(refname:lstrip=2) %(authoremail:trim)"
        listed = self.git("for-each-ref", form, "refs/heads", "refs/remotes")
        authors = {}
        for line in listed.decode("utf-8", "replace").splitlines():
            name, _, author = line[1:].partition(" ")
            if line[0] != "*" and not name.endswith("/HEAD") and fnmatchcase(name, pattern):
                authors[name] = author.casefold()
        return dict(sorted(authors.items()))

    def diff_of(self, branch: str) -> bytes:
        """Return what `branch` changes in the project since it left what is checked out.

        Raises:
            UsageProblem: the two have no commit in common.
        """
        return self.git(*_DIFF, "--binary", _END, f"HEAD...{branch}", "--")

    def git(self, *arguments: str) -> bytes:
        """Return what git gives.

        Raises:
            UsageProblem: git is not installed, or fails.
        """
        with tempfile.TemporaryDirectory(prefix="brt-git-") as own:
            _link(Path(own), self._repository)
            tree = str(self._repository.work)
            done = run_git(self.root, *arguments, GIT_DIR=own, GIT_WORK_TREE=tree)
        if done.returncode:
            last = decode(done.stderr).strip().rpartition("\n")[2]
            raise UsageProblem(f"git {arguments[0]} in {str(self.root)!r}: {last}")
        return done.stdout
