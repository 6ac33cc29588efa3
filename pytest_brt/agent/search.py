"""The lines of a project that have a text in them, as a model asks for it."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace

from pytest_brt.agent.tree import Tree
from pytest_brt.code.file_facts import Definition
from pytest_brt.code.index import Index
from pytest_brt.code.layout import is_test_path
from pytest_brt.code.relevance import files_about
from pytest_brt.code.search import wanted_in
from pytest_brt.code.words import terms_of
from pytest_brt.syntax.parse import decode

#: Lines that are shown, those of tests among them, those of one file, and characters of each.
_LINES, _IN_TESTS, _OF_ONE, _WIDTH = 20, 6, 4, 140
#: Definitions of one name that are shown.
_DEFINED = 8
#: Words from which on a text is a sentence, of which the identifiers are looked for.
_SENTENCE = 3
_NAMING = re.compile(r"\s*(?:async\s+def|def|class)\b")


@dataclass(frozen=True, slots=True, kw_only=True)
class Found:
    """A line that has what is looked for."""

    path: str
    #: 1-based.
    number: int
    text: str
    #: The names around a definition, as in "Thing"; "" elsewhere.
    inside: str = ""
    #: Lines below it in the same file that have it too, and are not told.
    more: int = 0


def search_code(tree: Tree, index: Index, text: str) -> str:
    """Return the lines of the project with `text` in them, as ``path:line: line``.

    Definitions of that name come first, then the product, then a few of tests. Of a sentence that
    stands nowhere its identifiers are looked for. Without a hit names that are spelled almost like
    it are told.
    """
    wanted = text.strip().strip("'\"`").removesuffix("()")
    found = _unique([*_named(wanted, tree, index), *_in_project(wanted, tree, index)])
    if not found and len(wanted.split()) >= _SENTENCE:
        names = [name for name in wanted_in(wanted) if name != wanted]
        found = _unique(line for name in names for line in _in_project(name, tree, index))
    return _shown(found) if found else _nothing(wanted, index)


def _unique(lines: Iterable[Found]) -> list[Found]:
    """Return each line once, as it was found first."""
    found: dict[tuple[str, int], Found] = {}
    for line in lines:
        known = found.setdefault((line.path, line.number), line)
        found[line.path, line.number] = replace(known, more=max(known.more, line.more))
    return list(found.values())


def _shown(found: list[Found]) -> str:
    tests = [line for line in found if is_test_path(line.path)]
    product = [line for line in found if not is_test_path(line.path)]
    shown = product[: _LINES - min(_IN_TESTS, len(tests))]
    shown += tests[: _IN_TESTS if product else _LINES]
    texts = list(map(_text, shown))
    if len(shown) < len(found):
        more = len(found) - len(shown)
        texts.append(f"[… {more} more lines; search for something more exact …]")
    return "\n".join(texts)


def _text(line: Found) -> str:
    inside = f"  [in {line.inside}]" if line.inside else ""
    more = f"\n{line.path}: {line.more} more lines" if line.more else ""
    return f"{line.path}:{line.number}: {line.text[:_WIDTH]}{inside}{more}"


def _named(wanted: str, tree: Tree, index: Index) -> Iterator[Found]:
    name = re.sub(r"^(?:async def|def|class)\s+", "", wanted).partition("(")[0].strip()
    for found in index.definitions(name)[:_DEFINED] if re.fullmatch(r"[\w.]+", name) else ():
        if found.path not in tree.changed:
            yield _heading(found, index)


def _heading(definition: Definition, index: Index) -> Found:
    """Return the line that names a definition, which stands below its decorators."""
    lines = index.source(definition.path).split("\n")
    last = min(definition.end_line, len(lines))
    named = (n for n in range(definition.line, last + 1) if _NAMING.match(lines[n - 1]))
    number = next(named, definition.line)
    return Found(
        path=definition.path,
        number=number,
        text=lines[number - 1].strip() if number <= len(lines) else "",
        inside=definition.qualname.rpartition(".")[0],
    )


def _in_project(wanted: str, tree: Tree, index: Index) -> list[Found]:
    words = re.findall(r"\w+", wanted)
    if not words:
        return []
    known = {*index.files_with(max(words, key=len)), *tree.changed}
    # It may be a part of a word.
    return list(_in_files(wanted, known, tree)) or list(
        _in_files(wanted, index.layout.files - known, tree)
    )


def _in_files(wanted: str, paths: Iterable[str], tree: Tree) -> Iterator[Found]:
    """Yield the lines with `wanted`: many files say more than many lines of one."""
    lower = wanted.lower()
    for path in sorted(paths, key=lambda path: (is_test_path(path), path)):
        text = decode(tree.read(path) or b"")
        if lower not in text.lower():
            continue
        lines = enumerate(text.split("\n"), start=1)
        hits = [(number, line.strip()) for number, line in lines if lower in line.lower()]
        told = hits[:_OF_ONE]
        for number, line in told:
            more = len(hits) - len(told) if number == told[-1][0] else 0
            yield Found(path=path, number=number, text=line, more=more)


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
