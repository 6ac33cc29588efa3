"""Patches as people have them: folders and files, branches, and pull requests."""

from __future__ import annotations

import os
import re
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from email.parser import BytesHeaderParser
from email.utils import parseaddr
from pathlib import Path

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


@dataclass(slots=True, kw_only=True)
class Proposals:
    """The patches that a user named."""

    #: By the file that each was read from, or that stands for it.
    files: dict[Path, Patch] = field(default_factory=dict)
    #: Branches that change nothing, which are no patches.
    unchanged: list[str] = field(default_factory=list)

    @property
    def patches(self) -> tuple[Patch, ...]:
        """All of them, in the order in which they were named."""
        return tuple(self.files.values())

    def add(self, file: Path, patch: Patch) -> None:
        """Take a patch that is in a file."""
        if any(patch.name == known.name for known in self.patches):
            raise UsageProblem(f"two patches are both called {patch.name!r} (rename one)")
        self.files[Path(os.path.abspath(file))] = patch  # noqa: PTH100 - follows no link


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
    for patch in read_patches(*paths) if paths else ():
        proposals.add(_common_folder(paths) / patch.file, patch)
    for number, source in enumerate(filter(is_elsewhere, sources)):
        folder = scratch / f"patches-{number}"
        address = find_address(source)
        if address is None:
            diffs = _diffs_of_branches(source.removeprefix(_BRANCHES), History(root))
        else:
            known = complete(address, root)
            name = f"{'' if address.text.startswith('#') else known.repository}#{known.number}"
            diffs = {known.stem: (name, read_diff(known), read_author(known))}
        for stem, (name, diff, author) in diffs.items():
            file = folder / f"{stem}.diff"
            if not diff:
                proposals.unchanged.append(name)
                continue
            file.parent.mkdir(parents=True, exist_ok=True)
            file.write_bytes(diff)
            proposals.add(file, replace(_read(file, folder), name=name, source=author))
    return proposals


def _diffs_of_branches(pattern: str, history: History) -> dict[str, tuple[str, bytes, str]]:
    """Return of each branch that matches its name, its changes since it left HEAD, its author.

    Raises:
        UsageProblem: no branch matches, or none of those that do changes anything.
    """
    diffs = {
        name: (name, history.diff_of(name), author)
        for name, author in history.branches(pattern).items()
    }
    if not diffs:
        raise UsageProblem(
            f"no branch is called {pattern!r} in {str(history.root)!r} (see 'git branch --all'; "
            "* and ? stand for parts of a name)"
        )
    if not any(diff for _, diff, _ in diffs.values()):
        raise UsageProblem(
            f"{', '.join(diffs)}: nothing is changed there since the commit that is checked out "
            "(check out the buggy commit first)"
        )
    return diffs


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
    folder = _common_folder(paths)
    files = dict.fromkeys(file for path in paths for file in _patch_files(path))
    patches = [_read(file, folder) for file in files]
    if not patches:
        raise UsageProblem(
            f"no patches in {str(folder)!r} (looked for *.diff and *.patch in it and in its "
            "folders)"
        )
    folders = [patch.name.rpartition("/")[0] for patch in patches]
    if len({*folders}) > 1:
        pairs = zip(patches, folders, strict=True)
        patches = [replace(patch, source=patch.source or folder) for patch, folder in pairs]
    return tuple(patches)


def _common_folder(paths: Sequence[Path]) -> Path:
    """Return the folder from which names of patches count: one folder, or what all lie in."""
    folders = [path.parent if path.is_file() else path for path in paths]
    if len(set(folders)) == 1:
        return folders[0]
    return Path(os.path.commonpath(map(Path.absolute, folders)))


def _patch_files(path: Path) -> list[Path]:
    if not path.exists():
        raise UsageProblem(
            f"no such folder: {str(path)!r} (give a folder of *.diff and *.patch, such files, or "
            "git:BRANCH)"
        )
    if path.is_dir():
        return _files(path)
    if not path.name.casefold().endswith(SUFFIXES):
        raise UsageProblem(
            f"neither a folder nor a patch: {str(path)!r} (patches are called *.diff or *.patch; "
            "'git mailsplit' splits a mailbox)"
        )
    return [path]


def _files(folder: Path) -> list[Path]:
    found: list[Path] = []
    for at, folders, names in os.walk(folder):
        folders[:] = [name for name in folders if not name.startswith(".")]
        shown = [name for name in names if not name.startswith(".")]
        found += [Path(at, name) for name in shown if name.casefold().endswith(SUFFIXES)]
    for path in found:
        if not path.resolve().is_relative_to(folder.resolve()):
            raise UsageProblem(
                f"the patch {str(path)!r} is a link that leads out of its folder (copy the file)"
            )
    return sorted(found, key=lambda path: path.relative_to(folder).parts)


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
    below = path.absolute().relative_to(folder.absolute()).as_posix()
    return Patch(
        id=content_id(text),
        # File names can hold any bytes, but reports are UTF-8.
        name=on_a_line(os.fsencode(below).decode("utf-8", "backslashreplace")),
        text=text,
        file=below,
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
