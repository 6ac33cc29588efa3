"""What a model sees of functions and classes: which a file has, their code, who calls them."""

from __future__ import annotations

import re
from collections.abc import Mapping
from keyword import iskeyword

from pytest_brt.agent.action import Refusal
from pytest_brt.agent.excerpt import Room, window
from pytest_brt.agent.paths import closest
from pytest_brt.agent.tree import Tree
from pytest_brt.code.calls import find_calls
from pytest_brt.code.file_facts import Definition, DefinitionKind
from pytest_brt.code.index import Index
from pytest_brt.code.search import Hit, find_definitions, wanted_in
from pytest_brt.code.words import terms_of
from pytest_brt.syntax.parse import decode

#: Definitions of a file that are listed with their lines; of more, so many.
_LISTED, _NEAREST = 60, 20
#: Definitions of one name that are shown, and names that are told where there is none.
_SHOWN, _OTHERS = 4, 30


def list_definitions(index: Index, path: str, query: Mapping[str, float], *, shows: str) -> str:
    """Return the classes and functions of a file with their lines.

    Of a large file those with terms of `query` first, by what these are worth, then all names,
    and which action `shows` one of them.
    """
    found = _defined(index, path)
    if len(found) <= _LISTED:
        text = "\n".join(map(_listed, found)) or "no class and no function"
        return f"{path} defines:\n{text}"

    def worth(one: Definition) -> float:
        return sum(query.get(term, 0.0) for term in terms_of(one.name))

    like = sorted((one for one in found if worth(one)), key=worth, reverse=True)[:_NEAREST]
    first = [f"{one.qualname}{one.signature}  lines {one.line}-{one.end_line}" for one in like]
    inside: dict[str, list[str]] = {}
    for one in found:
        inside.setdefault(one.qualname.rpartition(".")[0], []).append(one.name)
    names = [f"{around or 'module'}: {', '.join(some)}" for around, some in inside.items()]
    return "\n".join(
        [
            f"{path} defines {len(found)} classes and functions.",
            *(["Those with words of the report:", *first] if first else []),
            f"All names ({shows} shows one):",
            *names,
        ]
    )


def _listed(one: Definition) -> str:
    word = "class" if one.kind is DefinitionKind.CLASS else "def"
    margin = "  " * one.qualname.count(".")
    return f"{margin}{word} {one.name}{one.signature}  lines {one.line}-{one.end_line}"


def _defined(index: Index, path: str) -> list[Definition]:
    known = index.definitions_in(path)
    return [one for one in known if one.kind is not DefinitionKind.VARIABLE]


def show_definition(tree: Tree, index: Index, path: str, name: str, room: Room) -> str:
    """Return the sources of the functions and classes of a file that `name` can mean.

    Raises:
        Refusal: it means none.
    """
    lines = tree.lines(path)
    shown: list[str] = []
    for one in definitions_called(index, path, name)[:_SHOWN]:
        where = f"{path}: {one.qualname}, lines {one.line} to {one.end_line}"
        left = room.most - room.count("\n\n".join(shown))
        if left < room.most // 4:
            shown.append(f"{where}: no room here")
            continue
        end, code = window(lines, one.line, one.end_line, Room(most=left, count=room.count))
        more = f"\n[… go on with line {end + 1} to {one.end_line} …]" if end < one.end_line else ""
        shown.append(f"{where}:\n{code}{more}")
    return "\n\n".join(shown)


def definitions_called(index: Index, path: str, name: str) -> list[Definition]:
    """Return the functions, methods and classes of a file that `name` can mean, one at least.

    Raises:
        Refusal: it means none; the text says where else it is defined.
    """
    bare = name.partition("(")[0].strip(" .:").replace("::", ".")
    inside = _defined(index, path)
    exact = [one for one in inside if f".{one.qualname}".endswith(f".{bare}")]
    if not exact:
        meant = closest(bare.rpartition(".")[2], {one.name for one in inside}).name
        exact = [one for one in inside if meant and one.name == meant]
    if not exact:
        raise Refusal(_elsewhere(index, path, name))
    return exact


def _elsewhere(index: Index, path: str, name: str) -> str:
    others = [one for one in index.definitions(name.rpartition(".")[2]) if one.path != path]
    if others:
        places = "; ".join(f"{one.path}: {one.qualname}" for one in others[:_SHOWN])
        return f"{path} has no {name!r}. It is defined in {places}."
    names = [one.qualname for one in _defined(index, path)]
    return f"{path} has no {name!r}. It has: {', '.join(names[:_OTHERS]) or 'no function'}."


#: Definitions that a search shows; lines at the top of one that need no mention.
_FOUND, _TOP = 20, 2


def search_definitions(tree: Tree, index: Index, keywords: str) -> str:
    """Return files, classes and functions by words of their names or code.

    Raises:
        Refusal: there is no word to look for.
    """
    wanted = wanted_in(keywords)
    if not wanted:
        raise Refusal("There is no word to look for: name a few, as in 'parse date'.")
    hits = find_definitions(
        wanted,
        index,
        read=lambda path: decode(tree.read(path) or b""),
        changed=tuple(tree.changed),
        limit=_FOUND,
    )
    if not hits:
        return f"Nothing has a name like {', '.join(wanted)}."
    lines = ([path, *map(_hit, inside)] for path, inside in hits.items())
    return "\n".join(line for of_file in lines for line in of_file)


def _hit(hit: Hit) -> str:
    one = hit.definition
    word = "class " if one.kind is DefinitionKind.CLASS else ""
    name = one.qualname.replace(".", " → ")
    # A name stands some lines below its first decorator.
    see = f", see {hit.line}" if hit.line > one.line + _TOP else ""
    return f"  {word}{name} (line {one.line}{see}): {', '.join(hit.words)}"


#: Calls that are shown.
_CALLS = 25
_CALLED = re.compile(r"(\w+)\s*\(")


def list_calls(index: Index, snippet: str, path: str = "") -> str:
    """Return the calls of a function, in one file or in the whole project.

    `snippet` is its name, or code that calls it, as in "x = a.f(b)" or "if (await f()):".

    Raises:
        Refusal: there is no name in it.
    """
    called = (name for name in _CALLED.findall(snippet) if not iskeyword(name))
    name = next(called, snippet.strip().rpartition(".")[2])
    if not name.isidentifier() or iskeyword(name):
        raise Refusal(f"{snippet!r} is not a call of a function (write its name, without dots).")
    where = path or "the project"
    calls = find_calls(name, index, path=path, limit=_CALLS)
    if not calls:
        like = index.names_like(name, limit=3)
        hint = f" Names like it: {', '.join(like)}." if like else ""
        return f"Nothing calls {name} in {where}.{hint}"
    shown = "\n".join(
        f"{call.path}:{call.line}{f' in {call.caller}' if call.caller else ''}: {call.text}"
        for call in calls
    )
    return f"Calls of {name} in {where}:\n{shown}"
