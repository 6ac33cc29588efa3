"""What a model sees of the project: a file, or a window of it, and where a text stands."""

from __future__ import annotations

import ast
import re
from collections.abc import Callable, Iterator, Sequence

from pytest_brt.code.facts import Definition
from pytest_brt.code.index import Index
from pytest_brt.code.layout import is_test_path
from pytest_brt.code.relevance import files_about
from pytest_brt.code.words import terms_of
from pytest_brt.dialogue.history import largest
from pytest_brt.syntax import parse

#: Lines around the one that was asked for.
_BEFORE, _AFTER = 5, 60
#: A definition that begins so many lines above is shown from its beginning.
_NEAR = 25

_Definition = ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef


def show(path: str, text: str, line: int, most: int, count: Callable[[str], int]) -> str:
    """Return `text` in at most about `most` tokens, with no gap inside.

    Of a long file what stands around `line` is shown, and which definitions that is in. Without
    a line it is the beginning, and where the file's definitions are, for the next look.
    """
    if not line and count(text) <= most:
        return text.rstrip("\n") or "[the file is empty]"
    lines = text.split("\n")
    tree = _tree(text)
    asked = max(1, min(line, len(lines)))
    around = list(_around(tree, asked)) if tree and line else []
    first = _first(asked, around)
    outline = "" if line or not tree else _outline(path, tree, most // 2, count)
    inside = f" (in {', '.join(map(_named, around))})" if around else ""

    def window(first: int, last: int) -> str:
        span = f"lines {first} to {last}" if last > first else f"line {first}"
        head = f"{path}, {span} of {len(lines)}{inside}:"
        more = [f"[… go on with {path}:{last + 1} …]"] if any(lines[last:]) else []
        return "\n".join([head, *lines[first - 1 : last], *more]) + outline

    if count(window(first, asked)) > most:
        first = asked
    end = min(len(lines), max(first + _BEFORE, asked) + _AFTER)
    return window(first, largest(asked, end, lambda last: count(window(first, last)) <= most))


def _tree(text: str) -> ast.Module | None:
    try:
        return parse(text)
    except SyntaxError:
        return None


def _first(asked: int, around: list[_Definition]) -> int:
    """Return where the window begins: with the definition, or a little above the line."""
    begin = around[-1].lineno - 1 if around else 0
    return max(1, begin if 0 <= asked - begin <= _NEAR else asked - _BEFORE)


def _around(tree: ast.Module, line: int) -> Iterator[_Definition]:
    """Yield the definitions that `line` stands in, the outermost first."""
    body: list[ast.stmt] = tree.body
    while body:
        inside = [
            node
            for node in body
            if isinstance(node, _Definition) and node.lineno <= line <= (node.end_lineno or 0)
        ]
        yield from inside[:1]
        body = inside[0].body if inside else []


def _named(node: _Definition) -> str:
    return f"{_kind(node)} {node.name}, lines {node.lineno} to {node.end_lineno}"


def _outline(path: str, tree: ast.Module, most: int, count: Callable[[str], int]) -> str:
    """Return where the definitions are, as many as fit, without methods when those are many."""
    head = f'\n\nDefinitions (look at one with "{path}:LINE"):\n'
    found = list(_definitions(tree, methods=True))
    if count("\n".join(found)) > most:
        found = list(_definitions(tree, methods=False))
    shown = largest(0, len(found), lambda shown: count("\n".join(found[:shown])) <= most)
    if shown < len(found):
        found[shown:] = [f"[… {len(found) - shown} more; find them with code_search …]"]
    return head + "\n".join(found) if found else ""


def _definitions(tree: ast.Module, *, methods: bool) -> Iterator[str]:
    for node in tree.body:
        if isinstance(node, _Definition):
            yield f"{node.lineno}: {_kind(node)} {node.name}"
        if methods and isinstance(node, ast.ClassDef):
            for inner in node.body:
                if isinstance(inner, ast.FunctionDef | ast.AsyncFunctionDef):
                    yield f"{inner.lineno}:   {_kind(inner)} {inner.name}"


def _kind(node: _Definition) -> str:
    return "class" if isinstance(node, ast.ClassDef) else "def"


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
