"""Patches as people have them: folders and files, branches, and pull requests."""

from __future__ import annotations

import os
import re
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path

from pytest_brt.bounded import read_bounded
from pytest_brt.codec import content_id
from pytest_brt.errors import UsageProblem
from pytest_brt.patches.git import History, decode, find_repository, read_remotes
from pytest_brt.report.github import (
    Address,
    find_address,
    read_author,
    read_diff,
    repository_of,
)
from pytest_brt.shown import on_a_line
from pytest_brt.types import Patch

#: What files of patches are called.
SUFFIXES = (".diff", ".patch")
_BRANCHES = "git:"
#: The line with which `git format-patch` begins a mail (RFC 4155).
_FROM = re.compile(rb"From \S+ .*\d\d:\d\d:\d\d \d{4}.*\n")
_SENDER = re.compile(rb"^From:.{0,200}?([^\s<>]{1,200}@[^\s<>]{1,200})", re.MULTILINE)


def read_proposals(sources: Sequence[str], root: Path) -> tuple[Patch, ...]:
    """Return the patches that `sources` name, for the project at `root`.

    These are files, folders, branches (``git:PATTERN``) and pull requests (``#12``,
    ``OWNER/REPO#12``, or an address).

    Raises:
        UsageProblem: one of them is not there, or cannot be read.
    """
    paths, patches = [], []
    for source in sources:
        address = find_address(source)
        if Path(source).exists() or not (address or source.startswith(_BRANCHES)):
            paths.append(Path(source))
        elif address:
            patches.append(_pull_request(address, root))
        else:
            patches += _branches(source, root)
    if paths:
        patches += read_patches(*paths)
    for name, times in Counter(patch.name for patch in patches).items():
        if times > 1:
            raise UsageProblem(f"two patches are both called {name!r} (rename one)")
    return tuple(patches)


def _pull_request(address: Address, root: Path) -> Patch:
    known = complete(address, root)
    name = f"{'' if address.text.startswith('#') else known.repository}#{known.number}"
    return _patch(name, read_diff(known), read_author(known))


def _branches(source: str, root: Path) -> Iterator[Patch]:
    """Yield of each branch what changed there since it left HEAD.

    Raises:
        UsageProblem: no branch matches.
    """
    pattern, history = source.removeprefix(_BRANCHES), History(root)
    branches = history.branches(pattern)
    if not branches:
        raise UsageProblem(
            f"no branch is called {pattern!r} in {str(history.root)!r}, but for the one that "
            "may be checked out (see 'git branch --all'; * and ? stand for parts of a name)"
        )
    for name, author in branches.items():
        yield _patch(name, history.diff_of(name), author)


def read_patches(*paths: Path) -> tuple[Patch, ...]:
    """Return the patches in folders and the folders in them, sorted by name, or of files.

    Each holds one candidate fix, as a diff or as the mail of it (``git format-patch``). Hidden
    files and folders are passed over, and links to folders are not followed. Bytes that are not
    UTF-8 are kept as surrogate escapes. It is called by its path in the folder that holds all of
    them. Its source is the sender of its mail, else the folder in that one. A patch's id is the
    hash of its text, so two files with the same text have the same id. Whether the text is a diff,
    `apply_patch` says.

    Raises:
        UsageProblem: there is no such folder, no patch in it, or one cannot be read, is no regular
            file, or is a link that leads out of the folder.
    """
    files = dict.fromkeys(file.absolute() for path in paths for file in _patch_files(path))
    folder = Path(os.path.commonpath([file.parent for file in files]))
    return tuple(_read(file, folder) for file in files)


def _patch_files(path: Path) -> list[Path]:
    """Return a file, or those in a folder, that are called patches."""
    folder = path if path.is_dir() else path.parent
    files = [
        file
        for file in sorted(path.rglob("*")) or [path]
        if file.suffix.casefold() in SUFFIXES and file.exists()
    ]
    files = [file for file in files if "/." not in f"/{file.relative_to(folder)}"]
    if not files:
        what = "patches in" if path.exists() else "file or folder"
        raise UsageProblem(
            f"no {what} {str(path)!r} (give a folder of *.diff and *.patch, such files, or "
            "git:BRANCH; 'git mailsplit' splits a mailbox)"
        )
    for file in files if path.is_dir() else ():
        if not file.resolve().is_relative_to(folder.resolve()):
            raise UsageProblem(
                f"the patch {str(file)!r} is a link that leads out of its folder (copy the file)"
            )
    return files


def _read(path: Path, folder: Path) -> Patch:
    try:
        data = read_bounded(path)
    except OSError as error:
        raise UsageProblem(
            f"cannot read the patch {str(path)!r}: {error.strerror}"
        ) from error
    name = on_a_line(str(path.relative_to(folder)))
    sender = _SENDER.search(data) if _FROM.match(data) else None
    source = decode(sender[1]).casefold() if sender else name.rpartition("/")[0]
    return _patch(name, data, source)


def _patch(name: str, data: bytes, source: str) -> Patch:
    text = decode(data.removeprefix(b"\xef\xbb\xbf"))
    return Patch(id=content_id(text), name=name, text=text, source=source)


def complete(address: Address, root: Path) -> Address:
    """Return the address with its repository, that of the project at `root` where it names none.

    Raises:
        UsageProblem: the project is not known to come from GitHub.
    """
    if address.repository:
        return address
    repository = find_repository(root.resolve())
    remotes = read_remotes(repository) if repository else {}
    # Of a fork, issues and pull requests are in the repository that it was made from.
    names = ("upstream", "origin", *remotes)
    known = next(filter(None, (repository_of(remotes.get(name, "")) for name in names)), "")
    if not known:
        raise UsageProblem(
            f"{address.text!r}: the project has no remote that is on GitHub (write OWNER/REPO"
            f"#{address.number})"
        )
    return replace(address, repository=known)
