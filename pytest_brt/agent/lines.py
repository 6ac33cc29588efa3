"""What a model sees of a file: its lines, those around one of them, the beginning of a long one."""

from __future__ import annotations

from collections.abc import Sequence

from pytest_brt.agent.action import Refusal
from pytest_brt.agent.excerpt import Room, largest, numbered, window
from pytest_brt.agent.tree import Tree
from pytest_brt.code.file_facts import Definition, DefinitionKind, read_facts

#: A definition that ends so few lines below what was asked for is shown to its end.
_NEAR_END = 8


def show_lines(tree: Tree, path: str, first: int, last: int | None, room: Room) -> str:
    """Return the lines of a file from `first` to `last`, None for its end, as far as they fit.

    Raises:
        Refusal: there are no such lines.
    """
    lines = tree.lines(path)
    first = max(1, first)
    asked = min(len(lines) if last is None else last, len(lines))
    if asked < first:
        raise Refusal(f"{path} has {len(lines)} lines: ask for 1 to {len(lines)}.")
    end, shown = window(lines, first, _to_its_end(path, lines, asked), room)
    over = "" if end < len(lines) else ", the end"
    more = f"\n[… go on with line {end + 1} …]" if end < asked else ""
    return f"{path}, lines {first} to {end} of {len(lines)}{over}:\n{shown}{more}"


def _to_its_end(path: str, lines: Sequence[str], last: int) -> int:
    ends = (one.end_line for one in _definitions(path, lines) if one.line <= last < one.end_line)
    return min((end for end in ends if end - last <= _NEAR_END), default=last)


def _definitions(path: str, lines: Sequence[str]) -> list[Definition]:
    """Return the functions and classes of a file, outer ones before those in them."""
    if not path.endswith(".py"):
        return []
    found = read_facts("\n".join(lines)).definitions
    named = (one for one in found if one.kind is not DefinitionKind.VARIABLE)
    return sorted(named, key=lambda one: (one.line, -one.end_line))


#: Lines around the one that was asked for; a definition that begins so many lines above it is
#: shown from its beginning.
_BEFORE, _AFTER, _NEAR = 5, 60, 25


def show_file(tree: Tree, place: str, room: Room) -> str:
    """Return the file at `place`, as in "pkg/a.py" or "pkg/a.py:120", in one stretch.

    Of a long file the lines around the one that was asked for are shown, and which definitions
    those are in; without one its beginning, and where its definitions are, for the next look.

    Raises:
        Refusal: there is no such file.
    """
    path, _, number = place.partition(":")
    lines, line = tree.lines(path), int(number or 0)
    if not line and room.count(numbered(lines, 1, len(lines))) <= room.most:
        return numbered(lines, 1, len(lines)) or "[the file is empty]"
    known = _definitions(path, lines)
    asked = max(1, min(line, len(lines)))
    around = [one for one in known if line and one.line <= asked <= one.end_line]
    begin = around[-1].line if around else 0
    first = max(1, begin if 0 <= asked - begin <= _NEAR else asked - _BEFORE)
    outline = "" if line else _outline(path, known, room)
    named = (f"{_called(one)}, lines {one.line} to {one.end_line}" for one in around)
    inside = f" (in {', '.join(named)})" if around else ""

    def shown(first: int, last: int) -> str:
        span = f"lines {first} to {last}" if last > first else f"line {first}"
        head = f"{path}, {span} of {len(lines)}{inside}:"
        more = f"\n[… go on with {path}:{last + 1} …]" if last < len(lines) else ""
        return f"{head}\n{numbered(lines, first, last)}{more}{outline}"

    if room.count(shown(first, asked)) > room.most:
        first = asked
    end = min(len(lines), max(first + _BEFORE, asked) + _AFTER)
    end = _to_its_end(path, lines, end)
    return shown(
        first, largest(asked, end, lambda last: room.count(shown(first, last)) <= room.most)
    )


def _called(one: Definition) -> str:
    return f"{'class' if one.kind is DefinitionKind.CLASS else 'def'} {one.name}"


def _outline(path: str, known: Sequence[Definition], room: Room) -> str:
    """Return where the definitions are, as many as fit, without methods when those are many."""
    found: list[str] = []
    for depth in (1, 0):
        inside = [(one, one.qualname.count(".")) for one in known]
        found = [f"{one.line}: {'  ' * at}{_called(one)}" for one, at in inside if at <= depth]
        if room.count("\n".join(found)) <= room.most // 2:
            break
    most = largest(0, len(found), lambda n: room.count("\n".join(found[:n])) <= room.most // 2)
    if most < len(found):
        found[most:] = [f"[… {len(found) - most} more; find them with code_search …]"]
    head = f'\n\nDefinitions (look at one with "{path}:LINE"):\n'
    return head + "\n".join(found) if found else ""
