"""The attempts to apply a patch to a scratch tree: exact first, then mended, never fuzzy.

Each attempt is one ``git apply``, which changes all files or none. GNU ``patch`` is not
used: it leaves half-applied trees, and its fuzz puts hunks where they do not belong.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from pytest_brt.errors import PatchProblem
from pytest_brt.patches.form import with_line_ends, write_form
from pytest_brt.patches.git import GitReply, run_git
from pytest_brt.patches.names import encode
from pytest_brt.patches.place import (
    find_adrift,
    find_places,
    first_line,
    is_bare,
    is_change,
    old_lines,
    place,
    split_lines,
)
from pytest_brt.patches.target import Target

#: Without this flag a hunk without context must be at an end of its file.
_BY_NUMBER = ("--unidiff-zero",)
_FAILED = re.compile(r"^error: patch failed: (.*):(\d+)$", re.MULTILINE)
_ERROR = re.compile(r"^(?:error|fatal): (?!while searching for)(.*)$", re.MULTILINE)
_CHECKING = re.compile(r"^Checking patch (.*)\.\.\.$")
_OFFSET = re.compile(r"^Hunk #(\d+) succeeded at \d+ \(offset -?\d+ lines?\)\.$")


@dataclass(frozen=True, slots=True, kw_only=True)
class _Attempt:
    """One way to apply a patch."""

    targets: tuple[Target, ...]
    #: What was done to make it apply; none when it is applied as it is written.
    repairs: tuple[str, ...] = ()
    flags: tuple[str, ...] = ()


def climb(
    targets: tuple[Target, ...], repairs: tuple[str, ...], before: dict[str, bytes], tree: Path
) -> tuple[str, ...]:
    """Apply `targets` to the files in `tree`; return remarks on how it was done.

    `repairs` is what reading them put right; `before` has the content of the files in `tree`.

    Raises:
        PatchProblem: no attempt succeeds; the files are as they were.
    """
    if not write_form(targets):
        return ()
    reply = None
    for attempt in _attempts(targets, repairs, before):
        reply = _apply(attempt, tree)
        if not reply.status:
            leniently = f"applied leniently: {', '.join(attempt.repairs)}"
            notes = (leniently,) if attempt.repairs else ()
            return (*notes, *_ambiguous(reply, attempt.targets, before))
    raise _explain(reply.stderr if reply else "", targets)


def _attempts(
    targets: tuple[Target, ...], repairs: tuple[str, ...], before: dict[str, bytes]
) -> Iterator[_Attempt]:
    mended = with_line_ends(targets, before)
    adrift = find_adrift(mended, before)
    if adrift is not None:
        path, hunk = adrift
        raise PatchProblem(
            f"does not apply: the hunk at line {first_line(hunk)} of the patch has no context that"
            f" says where in {path!r} it belongs (write it with 'git diff -U3')"
        )
    if not repairs:
        exact = place(targets, before, search=False)
        if exact is not None:
            yield _Attempt(targets=exact, flags=_BY_NUMBER)
        yield _Attempt(targets=targets)
    if mended != targets:
        repairs = (*repairs, "line ends converted")
    if repairs:
        yield _Attempt(targets=mended, repairs=repairs)
    placed = place(mended, before, search=True)
    if placed is not None:
        moved = (*repairs, "hunks placed by their lines")
        yield _Attempt(targets=placed, repairs=moved, flags=_BY_NUMBER)
    if not any(is_bare(hunk) for target in targets for hunk in target.hunks):
        blanks = (*repairs, "differences in blanks ignored")
        yield _Attempt(targets=mended, repairs=blanks, flags=("--ignore-whitespace",))


def _apply(attempt: _Attempt, tree: Path) -> GitReply:
    text = write_form(attempt.targets)
    flags = ("-p1", "--verbose", "--whitespace=nowarn", *attempt.flags)
    return run_git(tree, "apply", *flags, "-", stdin=encode(text))


def _explain(stderr: str, targets: tuple[Target, ...]) -> PatchProblem:
    """Return the problem that says which hunk of which file git could not place."""
    failed = _FAILED.search(stderr)
    if failed is None:
        error = _ERROR.search(stderr)
        said = error[1] if error else "nothing"
        return PatchProblem(f"does not apply: git says {said!r}")
    path, start = failed[1], int(failed[2])
    for target in targets:
        if path not in (target.old, target.new):
            continue
        changing = (hunk for hunk in target.hunks if is_change(hunk))
        for number, hunk in enumerate(changing, start=1):
            if hunk.source_start == start:
                return PatchProblem(
                    f"does not apply: {path!r} has no lines like those of hunk {number}"
                    f" (line {first_line(hunk)} of the patch, meant for line {start} of the file)"
                )
    return PatchProblem(f"does not apply: {path!r} has other lines near line {start}")


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
                hunks = [hunk for hunk in target.hunks if is_change(hunk)]
                if target.path != path or number > len(hunks):
                    continue
                olds = old_lines(hunks[number - 1])
                places = len(find_places(split_lines(before, target), olds))
                if places > 1:
                    notes.append(
                        f"hunk {number} of {path!r} fits in {places} places, none at its line:"
                        " the nearest was taken"
                    )
    return tuple(notes)
