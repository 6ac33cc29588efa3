"""Revisions of a project as changes of its working tree: nothing is checked out.

Files that git does not know stay as they are: projects often need generated ones.
"""

from __future__ import annotations

from fnmatch import fnmatchcase
from pathlib import Path

from pytest_brt.errors import UsageProblem
from pytest_brt.patches.git import find_repository, run_git
from pytest_brt.patches.text import decode
from pytest_brt.types import FileChange

#: Kinds of entries that are files: plain and executable; not links, not submodules.
_FILES = {"100644": False, "100755": True}
#: No submodule is looked into: git would run itself in it, with what its configuration names.
_DIFF = ("diff", "--ignore-submodules=all", "--no-renames", "--relative", "--no-ext-diff")
#: Before every name: a repository can have a branch that is called as an option.
_END = "--end-of-options"


class History:
    """The git history of the project in `root`, which may be a folder of a larger repository.

    Commits are called by their hash.
    """

    def __init__(self, root: Path) -> None:
        """Find the repository.

        Raises:
            UsageProblem: git is not installed, or there is no repository.
        """
        self.root = root.resolve()
        repository = find_repository(self.root)
        if repository is None:
            raise UsageProblem(f"no git repository: {str(self.root)!r} (give the project's root)")
        self._repository = repository

    def revision(self, name: str) -> str:
        """Return the commit that `name` stands for.

        Raises:
            UsageProblem: there is none, or git refuses to look.
        """
        none = f"no such revision: {name!r} (in a shallow clone: fetch it first)"
        sha = self._git("rev-parse", "--verify", "--quiet", _END, f"{name}^{{commit}}", none=none)
        return decode(sha).strip()

    def first_parents(self) -> list[str]:
        """Return what is checked out and the commits before it, along first parents.

        In a shallow clone they end where it does; there are none where nothing is committed.
        """
        try:
            return decode(self._git("rev-list", "--first-parent", "HEAD", "--")).split()
        except UsageProblem:
            return []

    def about(self, commit: str) -> str:
        """Return date, author and first line of the message of a commit."""
        about = self._git("log", "-1", "--format=%cs %an: %s", _END, commit, "--")
        return about.decode("utf-8", "replace").strip()

    def fork(self, base: str, head: str) -> str:
        """Return the commit at which `head` left `base`.

        Raises:
            UsageProblem: they have none in common, as in a clone without history.
        """
        none = (
            f"{base[:10]} and {head[:10]} have no commit in common (in a shallow clone: "
            "fetch the whole history, as with 'git fetch --unshallow')"
        )
        return decode(self._git("merge-base", _END, base, head, none=none)).strip()

    def changes_to(self, wanted: str, start: str = "") -> tuple[FileChange, ...]:
        """Return what makes the tree of `start`, or else the working tree, that of `wanted`."""
        ends = (wanted, start) if start else (wanted,)
        fields = self._git(*_DIFF, "--raw", "-z", "--no-abbrev", _END, *ends, "--").split(b"\0")
        changes = []
        for head, path in zip(fields[::2], fields[1::2], strict=False):
            mode, _, blob, _, _ = decode(head).lstrip(":").split(" ")
            if mode == "000000":
                changes.append(FileChange(path=decode(path), content=None))
            elif mode in _FILES:
                content = self._git("cat-file", "blob", _END, blob)
                kept = FileChange(path=decode(path), content=content, executable=_FILES[mode])
                changes.append(kept)
        return tuple(changes)

    def branches(self, pattern: str) -> dict[str, str]:
        """Return the branches whose names match `pattern` (``*``, ``?``), with their last authors.

        Branches of other repositories are called as git calls them, as in "origin/fix-1".
        What is checked out is none of them. Authors are addresses in small letters.
        """
        form = "--format=%(HEAD)%(refname) %(authoremail:trim)"
        listed = self._git("for-each-ref", form, "refs/heads", "refs/remotes")
        authors = {}
        for line in listed.decode("utf-8", "replace").splitlines():
            name, _, author = line[1:].partition(" ")
            name = name.split("/", 2)[2]
            if line[0] != "*" and not name.endswith("/HEAD") and fnmatchcase(name, pattern):
                authors[name] = author.casefold()
        return dict(sorted(authors.items()))

    def diff_of(self, branch: str) -> bytes:
        """Return what `branch` changes in the project since it left what is checked out.

        Raises:
            UsageProblem: the two have no commit in common.
        """
        form = ("--binary", "--full-index", "--no-color", "--src-prefix=a/", "--dst-prefix=b/")
        return self._git(*_DIFF, *form, _END, f"HEAD...{branch}", "--")

    def _git(self, *arguments: str, none: str = "") -> bytes:
        """Return what git gives; `none` says what it means where git fails without a word."""
        done = run_git(self.root, *arguments, repository=self._repository)
        if done.returncode:
            last = decode(done.stderr).strip().rpartition("\n")[2]
            why = f"git {arguments[0]} in {str(self.root)!r}: {last or done.returncode}"
            raise UsageProblem(why if last else none or why)
        return done.stdout
