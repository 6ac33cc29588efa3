"""What a model sees of the project: lines of files, definitions, and where a text stands."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from keyword import iskeyword

from pytest_brt.agent.action import Refusal
from pytest_brt.agent.excerpt import Room, largest, numbered, window
from pytest_brt.agent.paths import closest
from pytest_brt.agent.tree import Tree
from pytest_brt.code.calls import find_calls
from pytest_brt.code.file_facts import Definition, DefinitionKind, read_facts
from pytest_brt.code.index import Index
from pytest_brt.code.layout import is_test_path
from pytest_brt.code.relevance import files_about
from pytest_brt.code.search import Hit, find_definitions, wanted_in
from pytest_brt.code.words import terms_of
from pytest_brt.syntax.parse import decode

# -- lines of a file --

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


# -- definitions --

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


# -- lines of the project --

#: Lines that are shown, those of tests among them, those of one file, and characters of each.
_LINES, _IN_TESTS, _OF_ONE, _WIDTH = 20, 6, 4, 140
#: Words from which on a text is a sentence, of which the identifiers are looked for.
_SENTENCE = 3
_PLACE = re.compile(r"[^\s:]+:\d+: ")
_NAMING = re.compile(r"\s*(?:async\s+def|def|class)\b")


def search_code(tree: Tree, index: Index, text: str) -> str:
    """Return the lines of the project with `text` in them, as ``path:line: line``.

    Definitions of that name come first, then the product, then a few of tests. Of a sentence that
    stands nowhere its identifiers are looked for. Without a hit names that are spelled almost like
    it are told.
    """
    wanted = text.strip().strip("'\"`").removesuffix("()")
    found = _without_doubles([*_named(wanted, tree, index), *_lines(wanted, tree, index)])
    if not found and len(wanted.split()) >= _SENTENCE:
        names = [name for name in wanted_in(wanted) if name != wanted]
        every = (line for name in names for line in _lines(name, tree, index))
        found = _without_doubles([*every])
    if not found:
        return _nothing(wanted, index)
    product = [line for line in found if not is_test_path(line.partition(":")[0])]
    tests = [line for line in found if line not in product]
    shown = product[: _LINES - min(_IN_TESTS, len(tests))]
    shown += tests[: _IN_TESTS if product else _LINES]
    if len(shown) < len(found):
        more = len(found) - len(shown)
        shown.append(f"[… {more} more lines; search for something more exact …]")
    return "\n".join(shown)


def _without_doubles(lines: Sequence[str]) -> list[str]:
    """Return the first of the lines about each place."""
    found: dict[str, str] = {}
    for line in lines:
        found.setdefault(line.partition(": ")[0] if _PLACE.match(line) else line, line)
    return list(found.values())


def _named(wanted: str, tree: Tree, index: Index) -> Iterator[str]:
    name = re.sub(r"^(?:async def|def|class)\s+", "", wanted).partition("(")[0].strip()
    for found in index.definitions(name)[:8] if re.fullmatch(r"[\w.]+", name) else ():
        if found.path not in tree.changed:
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


def _lines(wanted: str, tree: Tree, index: Index) -> list[str]:
    words = re.findall(r"\w+", wanted)
    if not words:
        return []
    known = {*index.files_with(max(words, key=len)), *tree.changed}
    # It may be a part of a word.
    return list(_in_files(wanted, known, tree)) or list(
        _in_files(wanted, index.layout.files - known, tree)
    )


def _in_files(wanted: str, paths: Iterable[str], tree: Tree) -> Iterator[str]:
    for path in sorted(paths, key=lambda path: (is_test_path(path), path)):
        text = decode(tree.read(path) or b"")
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
