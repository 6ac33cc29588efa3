"""What is given to ``git apply``: the parts that were read, written in git's own form.

git sees only what `scan` saw, so that prose, odd prefixes and dates cannot make the two
disagree on the files that a patch touches.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

from pytest_brt.patches.diff import FileDiff, Hunk
from pytest_brt.patches.names import quote
from pytest_brt.patches.target import Target


@dataclass(frozen=True, slots=True, kw_only=True)
class Mended:
    """Targets with their hunks put right, and what was done to them."""

    targets: tuple[Target, ...]
    #: As in "hunk counts corrected".
    repairs: tuple[str, ...]


def write_form(targets: tuple[Target, ...]) -> str:
    """Return `targets` as one diff with a/ and b/ prefixes; "" when none changes anything."""
    return "".join(_file(target) for target in targets if _does_something(target))


def mend(targets: tuple[Target, ...], before: dict[str, bytes]) -> Mended:
    """Return `targets` with counts that are those of their hunks, and their files' line ends.

    Line ends are converted only between a file and a patch that each have one kind. `before`
    has the content of the files that are there.
    """
    repairs: list[str] = []
    mended: list[Target] = []
    for target in targets:
        content = before.get(target.old or "", b"")
        hunks = target.diff.hunks
        if not all(hunk.is_counted for hunk in hunks):
            hunks = tuple(_recounted(hunk) for hunk in hunks)
            repairs.append("hunk counts corrected")
        converted = tuple(_with_line_ends(hunk, content) for hunk in hunks)
        if converted != hunks:
            repairs.append("line ends converted")
        mended.append(replace(target, diff=replace(target.diff, hunks=converted)))
    return Mended(targets=tuple(mended), repairs=tuple(dict.fromkeys(repairs)))


def _does_something(target: Target) -> bool:
    diff = target.diff
    return bool(
        diff.binary
        or diff.moved
        or target.old is None
        or target.new is None
        or diff.old_mode != diff.new_mode != ""
        or any(hunk.is_change for hunk in diff.hunks)
    )


def _file(target: Target) -> str:
    diff = target.diff
    old = quote(f"a/{target.old if target.old is not None else target.new}")
    new = quote(f"b/{target.new if target.new is not None else target.old}")
    lines = [f"diff --git {old} {new}", *_extended(target)]
    # A hunk without a change says nothing, and git takes it for damage.
    hunks = [hunk for hunk in diff.hunks if hunk.is_change]
    if diff.binary:
        lines += [f"index {diff.index}"] if diff.index else []
        lines += diff.binary
    elif hunks:
        lines.append("--- " + ("/dev/null" if target.old is None else old))
        lines.append("+++ " + ("/dev/null" if target.new is None else new))
        for hunk in hunks:
            lines.append(
                f"@@ -{hunk.old_start},{hunk.old_count} +{hunk.new_start},{hunk.new_count} @@"
            )
            lines += hunk.body
    return "\n".join(lines) + "\n"


def _extended(target: Target) -> list[str]:
    diff: FileDiff = target.diff
    if target.old is None:
        return [f"new file mode {diff.new_mode or '100644'}"]
    if target.new is None:
        return [f"deleted file mode {diff.old_mode or '100644'}"]
    lines = []
    if diff.old_mode and diff.new_mode and diff.old_mode != diff.new_mode:
        lines += [f"old mode {diff.old_mode}", f"new mode {diff.new_mode}"]
    if diff.moved:
        word = "copy" if diff.is_copy else "rename"
        lines += [f"{word} from {quote(target.old)}", f"{word} to {quote(target.new)}"]
    return lines


def _recounted(hunk: Hunk) -> Hunk:
    return replace(hunk, old_count=len(hunk.olds), new_count=len(hunk.news))


def _with_line_ends(hunk: Hunk, content: bytes) -> Hunk:
    """Return `hunk` with the line ends of `content`, when each has one kind and they differ."""
    ends, returns = content.count(b"\n"), content.count(b"\r\n")
    lines = [line for line in hunk.body if not line.startswith("\\")]
    has_returns = {line.endswith("\r") for line in lines}
    if ends and ends == returns and has_returns == {False}:
        body = tuple(line if line.startswith("\\") else line + "\r" for line in hunk.body)
        return replace(hunk, body=_without_return_at_end(body))
    if not returns and has_returns == {True}:
        return replace(hunk, body=tuple(line.removesuffix("\r") for line in hunk.body))
    return hunk


def _without_return_at_end(body: tuple[str, ...]) -> tuple[str, ...]:
    r"""Take the carriage return off lines that "\ No newline at end of file" follows."""
    return tuple(
        line.removesuffix("\r") if after.startswith("\\") else line
        for line, after in zip(body, (*body[1:], ""), strict=True)
    )
