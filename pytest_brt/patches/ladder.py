"""The attempts to apply a patch: exact first, then mended, never fuzzy.

A hunk belongs where its number says when all its lines stand there; else where they stand nearest
to it, as for ``git apply``: one that says line 1 is at the beginning of its file then, and one
without context after it at the end. Machine-written hunks often lack context, or always say line
1: they go where their lines stand in exactly one place. No context is skipped, nothing is guessed.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

from unidiff.patch import Hunk, Line

from pytest_brt.patches.file_names import decode, encode
from pytest_brt.patches.problem import PatchProblem
from pytest_brt.patches.scan import is_copy, moved
from pytest_brt.patches.target import Target
from pytest_brt.types import AppliedLeniently, Mending, PlaceChosen, Remark
from pytest_brt.types.refused import FileGone, HunkAdrift, HunkMissing, MoreLines

#: The places, from 0 and best first, at which a hunk may be in the lines of its file.
Finder = Callable[[Hunk, Sequence[str]], Sequence[int]]


@dataclass(frozen=True, slots=True, kw_only=True)
class PatchedFile:
    """A file as it is."""

    content: bytes
    executable: bool


Files = Mapping[str, PatchedFile]


def climb(
    targets: tuple[Target, ...], repairs: tuple[Mending, ...], before: Files
) -> tuple[Files, tuple[Remark, ...]]:
    """Return what `targets` make of the files in `before`, and remarks on how it was done.

    `repairs` is what reading them put right.

    Raises:
        PatchProblem: no attempt succeeds.
    """
    problem: PatchProblem | None = None
    for mended, find, done in _attempts(targets, repairs, before):
        try:
            after, remarks = _apply(mended, before, find)
        except PatchProblem as error:
            problem = error
            continue
        if done and after != before:
            remarks = (AppliedLeniently(mendings=done), *remarks)
        return after, remarks
    assert problem is not None, "some attempt is made always"
    raise problem


def _attempts(
    targets: tuple[Target, ...], repairs: tuple[Mending, ...], before: Files
) -> Iterator[tuple[tuple[Target, ...], Finder, tuple[Mending, ...]]]:
    """Yield what to apply, how its places are found, and what was done to make it apply."""
    mended = tuple(_with_line_ends(target, before) for target in targets)
    _check_places(mended, before)
    if not repairs:
        yield targets, _at_number, ()
        yield targets, _nearest, ()
    if mended != targets:
        repairs = (*repairs, Mending.LINE_ENDS)
    if repairs:
        yield mended, _nearest, repairs
    yield mended, _in_one_place, (*repairs, Mending.PLACES)
    if not any(_is_bare(hunk) for target in targets for hunk in target.hunks):
        yield mended, _but_for_blanks, (*repairs, Mending.BLANKS)


def _check_places(targets: tuple[Target, ...], before: Files) -> None:
    """Raise where a hunk without context could belong to several places."""
    for target in targets:
        file = before.get(target.old or "")
        lines = _lines(file)
        bare = [hunk for hunk in target.hunks if _is_change(hunk) and _is_bare(hunk)]
        for hunk in bare if file else ():
            olds = _olds(hunk)
            is_adrift = not olds or len(_find_places(_without_ends(lines), _without_ends(olds))) > 1
            if is_adrift and not _at_number(hunk, lines):
                raise PatchProblem(HunkAdrift(path=target.path, line=_first_line(hunk)))


def _apply(
    targets: tuple[Target, ...], before: Files, find: Finder
) -> tuple[Files, tuple[Remark, ...]]:
    changed: dict[str, PatchedFile | None] = {}
    remarks: list[Remark] = []
    for target in targets:
        old, diff = target.old or "", target.diff
        # A patch of the same file goes on where the one before left it; a move takes the original.
        file = before.get(old) if moved(diff) else changed.get(old, before.get(old))
        content, more = _with_hunks(target, _lines(file), find)
        remarks += more
        if target.old is not None and file is None:
            raise PatchProblem(FileGone(path=old))
        if target.new is None:
            if content:
                raise PatchProblem(MoreLines(path=old))
            changed[old] = None
            continue
        changes_mode = (
            diff.source_mode and diff.target_mode and diff.source_mode != diff.target_mode
        )
        executable = file.executable if file else False
        if changes_mode or (file is None and diff.target_mode):
            executable = diff.target_mode == "100755"
        changed[target.new] = PatchedFile(content=encode(content), executable=executable)
        if moved(diff) and not is_copy(diff):
            changed.setdefault(old, None)
    after = {**before, **changed}
    return {path: file for path, file in after.items() if file is not None}, tuple(remarks)


def _with_hunks(target: Target, lines: list[str], find: Finder) -> tuple[str, list[Remark]]:
    """Return a file's text with the hunks of `target`, and a remark where a place was chosen."""
    edits: list[tuple[int, int, list[str]]] = []
    remarks: list[Remark] = []
    hunks = [hunk for hunk in target.hunks if _is_change(hunk)]
    for number, hunk in enumerate(hunks, start=1):
        size = len(_olds(hunk))
        places = find(hunk, lines) if target.old is not None or size else (0,)
        free = (at for at in places if all(at + size <= a or b <= at for a, b, _ in edits))
        start = next(free, None)
        path = target.old if target.old is not None else target.new
        if start is None:
            raise PatchProblem(
                HunkMissing(
                    path=path or "",
                    hunk=number,
                    line=_first_line(hunk),
                    meant=hunk.source_start,
                )
            )
        fitting = len(_find_places(lines, _olds(hunk)))
        if find is _nearest and fitting > 1 and not _at_number(hunk, lines):
            remarks.append(PlaceChosen(path=path or "", hunk=number, places=fitting))
        edits.append((start, start + size, _news(hunk, lines[start : start + size])))
    for start, end, news in reversed(sorted(edits, key=lambda edit: edit[:2])):
        lines[start:end] = news
    return "".join(lines), remarks


# -- where a hunk belongs -------------------------------------------------------------------


def _at_number(hunk: Hunk, lines: Sequence[str]) -> Sequence[int]:
    olds = _olds(hunk)
    if not olds:
        # Nothing to find: certain at the end of the file only.
        return (len(lines),) if hunk.source_start == len(lines) else ()
    start = max(hunk.source_start - 1, 0)
    return (start,) if list(lines[start : start + len(olds)]) == olds else ()


def _nearest(hunk: Hunk, lines: Sequence[str]) -> Sequence[int]:
    olds = _olds(hunk)
    if not olds:
        return _at_number(hunk, lines)
    return _in_order(hunk, _find_places(lines, olds), len(lines))


def _in_one_place(hunk: Hunk, lines: Sequence[str]) -> Sequence[int]:
    # The last line of a file is like another whether it has an end or not.
    alike = _find_places(_without_ends(lines), _without_ends(_olds(hunk)))
    places = _find_places(lines, _olds(hunk))
    return _at_number(hunk, lines) or (places if len(alike) == 1 else ())


def _but_for_blanks(hunk: Hunk, lines: Sequence[str]) -> Sequence[int]:
    olds = [_squeezed(line) for line in _olds(hunk)]
    return _in_order(hunk, _find_places([_squeezed(line) for line in lines], olds), len(lines))


def _in_order(hunk: Hunk, places: Sequence[int], count: int) -> Sequence[int]:
    """Return the places that git would take, nearest first: those below before those above."""
    if hunk.source_start <= 1:
        places = [at for at in places if at == 0]
    if not [line for line in hunk if line.line_type != "\\"][-1].is_context:
        places = [at for at in places if at + len(_olds(hunk)) == count]
    wanted = hunk.source_start - 1
    return sorted(places, key=lambda at: (abs(at - wanted), at < wanted))


def _find_places(lines: Sequence[str], olds: Sequence[str]) -> tuple[int, ...]:
    """Return where in `lines` all of `olds` stand, one after another."""
    wanted = list(olds)
    return tuple(
        at
        for at in range(len(lines) - len(wanted) + 1)
        if wanted and lines[at] == wanted[0] and list(lines[at : at + len(wanted)]) == wanted
    )


def _without_ends(lines: Sequence[str]) -> list[str]:
    return [line.removesuffix("\n") for line in lines]


def _squeezed(line: str) -> str:
    return re.sub(r"[ \t\r\n]+", " ", line.rstrip("\r\n"))


# -- lines, each with its end -----------------------------------------------------------------


def _lines(file: PatchedFile | None) -> list[str]:
    *whole, rest = decode(file.content if file else b"").split("\n")
    return [*(f"{line}\n" for line in whole), *([rest] if rest else [])]


def _with_ends(hunk: Hunk) -> Iterator[tuple[Line, str]]:
    """Yield the lines of a hunk and their texts; the last of a file may have no end."""
    for line, after in zip(hunk, [*hunk[1:], None], strict=True):
        if line.line_type != "\\":
            is_last = after is not None and after.line_type == "\\"
            yield line, line.value.removesuffix("\n") + ("" if is_last else "\n")


def _olds(hunk: Hunk) -> list[str]:
    """Return the lines that `hunk` must find."""
    return [text for line, text in _with_ends(hunk) if not line.is_added]


def _news(hunk: Hunk, there: Sequence[str]) -> list[str]:
    """Return what `hunk` makes of the lines that it found `there`: context stays as it is."""
    found = iter(there)
    old = ((line, text if line.is_added else next(found)) for line, text in _with_ends(hunk))
    return [text for line, text in old if not line.is_removed]


def _is_change(hunk: Hunk) -> bool:
    return bool(hunk.added or hunk.removed)


def _is_bare(hunk: Hunk) -> bool:
    return not any(line.is_context for line in hunk)


def _first_line(hunk: Hunk) -> int:
    """Return the 1-based number of the hunk's "@@" in the patch."""
    return (hunk[0].diff_line_no or 0) - 1


def _with_line_ends(target: Target, before: Files) -> Target:
    """Return `target` with the line ends of its file, where each of the two has one kind."""
    file = before.get(target.old or "")
    content = file.content if file else b""
    return replace(target, hunks=tuple(_converted(hunk, content) for hunk in target.hunks))


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
