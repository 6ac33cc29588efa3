"""Patches as people have them: folders and files, branches, and pull requests."""

from __future__ import annotations

import os
import re
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import replace
from email.parser import BytesHeaderParser
from email.utils import parseaddr
from pathlib import Path
from typing import NamedTuple

from pytest_brt.bounded import read_bounded
from pytest_brt.codec import content_id
from pytest_brt.errors import UsageProblem
from pytest_brt.patches.git import find_repository, read_remotes
from pytest_brt.patches.history import History
from pytest_brt.patches.text import decode
from pytest_brt.report.github import Address, find_address, read_author, read_diff, repository_of
from pytest_brt.shown import on_a_line
from pytest_brt.types import Patch

#: What files of patches are called.
SUFFIXES = (".diff", ".patch")
_BRANCHES = "git:"
#: The line with which `git format-patch` begins a mail (RFC 4155).
_FROM = re.compile(rb"From \S+ .*\d\d:\d\d:\d\d \d{4}.*\n")


class Proposals(NamedTuple):
    """The patches that a user named."""

    patches: tuple[Patch, ...]
    #: Branches that change nothing, which are no patches.
    unchanged: tuple[str, ...]


class _Diff(NamedTuple):
    """What is elsewhere than in a file, and how the file for it is called."""

    stem: str
    name: str
    author: str
    content: bytes


def read_proposals(sources: Sequence[str], root: Path, scratch: Path) -> Proposals:
    """Return the patches that `sources` name, for the project at `root`.

    Branches (``git:PATTERN``) and pull requests (``#12``, ``OWNER/REPO#12``, or an address) are
    written as files into `scratch`.

    Raises:
        UsageProblem: one of them is not there, or cannot be read.
    """
    paths = [Path(source) for source in sources if not _is_elsewhere(source)]
    patches = [*read_patches(*paths)] if paths else []
    unchanged = []
    for number, source in enumerate(filter(_is_elsewhere, sources)):
        folder = scratch / f"patches-{number}"
        for diff in _diffs(source, root):
            file = folder / f"{diff.stem}.diff"
            if not diff.content:
                unchanged.append(diff.name)
                continue
            file.parent.mkdir(parents=True, exist_ok=True)
            file.write_bytes(diff.content)
            patches.append(replace(_read(file, folder), name=diff.name, source=diff.author))
    for name, times in Counter(patch.name for patch in patches).items():
        if times > 1:
            raise UsageProblem(f"two patches are both called {name!r} (rename one)")
    return Proposals(tuple(patches), tuple(unchanged))


def _is_elsewhere(source: str) -> bool:
    """Say whether what a user named is no path, but branches or a pull request."""
    named = source.startswith(_BRANCHES) or find_address(source) is not None
    return named and not Path(source).exists()


def _diffs(source: str, root: Path) -> Iterator[_Diff]:
    """Yield a pull request, or of each branch what changed there since it left HEAD.

    Raises:
        UsageProblem: no branch matches, or none of those that do changes anything.
    """
    if address := find_address(source):
        known = complete(address, root)
        name = f"{'' if address.text.startswith('#') else known.repository}#{known.number}"
        yield _Diff(known.stem, name, read_author(known), read_diff(known))
        return
    pattern, history = source.removeprefix(_BRANCHES), History(root)
    branches = history.branches(pattern)
    if not branches:
        raise UsageProblem(
            f"no branch is called {pattern!r} in {str(history.root)!r} (see 'git branch --all'; "
            "* and ? stand for parts of a name)"
        )
    diffs = [_Diff(name, name, by, history.diff_of(name)) for name, by in branches.items()]
    if not any(diff.content for diff in diffs):
        raise UsageProblem(
            f"{', '.join(branches)}: nothing is changed there since the commit that is checked out "
            "(check out the buggy commit first)"
        )
    yield from diffs


def read_patches(*paths: Path) -> tuple[Patch, ...]:
    """Return the patches in folders and the folders in them, sorted by name, or of files.

    Each holds one candidate fix, as a diff or as the mail of it (``git format-patch``). Hidden
    files and folders are passed over, and links to folders are not followed. Bytes that are not
    UTF-8 are kept as surrogate escapes. Its source is the sender of its mail, else its folder
    where the patches lie in several. A patch's id is the hash of its text, so two files with the
    same text have the same id. Whether the text is a diff, `apply_patch` says.

    Raises:
        UsageProblem: there is no such folder, no patch in it, or one cannot be read, is no regular
            file, or is a link that leads out of the folder.
    """
    files = dict.fromkeys(file for path in paths for file in _patch_files(path))
    folders = [(path.parent if path.is_file() else path).absolute() for path in paths]
    folder = Path(os.path.commonpath(folders))
    patches = [_read(file, folder) for file in files]
    if not patches:
        raise UsageProblem(
            f"no patches in {str(folder)!r} (looked for *.diff and *.patch in it and in its "
            "folders)"
        )
    if len({Path(patch.name).parent for patch in patches}) > 1:
        patches = [replace(p, source=p.source or p.name.rpartition("/")[0]) for p in patches]
    return tuple(patches)


def _patch_files(path: Path) -> list[Path]:
    if not path.is_dir():
        if path.exists() and path.suffix.casefold() in SUFFIXES:
            return [path]
        raise UsageProblem(
            f"no such folder, and no patch: {str(path)!r} (give a folder of *.diff and *.patch, "
            "such files, or git:BRANCH; 'git mailsplit' splits a mailbox)"
        )
    files = [
        file
        for file in sorted(path.rglob("*"))
        if file.suffix.casefold() in SUFFIXES
        and not any(part.startswith(".") for part in file.relative_to(path).parts)
    ]
    for file in files:
        if not file.resolve().is_relative_to(path.resolve()):
            raise UsageProblem(
                f"the patch {str(file)!r} is a link that leads out of its folder (copy the file)"
            )
    return files


def _read(path: Path, folder: Path) -> Patch:
    try:
        data = read_bounded(path)
    except OSError as error:
        raise UsageProblem(f"cannot read the patch {str(path)!r}: {error.strerror}") from error
    sender = ""
    if begins := _FROM.match(data):
        # Its headers alone: parts in parts could be nested without end.
        mail = BytesHeaderParser().parsebytes(data[begins.end() :])
        name, address = parseaddr(str(mail.get("From", "")))
        sender = (address or name).casefold()
        body = mail.get_payload(decode=True)
        data = body if isinstance(body, bytes) else data
    text = decode(data.removeprefix(b"\xef\xbb\xbf"))
    file = path.absolute()
    below = os.fsencode(file.relative_to(folder.absolute()).as_posix())
    return Patch(
        id=content_id(text),
        # File names can hold any bytes, but reports are UTF-8.
        name=on_a_line(below.decode("utf-8", "backslashreplace")),
        text=text,
        file=str(file),
        source=sender,
    )


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
    order = sorted(remotes, key=lambda name: (name != "upstream", name != "origin"))
    known = next(filter(None, (repository_of(remotes[name]) for name in order)), "")
    if not known:
        raise UsageProblem(
            f"{address.text!r}: the project has no remote that is on GitHub (write OWNER/REPO"
            f"#{address.number})"
        )
    return replace(address, repository=known)
