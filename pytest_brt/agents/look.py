"""Tools that read and search: files, definitions, calls."""

from __future__ import annotations

import re
from keyword import iskeyword

from pytest_brt.agents.shown import numbered
from pytest_brt.agents.workspace import Refused, Workspace, named
from pytest_brt.project.definitions import Definition, DefinitionKind
from pytest_brt.project.layout import is_test_path
from pytest_brt.project.search import identifiers_in, search_definitions

#: Lines of a file that are shown at once, hits, those of one file, and definitions of one name.
_LINES, _HITS, _OF_ONE, _SHOWN = 120, 20, 5, 3
_DEFINES = re.compile(r":\d+: (?:async )?(?:def|class) ")
_NAMING = re.compile(r"\s*(?:async\s+def|def|class)\b")


def cat(env: Workspace, path: str, first: str = "", last: str = "") -> str:
    """Show a file, or its lines from "first" to "last", and of a long one what it defines."""
    begin, end = _number(first, path), _number(last, "")
    path = env.find(path)
    lines = env.lines(path)
    begin = max(1, begin)
    last_line = min(len(lines), end or len(lines), begin + _LINES - 1)
    if last_line < begin:
        raise Refused(f"{path} has {len(lines)} lines: ask for 1 to {len(lines)}.")
    text = f"{path}, lines {begin} to {last_line} of {len(lines)}:\n"
    text += numbered(lines, begin, last_line)
    if last_line < (end or len(lines)):
        text += f"\n[… go on with line {last_line + 1} …]"
        text += f"\n\n{get_classes_and_methods(env, path)}" if not first else ""
    return text


def _number(text: str, path: str) -> int:
    """Return the number of a line that a model gives, or writes behind a path; 0 for none."""
    found = re.search(r"\d+", text) or re.search(r"(?<=:)\d+", path)
    return int(found[0]) if found else 0


def read_range(env: Workspace, path: str, first: str, last: str) -> str:
    """Show lines of a file."""
    return cat(env, path, first, last)


def _defined(env: Workspace, path: str) -> list[Definition]:
    known = env.index.definitions_in(path)
    return [one for one in known if one.kind is not DefinitionKind.VARIABLE]


def get_classes_and_methods(env: Workspace, path: str) -> str:
    """List the classes and functions of a file with their lines."""
    path = env.find(path)
    found = [f"{d.qualname}{d.signature}  lines {d.line}-{d.end_line}" for d in _defined(env, path)]
    return "\n".join([f"{path} defines:", *(found or ["nothing"])])


def definitions_called(env: Workspace, path: str, name: str) -> list[Definition]:
    """Return the functions, methods and classes of a file that `name` can mean, one at least.

    Raises:
        Refused: it means none; the text says where else it is defined.
    """
    bare = name.partition("(")[0].strip(" .:").replace("::", ".")
    inside = _defined(env, path)
    found = [one for one in inside if f".{one.qualname}".endswith(f".{bare}")]
    if not found:
        meant = named(bare.rpartition(".")[2], {one.name for one in inside})
        found = [one for one in inside if one.name == meant]
    if not found:
        others = [d for d in env.index.definitions(bare.rpartition(".")[2]) if d.path != path]
        places = [f"{one.qualname} in {one.path}" for one in others[:_SHOWN]]
        known = places or [one.qualname for one in inside[:30]]
        raise Refused(f"{path} has no {name!r}. There are: {', '.join(known)}.")
    return found[:_SHOWN]


def extract_method(env: Workspace, path: str, name: str) -> str:
    """Show the whole source of a function or method."""
    path = env.find(path)
    lines = env.lines(path)
    return "\n\n".join(
        f"{path}: {one.qualname}, lines {one.line} to {one.end_line}:\n"
        f"{numbered(lines, one.line, one.end_line)}"
        for one in definitions_called(env, path, name)
    )


def code_search(env: Workspace, text: str) -> str:
    """Find the lines of the project that contain a name or some code, definitions first."""
    wanted = text.strip().strip("'\"`").removesuffix("()")
    if not wanted:
        raise Refused("There is nothing to look for: give a name or some code.")
    hits = _lines_with(env, wanted)
    for name in () if hits else identifiers_in(wanted):  # of a sentence, its identifiers
        hits += _lines_with(env, name)
    if not hits:
        like = ", ".join(env.index.names_like(wanted, limit=3)) or "none"
        return f"Nothing contains {wanted!r}. Names like it: {like}."
    more = [f"[… {len(hits) - _HITS} more lines …]"] if len(hits) > _HITS else []
    return "\n".join([*hits[:_HITS], *more])


def _lines_with(env: Workspace, text: str, file: str = "") -> list[str]:
    """Return the lines with a text: definitions, then the product's, then those of tests."""
    found: list[tuple[bool, bool, str]] = []
    for path in [file] if file else [path for path in env.files if path.endswith((".py", ".pyi"))]:
        here = 0
        for number, line in enumerate(env.lines(path), 1):
            if text.lower() not in line.lower():
                continue
            here += 1
            defines = bool(_NAMING.match(line))
            if defines or here <= _OF_ONE:
                shown = f"{path}:{number}: {line.strip()[:140]}"
                found.append((not defines, is_test_path(path), shown))
    return [shown for *_, shown in sorted(found, key=lambda hit: hit[:2])]


def search_code_base(env: Workspace, keywords: str) -> str:
    """Find files, classes and functions by words of their names or code."""
    wanted = identifiers_in(keywords)
    if not wanted:
        raise Refused("There is no word to look for: name a few, as in 'parse date'.")
    lines = [
        f"{chunk.path} → {chunk.function or 'module'} (line {chunk.line}): {', '.join(words)}"
        for chunk, words in search_definitions(keywords, env.index, limit=_HITS)
    ]
    return "\n".join(lines) or f"Nothing has a name like {', '.join(wanted)}."


def find_similar_api_calls(env: Workspace, name: str, path: str = "") -> str:
    """Show calls of a function, given by its name or by code that calls it."""
    called = [one for one in re.findall(r"(\w+)\s*\(", name) if not iskeyword(one)]
    bare = (called or [name.strip().rpartition(".")[2]])[0]
    file = env.find(path) if path.strip() else ""
    calls = [hit for hit in _lines_with(env, f"{bare}(", file) if not _DEFINES.search(hit)]
    return "\n".join(calls[:_HITS]) or f"Nothing calls {bare!r} in {file or 'the project'}."
