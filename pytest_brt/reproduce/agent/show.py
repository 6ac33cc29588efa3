"""What a model sees of the project: a file, or a window of it, and where a text stands."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Sequence

from pytest_brt.agent.history import largest
from pytest_brt.code.file_facts import Definition, DefinitionKind, read_facts
from pytest_brt.code.index import Index
from pytest_brt.code.layout import is_test_path
from pytest_brt.code.lookup import files_about
from pytest_brt.code.words import terms_of

#: Lines around the one that was asked for.
_BEFORE, _AFTER = 5, 60
#: A definition that begins so many lines above is shown from its beginning.
_NEAR = 25


def show(path: str, text: str, line: int, most: int, count: Callable[[str], int]) -> str:
    """Return `text` in at most about `most` tokens, with no gap inside.

    Of a long file what stands around `line` is shown, and which definitions that is in. Without
    a line it is the beginning, and where the file's definitions are, for the next look.
    """
    if not line and count(text) <= most:
        return text.rstrip("\n") or "[the file is empty]"
    lines = text.split("\n")
    known = _definitions(text) if path.endswith(".py") else []
    asked = max(1, min(line, len(lines)))
    around = [one for one in known if line and one.line <= asked <= one.end_line]
    # From the beginning of the definition, or a little above the line.
    begin = around[-1].line if around else 0
    first = max(1, begin if 0 <= asked - begin <= _NEAR else asked - _BEFORE)
    outline = "" if line else _outline(path, known, most // 2, count)
    named = (f"{_named(one)}, lines {one.line} to {one.end_line}" for one in around)
    inside = f" (in {', '.join(named)})" if around else ""

    def window(first: int, last: int) -> str:
        span = f"lines {first} to {last}" if last > first else f"line {first}"
        head = f"{path}, {span} of {len(lines)}{inside}:"
        more = [f"[… go on with {path}:{last + 1} …]"] if any(lines[last:]) else []
        return "\n".join([head, *lines[first - 1 : last], *more]) + outline

    if count(window(first, asked)) > most:
        first = asked
    end = min(len(lines), max(first + _BEFORE, asked) + _AFTER)
    return window(first, largest(asked, end, lambda last: count(window(first, last)) <= most))


def _definitions(text: str) -> list[Definition]:
    """Return the functions and classes of a file, outer ones before those in them."""
    found = read_facts(text).definitions
    named = (one for one in found if one.kind is not DefinitionKind.VARIABLE)
    return sorted(named, key=lambda one: (one.line, -one.end_line))


def _named(one: Definition) -> str:
    return f"{'class' if one.kind is DefinitionKind.CLASS else 'def'} {one.name}"


def _outline(path: str, known: Sequence[Definition], most: int, count: Callable[[str], int]) -> str:
    """Return where the definitions are, as many as fit, without methods when those are many."""
    found: list[str] = []
    for depth in (1, 0):
        inside = [(one, one.qualname.count(".")) for one in known]
        found = [f"{one.line}: {'  ' * at}{_named(one)}" for one, at in inside if at <= depth]
        if count("\n".join(found)) <= most:
            break
    shown = largest(0, len(found), lambda shown: count("\n".join(found[:shown])) <= most)
    if shown < len(found):
        found[shown:] = [f"[… {len(found) - shown} more; find them with code_search …]"]
    head = f'\n\nDefinitions (look at one with "{path}:LINE"):\n'
    return head + "\n".join(found) if found else ""


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


def _lines(wanted: str, index: Index) -> list[str]:
    words = re.findall(r"\w+", wanted)
    if not words:
        return []
    known = index.files_with(max(words, key=len))
    others = index.layout.files - frozenset(known)
    # It may be a part of a word.
    return list(_in_files(wanted, known, index)) or list(_in_files(wanted, others, index))


def _in_files(wanted: str, paths: Iterable[str], index: Index) -> Iterator[str]:
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
