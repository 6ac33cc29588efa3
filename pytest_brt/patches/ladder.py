"""The attempts to apply a patch to a scratch tree: exact first, then mended, never fuzzy.

Each attempt is one ``git apply``, which changes all files or none. GNU ``patch`` is not
used: it leaves half-applied trees, and its fuzz puts hunks where they do not belong.
"""

from __future__ import annotations

import re
from pathlib import Path
from typing import NoReturn

from pytest_brt.errors import PatchProblem
from pytest_brt.patches.form import mend, write_form
from pytest_brt.patches.git import GitReply, run_git
from pytest_brt.patches.names import decode, encode
from pytest_brt.patches.target import Target

_FAILED = re.compile(r"^error: patch failed: (.*):(\d+)$", re.MULTILINE)
_ERROR = re.compile(r"^(?:error|fatal): (?!while searching for)(.*)$", re.MULTILINE)
_CHECKING = re.compile(r"^Checking patch (.*)\.\.\.$")
_OFFSET = re.compile(r"^Hunk #(\d+) succeeded at \d+ \(offset -?\d+ lines?\)\.$")


def climb(targets: tuple[Target, ...], before: dict[str, bytes], tree: Path) -> tuple[str, ...]:
    """Apply `targets` to the files in `tree`; return remarks on how it was done.

    `before` has the content of the files that are in `tree`.

    Raises:
        PatchProblem: no attempt succeeds; the files are as they were.
    """
    exact = write_form(targets)
    if not exact:
        return ()
    reply = None
    # git would drop lines beyond wrong counts without a word.
    if all(hunk.is_counted for target in targets for hunk in target.diff.hunks):
        reply = _apply(exact, tree)
        if not reply.status:
            return _ambiguous(reply, targets, before)
    mended = mend(targets, before)
    text = write_form(mended.targets)
    repairs = mended.repairs
    if reply is None or text != exact:
        reply = _apply(text, tree)
    if reply.status:
        reply = _apply(text, tree, "--ignore-whitespace")
        repairs = (*repairs, "differences in blanks ignored")
    if reply.status:
        _explain(reply, targets)
    return (
        f"applied leniently: {', '.join(repairs)}",
        *_ambiguous(reply, mended.targets, before),
    )


def _apply(text: str, tree: Path, *flags: str) -> GitReply:
    return run_git(
        tree, "apply", "-p1", "--verbose", "--whitespace=nowarn", *flags, "-", stdin=encode(text)
    )


def _explain(reply: GitReply, targets: tuple[Target, ...]) -> NoReturn:
    """Raise the PatchProblem that says which hunk of which file git could not place."""
    failed = _FAILED.search(reply.stderr)
    if failed is None:
        error = _ERROR.search(reply.stderr)
        said = error[1] if error else f"exit status {reply.status}"
        raise PatchProblem(f"does not apply: git says {said!r}")
    path, start = failed[1], int(failed[2])
    for target in targets:
        if path not in (target.old, target.new):
            continue
        changing = (hunk for hunk in target.diff.hunks if hunk.is_change)
        for number, hunk in enumerate(changing, start=1):
            if hunk.old_start == start:
                raise PatchProblem(
                    f"does not apply: {path!r} has no lines like those of hunk {number}"
                    f" (line {hunk.line} of the patch, meant for line {start} of the file)"
                )
    raise PatchProblem(f"does not apply: {path!r} has other lines near line {start}")


def _ambiguous(
    reply: GitReply, targets: tuple[Target, ...], before: dict[str, bytes]
) -> tuple[str, ...]:
    """Return a remark for each hunk that was moved although it fits in several places."""
    notes = []
    path = ""
    for line in reply.stderr.splitlines():
        if checking := _CHECKING.match(line):
            path = checking[1].rpartition(" => ")[2]
        elif moved := _OFFSET.match(line):
            number = int(moved[1])
            for target in targets:
                hunks = [hunk for hunk in target.diff.hunks if hunk.is_change]
                if target.path != path or number > len(hunks):
                    continue
                content = decode(before.get(target.old or "", b""))
                places = _count_places(content, hunks[number - 1].olds)
                if places > 1:
                    notes.append(
                        f"hunk {number} of {path!r} fits in {places} places, none at its line:"
                        " the nearest was taken"
                    )
    return tuple(notes)


def _count_places(content: str, olds: tuple[str, ...]) -> int:
    """Return at how many lines of `content` the lines `olds` stand together."""
    lines = content.split("\n")
    wanted = list(olds)
    return sum(
        lines[at] == wanted[0] and lines[at : at + len(wanted)] == wanted
        for at in range(len(lines) - len(wanted) + 1)
        if wanted
    )
