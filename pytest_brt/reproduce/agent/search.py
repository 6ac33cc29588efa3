"""Looks for a text in the project, definitions first."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

from pytest_brt.code.entries import Definition
from pytest_brt.code.index import Index
from pytest_brt.code.layout import is_test_path
from pytest_brt.code.relevance import files_about
from pytest_brt.code.words import terms_of

#: Lines that are shown, and characters of each.
_MOST, _WIDTH = 20, 140
#: Lines of one file.
_OF_ONE = 4
_PLACE = re.compile(r"[^\s:]+:\d+: ")
_NAMING = re.compile(r"\s*(?:async\s+def|def|class)\b")


def search(text: str, index: Index) -> str:
    """Return the lines of the project with `text` in them, as ``path:line: line``.

    Definitions of that name come first, then the product, then tests. Without any the search is
    for its words, and names that are spelled almost like it are told.
    """
    wanted = text.strip().strip("'\"`").removesuffix("()")
    found = _without_doubles([*_defined(wanted, index), *_lines(wanted, index)])
    if not found:
        return _nothing(wanted, index)
    shown = found[:_MOST]
    if len(found) > _MOST:
        shown.append(f"[… {len(found) - _MOST} more lines; search for something more exact …]")
    return "\n".join(shown)


def _without_doubles(lines: Sequence[str]) -> list[str]:
    """Return the first of the lines about each place."""
    found: dict[str, str] = {}
    for line in lines:
        found.setdefault(line.partition(": ")[0] if _PLACE.match(line) else line, line)
    return list(found.values())


def _defined(wanted: str, index: Index) -> Iterator[str]:
    name = re.sub(r"^(?:async def|def|class)\s+", "", wanted).partition("(")[0].strip()
    for found in index.definitions(name)[:8] if re.fullmatch(r"[\w.]+", name) else ():
        yield _line(found, index)


def _line(found: Definition, index: Index) -> str:
    lines = index.source(found.path).split("\n")
    last = min(found.end_line, len(lines))
    # A definition begins with its decorators; its name comes below them.
    named = (n for n in range(found.line, last + 1) if _NAMING.match(lines[n - 1]))
    number = next(named, found.line)
    text = lines[number - 1].strip() if number <= len(lines) else ""
    around = found.qualname.rpartition(".")[0]
    inside = f"  [in {around}]" if around else ""
    return f"{found.path}:{number}: {text[:_WIDTH]}{inside}"


def _lines(wanted: str, index: Index) -> Iterator[str]:
    words = re.findall(r"\w+", wanted)
    if not words:
        return
    known = index.files_with(max(words, key=len))
    found = False
    for line in _in_files(wanted, known, index):
        found = True
        yield line
    if not found:  # it may be a part of a word
        others = index.layout.files - frozenset(known)
        yield from _in_files(wanted, tuple(others), index)


def _in_files(wanted: str, paths: Sequence[str], index: Index) -> Iterator[str]:
    for path in sorted(paths, key=lambda path: (is_test_path(path), path)):
        try:
            text = index.source(path)
        except OSError:
            continue  # deleted since
        if wanted.lower() not in text.lower():
            continue
        hits = [
            (number, line.strip()[:_WIDTH])
            for number, line in enumerate(text.split("\n"), start=1)
            if wanted.lower() in line.lower()
        ]
        # Many files say more than many lines of one.
        yield from (f"{path}:{number}: {line}" for number, line in hits[:_OF_ONE])
        if len(hits) > _OF_ONE:
            yield f"{path}: {len(hits) - _OF_ONE} more lines"


def _nothing(wanted: str, index: Index) -> str:
    lines = [f"Nothing in the project has {wanted!r} in it."]
    words = [word for word in re.findall(r"\w+", wanted) if len(word) > 2]
    for word in words[:3]:
        near = index.names_like(word, limit=3)
        if near:
            lines.append(f"Names like {word!r}: {', '.join(near)}.")
    files = files_about(terms_of(*words), index, tests=False)[:3]
    if files:
        lines.append(f"Files about such words: {', '.join(files)}.")
    return "\n".join(lines)
