"""The code that a model is shown: whole definitions by rank, with what they need to be understood.

The head of a method's class comes along, the constructor, the bases, and what else of the project
is named in it, as far as there is room.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence

from pytest_brt.project.definitions import Definition
from pytest_brt.project.index import Index

#: Where lines are left out.
GAP = "# …"
#: Lines around one that a traceback names, or the first, of a definition that is too long.
_AROUND = 12
#: Lines of a definition that comes along, and places whose needs do.
_NEEDED, _NEEDY = 40, 4
#: Share of the room that one place may take, and that all places leave to their needs.
_SHARE, _LEFT = 0.45, 0.2
_WORD = re.compile(r"[A-Za-z_]\w*")

#: Definitions, each with lines of it that must be seen.
Wanted = dict[Definition, list[int]]
#: A file, and the first and last of some lines of it, 1-based.
_Span = tuple[str, int, int]


def show_code(
    wanted: Wanted, index: Index, most: int, whole: Sequence[str] = ()
) -> list[tuple[str, str]]:
    """Return path and code of some definitions, likeliest first, in about `most` characters.

    Files that are wanted `whole` are so where they fit.
    """
    shown: dict[str, dict[int, str]] = {}
    room = most

    def add(span: _Span, limit: float) -> bool:
        nonlocal room
        path, first, last = span
        lines, page = index.source(path).split("\n"), shown.setdefault(path, {})
        while lines[last : last + 1] and not lines[last].strip():
            last += 1  # empty lines below are no gap
        new = {n: line for n, line in enumerate(lines[first - 1 : last], first) if n not in page}
        size = sum(len(line) + 1 for line in new.values())
        if size > min(limit, room):
            return False
        page.update(new)
        room -= size
        return True

    for path in whole:
        add((path, 1, most), room)
    for one, lines in wanted.items():
        left = room - most * _LEFT
        is_whole = add((one.path, one.line, one.end_line), min(left, most * _SHARE))
        for line in () if is_whole else lines:
            first, last = max(one.line, line - _AROUND), min(one.end_line, line + _AROUND)
            add((one.path, first, last), left)
    for one in list(wanted)[:_NEEDY]:
        for span in _needs(one, index):
            if span[2] - span[1] < _NEEDED:
                add(span, room / 3)
    return [(path, _with_gaps(page)) for path, page in shown.items() if page]


def _with_gaps(page: Mapping[int, str]) -> str:
    """Return lines by their numbers, with marks where others are left out."""
    text = ""
    for number in sorted(page):
        gap = "" if number == 1 or number - 1 in page else f"{GAP}\n"
        text += f"{gap}{page[number]}\n"
    return text.strip("\n")


def _needs(one: Definition, index: Index) -> Iterator[_Span]:
    """Yield what a definition cannot be understood without.

    It is the head of its class, the constructor, the bases, and names in it.
    """
    known, outer = index.definitions_in(one.path), one.qualname.rpartition(".")[0]
    text = f"__init__\n{index.lines(one.path, one.line, one.end_line)}"
    for around in known:
        if around.qualname == outer:
            text += around.signature
            yield one.path, around.line, min(d.line for d in known if d.line > around.line) - 1
    words = dict.fromkeys(_WORD.findall(text))
    near = [d for d in known if d.name in words and d.qualname.rpartition(".")[0] in ("", outer)]
    others = filter(None, map(index.unique_definition, words))
    yield from ((other.path, other.line, other.end_line) for other in (*near, *others))


def show_tests(path: str, index: Index, most: int, names: Sequence[str]) -> str:
    """Return a test file; of a long one its imports, and tests that have most of some names.

    Methods that live on ``self`` are no example for a plain function.
    """
    if len(index.source(path)) <= most:
        return index.source(path)

    def worth(one: Definition) -> float:
        text = index.lines(path, one.line, one.end_line)
        return sum(name.rpartition(".")[2] in text for name in names) / len(text)

    tests = [one for one in index.definitions_in(path) if one.name.startswith("test") and one.top]
    tests.sort(key=worth, reverse=True)
    shown = dict(show_code({one: [one.line] for one in tests[:2]}, index, most)).get(path, "")
    imports = dict.fromkeys(one.statement for one in index.imports_in(path))
    return "\n".join([*imports, "", shown]).strip("\n")
