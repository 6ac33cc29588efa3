"""The statements of a long function that have most to do with a report, with gaps that are said."""

from __future__ import annotations

import ast
from collections.abc import Callable, Collection, Iterator, Sequence

from pytest_brt.syntax import first_line

#: A gap, where code is left out; what stands around it may need what is not shown.
GAP = "# …"
#: Share of the worth of a statement that the ones before and after it are worth.
_BESIDE = 0.4
#: Characters that a statement costs besides its own: heads of what it stands in, and gaps.
_AROUND = 30


def head_end(node: ast.stmt, body: Sequence[ast.stmt], lines: Sequence[str]) -> int:
    """Return the line in which the head of `node` ends: comments below it are its body's."""
    last = first_line(body[0]) - 1
    while last > node.lineno and lines[last - 1].strip().startswith(("#", "@")):
        last -= 1
    while last > node.lineno and not lines[last - 1].strip():
        last -= 1
    return max(last, node.lineno)


def sliced(
    node: ast.FunctionDef | ast.AsyncFunctionDef,
    lines: Sequence[str],
    worth: Callable[[str], float],
    most: int,
) -> list[str]:
    """Return the lines of `node` that count, in about `most` characters; [] when none do.

    Whole statements are kept, the worthiest first, under the heads of what they stand in.
    Where anything is left out a comment says so, so that the rest is not taken for all of it.
    """
    if not lines[node.body[0].lineno - 1].startswith(_indent(node.body[0])):
        return []  # it is one line
    found = list(_leaves(node.body, lines))
    for whole in (found, found[1:] if ast.get_docstring(node) else found):
        # Its docstring is what a function can do without.
        shown = _rendered(node, lines, {id(leaf) for leaf in whole})
        if len("\n".join(shown)) <= most:
            return shown
    own = [worth(_text(leaf, lines)) for leaf in found]
    ranked = sorted(range(len(found)), key=lambda n: (-_with_neighbours(own, n), n))
    kept: set[int] = set()
    for number in ranked:
        size = len(_text(found[number], lines)) + _AROUND
        if _with_neighbours(own, number) <= 0:
            break
        if size <= most:
            kept.add(id(found[number]))
            most -= size
    return _rendered(node, lines, kept) if kept else []


def _rendered(
    node: ast.FunctionDef | ast.AsyncFunctionDef, lines: Sequence[str], kept: Collection[int]
) -> list[str]:
    head = lines[first_line(node) - 1 : head_end(node, node.body, lines)]
    return [*head, *_block(node.body, lines, kept)]


def _with_neighbours(worths: Sequence[float], number: int) -> float:
    beside = [worths[n] for n in (number - 1, number + 1) if 0 <= n < len(worths)]
    return worths[number] + _BESIDE * sum(beside)


def _leaves(body: Sequence[ast.stmt], lines: Sequence[str]) -> Iterator[ast.stmt]:
    """Yield the statements that are shown whole or not at all."""
    for node in body:
        blocks = _blocks(node, lines)
        if not blocks:
            yield node
        for block in blocks:
            yield from _leaves(block, lines)


def _blocks(node: ast.stmt, lines: Sequence[str]) -> list[list[ast.stmt]]:
    """Return the blocks of a compound statement; none of one that is written on a line."""
    found: list[list[ast.stmt]] = []
    if isinstance(node, ast.Match):
        return found
    for name in ("body", "handlers", "orelse", "finalbody"):
        part = getattr(node, name, [])
        if name == "handlers":
            found += [handler.body for handler in part]
        elif part:
            found.append(part)
    # Where a clause shares its line with its body there is no head to show alone.
    if any(not lines[block[0].lineno - 1].startswith(_indent(block[0])) for block in found):
        return []
    return found


def _indent(node: ast.stmt) -> str:
    return " " * node.col_offset


def _text(node: ast.stmt, lines: Sequence[str]) -> str:
    return "\n".join(lines[_begin(node, lines) - 1 : node.end_lineno])


def _begin(node: ast.stmt, lines: Sequence[str]) -> int:
    """Return the line in which a statement begins, with the comment above it."""
    first = first_line(node)
    while first > 1 and lines[first - 2].startswith(f"{_indent(node)}#"):
        first -= 1
    return first


def _block(body: Sequence[ast.stmt], lines: Sequence[str], kept: Collection[int]) -> list[str]:
    """Return the lines of a block; the first of its statements says how far it is indented."""
    shown: list[str] = []
    gap, empty = False, True
    for node in body:
        text = _statement(node, lines, kept)
        if not text:
            gap = True
            continue
        if gap:
            shown.append(_indent(body[0]) + GAP)
        shown += text
        gap = empty = False
    if gap:
        shown.append(_indent(body[0]) + GAP)
    return [*shown, f"{_indent(body[0])}..."] if empty else shown


def _statement(node: ast.stmt, lines: Sequence[str], kept: Collection[int]) -> list[str]:
    blocks = _blocks(node, lines)
    if not blocks:
        whole = lines[_begin(node, lines) - 1 : node.end_lineno]
        return list(whole) if id(node) in kept else []
    if not any(id(leaf) in kept for block in blocks for leaf in _leaves(block, lines)):
        return []
    shown: list[str] = []
    start = first_line(node)
    for block in blocks:
        # What stands between two blocks is the head of the second; an "elif" is its own.
        if lines[block[0].lineno - 1].lstrip().startswith("elif "):
            rest = _statement(block[0], lines, kept)
            return [*shown, *(rest or [_indent(node) + GAP])]
        above = f"{_indent(block[0])}#"
        heads = lines[start - 1 : first_line(block[0]) - 1]
        shown += [line for line in heads if line.strip() and not line.startswith(above)]
        shown += _block(block, lines, kept)
        start = (block[-1].end_lineno or block[-1].lineno) + 1
    return shown
