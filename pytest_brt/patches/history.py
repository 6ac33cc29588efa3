"""Revisions of a project as changes of its working tree: nothing is checked out.

Files that git does not know stay as they are: projects often need generated ones.
"""

from __future__ import annotations

from dataclasses import dataclass
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
_END_OF_OPTIONS = "--end-of-options"


@dataclass(frozen=True, slots=True, kw_only=True)
class Revision:
    """A commit."""

    sha: str
    #: For people: date, author and first line of the message.
    about: str = ""

    @property
    def short(self) -> str:
        """The name that is shown."""
        return self.sha[:10]


class History:
    """The git history of the project in `root`, which may be a folder of a larger repository."""

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

    def revision(self, name: str) -> Revision:
        """Return the commit that `name` stands for.

        Raises:
            UsageProblem: there is none, or git refuses to look.
        """
        wanted = ("--verify", "--quiet", _END_OF_OPTIONS, f"{name}^{{commit}}")
        none = f"no such revision: {name!r} (in a shallow clone: fetch it first)"
        sha = self._git("rev-parse", *wanted, none=none)
        return self.described(Revision(sha=decode(sha).strip()))

    def first_parents(self) -> tuple[Revision, ...]:
        """Return what is checked out and the commits before it, along first parents, undescribed.

        In a shallow clone they end where it does; () where nothing is committed.
        """
        try:
            shas = decode(self._git("rev-list", "--first-parent", "HEAD", "--")).split()
        except UsageProblem:
            return ()
        return tuple(Revision(sha=sha) for sha in shas)

    def described(self, revision: Revision) -> Revision:
        """Return a commit with what it is about."""
        form = "--format=%cs %an: %s"
        about = self._git("log", "-1", form, _END_OF_OPTIONS, revision.sha, "--")
        return Revision(sha=revision.sha, about=about.decode("utf-8", "replace").strip())

    def changed_files(self, revision: Revision) -> tuple[str, ...]:
        """Return the files of the project that a commit changes, against its first parent."""
        options = ("--name-only", "-z", "--no-renames", "--relative", "--root", "-m")
        names = ("--no-commit-id", "--first-parent", *options, _END_OF_OPTIONS, revision.sha, "--")
        listed = self._git("diff-tree", "-r", *names)
        return tuple(dict.fromkeys(decode(name) for name in listed.split(b"\0") if name))

    def fork(self, base: Revision, head: Revision) -> Revision:
        """Return the commit at which `head` left `base`.

        Raises:
            UsageProblem: they have none in common, as in a clone without history.
        """
        none = (
            f"{base.short} and {head.short} have no commit in common (in a shallow clone: "
            "fetch the whole history, as with 'git fetch --unshallow')"
        )
        sha = self._git("merge-base", _END_OF_OPTIONS, base.sha, head.sha, none=none)
        return Revision(sha=decode(sha).strip())

    def changes_to(self, wanted: Revision, start: Revision | None = None) -> tuple[FileChange, ...]:
        """Return what makes the tree of `start`, or else the working tree, that of `wanted`."""
        ends = [revision.sha for revision in (wanted, start) if revision is not None]
        options = ("--raw", "-z", "--no-abbrev", _END_OF_OPTIONS, *ends, "--")
        fields = self._git(*_DIFF, *options).split(b"\0")
        changes = []
        for head, path in zip(fields[::2], fields[1::2], strict=False):
            mode, _, blob, _, _ = head.decode().lstrip(":").split(" ")
            if mode == "000000":
                changes.append(FileChange(path=decode(path), content=None))
            elif mode in _FILES:
                content = self._git("cat-file", "blob", _END_OF_OPTIONS, blob)
                kept = FileChange(path=decode(path), content=content, executable=_FILES[mode])
                changes.append(kept)
        return tuple(changes)

    def text(self, revision: Revision, path: str) -> str | None:
        """Return the text of a file in a revision; None when it is not there."""
        try:
            blob = self._git("cat-file", "blob", _END_OF_OPTIONS, f"{revision.sha}:./{path}")
        except UsageProblem:
            return None
        return blob.decode("utf-8", "replace")

    def branches(self, pattern: str) -> tuple[str, ...]:
        """Return the branches whose names match `pattern` (``*``, ``?``), by name.

        Branches of other repositories are called as git calls them, as in "origin/fix-1".
        What is checked out is none of them.
        """
        listed = self._git(
            "for-each-ref", "--format=%(HEAD)%(refname)", "refs/heads", "refs/remotes"
        )
        names = []
        for line in decode(listed).splitlines():
            name = line[1:].removeprefix("refs/heads/").removeprefix("refs/remotes/")
            if line[0] != "*" and not name.endswith("/HEAD") and fnmatchcase(name, pattern):
                names.append(name)
        return tuple(sorted(names))

    def author_of(self, branch: str) -> str:
        """Return the address of who wrote the last commit of a branch, in small letters."""
        found = self._git("log", "-1", "--format=%ae", _END_OF_OPTIONS, branch, "--")
        return found.decode("utf-8", "replace").strip().casefold()

    def diff_of(self, branch: str) -> bytes:
        """Return what `branch` changes in the project since it left what is checked out.

        Raises:
            UsageProblem: the two have no commit in common.
        """
        form = ("--binary", "--full-index", "--no-color", "--src-prefix=a/", "--dst-prefix=b/")
        return self._git(*_DIFF, *form, _END_OF_OPTIONS, f"HEAD...{branch}", "--")

    def _git(self, *arguments: str, none: str = "") -> bytes:
        """Return what git gives; `none` says what it means where git fails without a word."""
        done = run_git(self.root, *arguments, repository=self._repository)
        if done.returncode:
            said = decode(done.stderr).strip().splitlines()
            if none and not said:
                raise UsageProblem(none)
            why = said[-1] if said else f"it ended with status {done.returncode}"
            raise UsageProblem(f"git {arguments[0]} in {str(self.root)!r}: {why}")
        return done.stdout
