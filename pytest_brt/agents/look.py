"""Tools that read and search: files, definitions, calls."""

from __future__ import annotations

import re

from pytest_brt.agents.prompts import numbered, render
from pytest_brt.agents.workspace import Refused, Workspace
from pytest_brt.project.definitions import Definition
from pytest_brt.project.index import search_definitions
from pytest_brt.project.layout import is_test_path

#: Lines of a file that are shown at once, hits, and definitions of one name.
_LINES, _HITS, _SHOWN = 160, 20, 3
_DEFINES = re.compile(r"\s*(?:async\s+def|def|class)\b")


def cat(env: Workspace, path: str, first: str = "1", last: str = "") -> str:
    """Show a file, or its lines from "first" to "last"."""
    path = env.find(path)
    lines = env.lines(path)
    begin, end = (int(re.sub(r"\D", "", number) or 0) for number in (first, last))
    begin = min(max(1, begin), len(lines))
    end = min(len(lines), end or len(lines), begin + _LINES - 1)
    return f"{path}, lines {begin} to {end} of {len(lines)}:\n{numbered(lines, begin, end)}"


def read_range(env: Workspace, path: str, first: str, last: str) -> str:
    """Show lines of a file."""
    return cat(env, path, first, last)


def definitions_called(env: Workspace, path: str, name: str = "") -> list[Definition]:
    """Return the functions, methods and classes of a file that `name` can mean, "" for all.

    Raises:
        Refused: it means none.
    """
    bare = name.partition("(")[0].strip(" .:").replace("::", ".")
    end = bare and f".{bare}"
    kinds = (one for one in env.index.definitions_in(path) if not one.is_variable)
    meant = [one for one in kinds if f".{one.qualname}".endswith(end)]
    if name and not meant:
        raise Refused(f"{path} has no {name!r}. List what it defines, or search for the name.")
    return meant


def get_classes_and_methods(env: Workspace, path: str) -> str:
    """List the classes and functions of a file with their lines."""
    path = env.find(path)
    return render("definitions", path=path, known=definitions_called(env, path))


def extract_method(env: Workspace, path: str, name: str) -> str:
    """Show the whole source of a function or method."""
    path = env.find(path)
    known, lines = definitions_called(env, path, name)[:_SHOWN], env.lines(path)
    return render("methods", path=path, known=known, lines=lines)


def code_search(env: Workspace, text: str) -> str:
    """Find the lines of the project that contain a name or some code, definitions first."""
    return _lines_with(env, text.strip(" '\"`").removesuffix("()"), "")


def find_similar_api_calls(env: Workspace, name: str) -> str:
    """Show calls of a function, given by its name or by code that calls it."""
    return _lines_with(env, re.split(r"\W+", name.partition("(")[0].strip())[-1], "(")


def _lines_with(env: Workspace, text: str, bracket: str) -> str:
    """Return the lines with a text, definitions first and tests last; only calls with a bracket."""
    hits: list[tuple[bool, bool, str, int, str]] = []
    for path in env.index.layout.files if text else ():
        for number, line in enumerate(env.lines(path) if path.endswith(".py") else (), 1):
            is_other = _DEFINES.match(line) is None
            if f"{text}{bracket}".lower() in line.lower() and (is_other or not bracket):
                hits.append((is_other, is_test_path(path), path, number, line.strip()[:140]))
    lines = [f"{path}:{number}: {line}" for *_, path, number, line in sorted(hits)[:_HITS]]
    return "\n".join([*lines, f"({len(hits)} in all)"])


def search_code_base(env: Workspace, keywords: str) -> str:
    """Find files, classes and functions by words of their names or code."""
    lines = [
        f"{chunk.path} → {chunk.function or 'module'} (line {chunk.line}): {', '.join(words)}"
        for chunk, words in search_definitions(keywords, env.index, limit=_HITS)
    ]
    return "\n".join(lines) or f"Nothing has a name like {keywords!r}."
