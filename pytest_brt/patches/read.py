"""A folder of patches → `Patch` values."""

from __future__ import annotations

import codecs
import os
import re
from collections import Counter
from collections.abc import Sequence
from dataclasses import replace
from email import message_from_bytes
from email.message import Message
from email.utils import parseaddr
from itertools import chain
from pathlib import Path

from pytest_brt.bounded import read_bounded
from pytest_brt.codec import content_id
from pytest_brt.errors import UsageProblem
from pytest_brt.patches.text import decode
from pytest_brt.shown import on_a_line
from pytest_brt.types import Patch

#: What files of patches are called.
SUFFIXES = (".diff", ".patch")
#: The line with which `git format-patch` begins a mail (RFC 4155).
_FROM = re.compile(rb"From \S+ .*\d\d:\d\d:\d\d \d{4}.*\n")


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
    folder = common_folder(paths)
    files = dict.fromkeys(chain.from_iterable(map(_patch_files, paths)))
    patches = _with_folders([_read(file, folder) for file in files])
    names = Counter(patch.name for patch in patches)
    twice = next((name for name, times in names.items() if times > 1), None)
    if twice is not None:
        raise UsageProblem(f"two patches in {str(folder)!r} are both called {twice!r} (rename one)")
    if not patches:
        raise UsageProblem(
            f"no patches in {str(folder)!r} (looked for *.diff and *.patch in it and in its "
            "folders)"
        )
    return patches


def _with_folders(patches: Sequence[Patch]) -> tuple[Patch, ...]:
    """Return patches with their folders as sources, where there are several and no mail tells."""
    folders = {patch.name: patch.name.rpartition("/")[0] for patch in patches}
    if len(set(folders.values())) < 2:
        return tuple(patches)
    return tuple(replace(patch, source=patch.source or folders[patch.name]) for patch in patches)


def common_folder(paths: Sequence[Path]) -> Path:
    """Return the folder from which names of patches count: one folder, or what all lie in."""
    folders = [path.parent if path.is_file() else path for path in paths]
    if len(set(folders)) == 1:
        return folders[0]
    return Path(os.path.commonpath(map(Path.absolute, folders)))


def holds_patches(path: Path) -> bool:
    """Say whether a path is a file of patches, or a folder with some."""
    if path.is_dir():
        return bool(_files(path))
    return path.name.casefold().endswith(SUFFIXES) and path.is_file()


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
    found = []
    for at, folders, names in os.walk(folder):
        folders[:] = [name for name in folders if not name.startswith(".")]
        found += [
            Path(at, name)
            for name in names
            if name.casefold().endswith(SUFFIXES) and not name.startswith(".")
        ]
    own = folder.resolve()
    astray = next((path for path in found if not path.resolve().is_relative_to(own)), None)
    if astray is not None:
        raise UsageProblem(
            f"the patch {str(astray)!r} is a link that leads out of its folder (copy the file)"
        )
    return sorted(found, key=lambda path: path.relative_to(folder).parts)


def _read(path: Path, folder: Path) -> Patch:
    try:
        data = read_bounded(path)
    except OSError as error:
        raise UsageProblem(f"cannot read the patch {str(path)!r}: {error.strerror}") from error
    # File names can hold any bytes, but reports are UTF-8.
    below = path.absolute().relative_to(folder.absolute()).as_posix()
    raw = os.fsencode(below)
    sender = ""
    if begins := _FROM.match(data):
        mail = message_from_bytes(data[begins.end() :])
        data, sender = _body(mail), _sender(mail)
    text = _text(data)
    return Patch(
        id=content_id(text),
        name=on_a_line(raw.decode("utf-8", "backslashreplace")),
        text=text,
        file=below,
        source=sender,
    )


def _sender(mail: Message) -> str:
    """Return the address that a mail comes from; "" where it does not say."""
    name, address = parseaddr(str(mail.get("From", "")))
    return (address or name).casefold()


def _text(data: bytes) -> str:
    """Return `data` as text; PowerShell's ``>`` writes UTF-16, editors a mark in front."""
    if data.startswith((codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)):
        return data.decode("utf-16", "replace")
    return decode(data.removeprefix(codecs.BOM_UTF8))


def _body(mail: Message) -> bytes:
    """Return the text of a mail, decoded from what its transport made of it."""
    parts = [part for part in mail.walk() if not part.is_multipart()]
    bodies = [part.get_payload(decode=True) for part in parts]
    return b"\n".join(body for body in bodies if isinstance(body, bytes))
