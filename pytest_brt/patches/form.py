"""What is given to ``git apply``: the parts that were read, written by unidiff.

git sees only what `scan` saw, so that prose, odd prefixes and dates cannot make the two
disagree on the files that a patch touches.
"""

from __future__ import annotations

from dataclasses import replace

from unidiff.patch import Hunk, Line, PatchedFile, PatchInfo

from pytest_brt.patches.names import quote
from pytest_brt.patches.place import is_change
from pytest_brt.patches.scan import binary_data, is_copy, moved
from pytest_brt.patches.target import Target


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
        binary_data(diff)
        or moved(diff)
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
    data = binary_data(target.diff)
    lines = (f"diff --git {old} {new}", *_extended(target))
    file = PatchedFile(
        PatchInfo([*(f"{line}\n" for line in lines), *data]),
        source="/dev/null" if target.old is None else old,
        target="/dev/null" if target.new is None else new,
        is_binary_file=bool(data),
    )
    # A hunk without a change says nothing, and git takes it for damage.
    file.extend(hunk for hunk in target.hunks if is_change(hunk) and not data)
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
