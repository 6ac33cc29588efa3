"""The attempts to apply a patch to a scratch tree: exact first, then mended, never fuzzy.

Each attempt is one ``git apply``, which changes all files or none. GNU ``patch`` is not
used: it leaves half-applied trees, and its fuzz puts hunks where they do not belong.

What git is given are the parts that were read, written by unidiff: git sees only what `scan` saw,
so that prose, odd prefixes and dates cannot make the two disagree on what a patch touches.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path

from unidiff.patch import Hunk, Line, PatchedFile, PatchInfo

from pytest_brt.errors import PatchProblem
from pytest_brt.patches.git import GitReply, run_git
from pytest_brt.patches.names import encode, quote
from pytest_brt.patches.scan import is_copy, moved
from pytest_brt.patches.target import (
    Target,
    find_adrift,
    find_places,
    first_line,
    is_bare,
    is_change,
    old_lines,
    place,
    split_lines,
)

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


def write_form(targets: tuple[Target, ...]) -> str:
    """Return `targets` as one diff with a/ and b/ prefixes; "" when none changes anything."""
    return "".join(str(_file(target)) for target in targets if _does_something(target))


def with_line_ends(targets: tuple[Target, ...], before: dict[str, bytes]) -> tuple[Target, ...]:
    """Return `targets` with the line ends of their files, where each of the two has one kind.

    `before` has the content of the files that are there.
    """
    return tuple(
        replace(
            target,
            hunks=tuple(
                _converted(hunk, before.get(target.old or "", b"")) for hunk in target.hunks
            ),
        )
        for target in targets
    )


def _does_something(target: Target) -> bool:
    diff = target.diff
    return bool(
        moved(diff)
        or target.old is None
        or target.new is None
        or _changes_mode(diff)
        or any(is_change(hunk) for hunk in target.hunks)
    )


def _changes_mode(diff: PatchedFile) -> bool:
    return bool(diff.source_mode and diff.target_mode and diff.source_mode != diff.target_mode)


def _file(target: Target) -> PatchedFile:
    old = quote(f"a/{target.old if target.old is not None else target.new}")
    new = quote(f"b/{target.new if target.new is not None else target.old}")
    lines = (f"diff --git {old} {new}", *_extended(target))
    file = PatchedFile(
        PatchInfo([f"{line}\n" for line in lines]),
        source="/dev/null" if target.old is None else old,
        target="/dev/null" if target.new is None else new,
    )
    # A hunk without a change says nothing, and git takes it for damage.
    file.extend(hunk for hunk in target.hunks if is_change(hunk))
    return file


def _extended(target: Target) -> list[str]:
    diff = target.diff
    if target.old is None:
        return [f"new file mode {diff.target_mode or '100644'}"]
    if target.new is None:
        return [f"deleted file mode {diff.source_mode or '100644'}"]
    lines = []
    if _changes_mode(diff):
        lines += [f"old mode {diff.source_mode}", f"new mode {diff.target_mode}"]
    if moved(diff):
        word = "copy" if is_copy(diff) else "rename"
        lines += [f"{word} from {quote(target.old)}", f"{word} to {quote(target.new)}"]
    return lines


def _converted(hunk: Hunk, content: bytes) -> Hunk:
    """Return `hunk` with the line ends of `content`, when each has one kind and they differ."""
    ends, returns = content.count(b"\n"), content.count(b"\r\n")
    has_returns = {line.value.endswith("\r\n") for line in hunk if line.line_type != "\\"}
    if ends and ends == returns and has_returns == {False}:
        end = "\r\n"
    elif not returns and has_returns == {True}:
        end = "\n"
    else:
        return hunk
    converted = Hunk(hunk.source_start, hunk.source_length, hunk.target_start, hunk.target_length)
    for line, after in zip(hunk, [*hunk[1:], None], strict=True):
        # The last line of a file that ends without a line end gets none.
        is_last = after is not None and after.line_type == "\\"
        text = line.value.removesuffix("\n").removesuffix("\r")
        value = line.value if line.line_type == "\\" else text + ("\n" if is_last else end)
        converted.append(Line(value, line.line_type, diff_line_no=line.diff_line_no))
    return converted
