"""Patches as people have them: folders and files, branches, and pull requests."""

from __future__ import annotations

import os
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path

from pytest_brt.errors import UsageProblem
from pytest_brt.patches.git import find_repository, read_remotes
from pytest_brt.patches.read import common_folder, read_patches
from pytest_brt.report.github import Address, find_address, read_author, read_diff, repository_of
from pytest_brt.revisions.commits import History, write_branches
from pytest_brt.store import write_bytes
from pytest_brt.types import Patch

_BRANCHES = "git:"


@dataclass(slots=True, kw_only=True)
class Proposals:
    """The patches that a user named."""

    #: By the file that each was read from, or was written into.
    files: dict[Path, Patch] = field(default_factory=dict)
    #: Branches that change nothing, which are no patches.
    unchanged: list[str] = field(default_factory=list)

    @property
    def patches(self) -> tuple[Patch, ...]:
        """All of them, in the order in which they were named."""
        return tuple(self.files.values())

    def add(self, folder: Path, patches: Iterable[Patch]) -> None:
        """Take patches whose files lie in `folder`."""
        known = {patch.name for patch in self.patches}
        for patch in patches:
            if patch.name in known:
                raise UsageProblem(f"two patches are both called {patch.name!r} (rename one)")
            file = Path(os.path.abspath(folder / patch.file))  # noqa: PTH100 - follows no link
            self.files[file] = patch


def is_elsewhere(source: str) -> bool:
    """Say whether what a user named is no path, but branches or a pull request."""
    named = source.startswith(_BRANCHES) or find_address(source) is not None
    return named and not Path(source).exists()


def read_proposals(sources: Sequence[str], root: Path, scratch: Path) -> Proposals:
    """Return the patches that `sources` name, for the project at `root`.

    Branches (``git:PATTERN``) and pull requests (``#12``, ``OWNER/REPO#12``, or an address) are
    written as files into `scratch`.

    Raises:
        UsageProblem: one of them is not there, or cannot be read.
    """
    proposals = Proposals()
    paths = [Path(source) for source in sources if not is_elsewhere(source)]
    if paths:
        proposals.add(common_folder(paths), read_patches(*paths))
    for source in filter(is_elsewhere, sources):
        address = find_address(source)
        if address is None:
            pattern = source.removeprefix(_BRANCHES)
            _add_branches(proposals, pattern, History(root), _new_folder(scratch, "branches"))
        else:
            _add_pull_request(proposals, complete(address, root), scratch / "pull-requests")
    return proposals


def _new_folder(scratch: Path, name: str) -> Path:
    """Return a folder in `scratch` that does not exist yet."""
    number = 1
    folder = scratch / name
    while folder.exists():
        number += 1
        folder = scratch / f"{name}-{number}"
    return folder


def _add_branches(proposals: Proposals, pattern: str, history: History, folder: Path) -> None:
    proposals.unchanged += write_branches(history, pattern, folder)
    for patch in read_patches(folder):
        name = patch.name.removesuffix(".diff")
        proposals.add(folder, [replace(patch, name=name, source=history.author_of(name))])


def _add_pull_request(proposals: Proposals, address: Address, folder: Path) -> None:
    file = folder / f"{address.stem}.diff"
    write_bytes(file, read_diff(address))
    (patch,) = read_patches(file)
    name = f"#{address.number}"
    if not address.text.startswith("#"):
        name = address.repository + name
    proposals.add(folder, [replace(patch, name=name, source=read_author(address))])


def complete(address: Address, root: Path) -> Address:
    """Return the address with its repository, that of the project at `root` where it names none.

    Raises:
        UsageProblem: the project is not known to come from GitHub.
    """
    if address.repository:
        return address
    repository = find_repository(root.resolve())
    remotes = read_remotes(repository) if repository else {}
    found = {name: repository_of(url) for name, url in remotes.items()}
    # Of a fork, issues and pull requests are in the repository that it was made from.
    known = [found.get("upstream", ""), found.get("origin", ""), *found.values()]
    name = next(filter(None, known), "")
    if not name:
        raise UsageProblem(
            f"{address.text!r}: the project has no remote that is on GitHub (write OWNER/REPO"
            f"#{address.number})"
        )
    return replace(address, repository=name)
