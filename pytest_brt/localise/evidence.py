"""What in a bug report points at which place of the project, sign by sign."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from enum import StrEnum

from pytest_brt.code.entries import Definition
from pytest_brt.code.facts import DefinitionKind
from pytest_brt.code.index import Index
from pytest_brt.code.layout import is_product, is_test_path
from pytest_brt.code.trace.place import place_frames
from pytest_brt.code.trace.read import read_tracebacks
from pytest_brt.code.words import words_of
from pytest_brt.localise.literals import Hits
from pytest_brt.syntax import parse
from pytest_brt.types import BlockKind, Frame, Issue


class Sign(StrEnum):
    """A way in which a report points at code."""

    TRACEBACK = "traceback"
    NAMED_FILE = "named file"
    SNIPPET = "snippet"
    NAMED = "named in the text"
    LITERAL = "spelled as in the source"
    WORDS = "words"


@dataclass(frozen=True, slots=True, kw_only=True)
class Evidence:
    """One sign for one place."""

    sign: Sign
    path: str
    #: Qualified name of the function or class, or "" for the file as a whole.
    function: str
    #: How strong, in 0..1.
    strength: float
    #: For the reader.
    reason: str


#: How the reasons begin of places that a traceback has.
ENDS, PASSES = "the traceback ends in", "the traceback passes in"
#: How much less each frame says than the one below it.
_FRAME_DECAY = 0.75
#: A name that is defined in more files than this says nothing.
_MOST_FILES = 8
#: Lines of a file that are looked at for one literal.
_MOST_LINES = 12
#: How much less it says that a function has a literal in it than that it is called so.
_BODY = 0.8


def gather(issue: Issue, index: Index, spelled: Iterable[Hits]) -> tuple[Evidence, ...]:
    """Return all that the report `issue` says about places in the product.

    `spelled` is where the product has what the report spells.
    """
    found = [
        *_from_tracebacks(issue.text, index),
        *_from_paths(issue.text, index),
        *_from_snippets(issue, index),
        *_from_names(issue, index),
        *_from_literals(spelled, index),
        *_from_words(issue, index),
    ]
    return tuple(item for item in found if is_product(item.path))


def _from_tracebacks(text: str, index: Index) -> Iterator[Evidence]:
    for trace in read_tracebacks(text):
        placed = place_frames(trace.raised, index.paths).frames
        frames = [f for f in (_moved(f, index) for f in placed) if f.project]
        for depth, frame in enumerate(reversed(frames)):
            function = _function_called(frame.function, frame.path, frame.line, index)
            yield Evidence(
                sign=Sign.TRACEBACK,
                path=frame.path,
                function=function,
                strength=_FRAME_DECAY**depth,
                reason=f"{PASSES if depth else ENDS} {frame.function}",
            )


def _moved(frame: Frame, index: Index) -> Frame:
    """Return a frame of a file that the project has under another name by now.

    Files are renamed more often than functions: it is the one file that defines the function.
    """
    folders = set(re.split(r"[/\\]", frame.path)[:-1])
    if frame.project or is_test_path(frame.path) or folders.isdisjoint(index.packages):
        return frame
    found = [d for d in index.definitions(frame.function) if _counts(d)]
    if len({definition.path for definition in found}) != 1:
        return frame
    return replace(frame, path=found[0].path, project=True)


def _function_called(name: str, path: str, line: int, index: Index) -> str:
    """Return the qualified name of the frame's function; lines move, names stay."""
    named = [d for d in index.definitions_in(path) if d.name == name]
    named.sort(key=lambda d: abs(d.line - line))
    if named:
        return named[0].qualname
    around = index.definition_at(path, line) if name.startswith("<") else None
    return around.qualname if around else ""


_PATH = re.compile(r"[\w./\\-]+\.py\b")
_DOTTED = re.compile(r"(?<![\w.])[A-Za-z_]\w*(?:\.[A-Za-z_]\w*)+")


def _from_paths(text: str, index: Index) -> Iterator[Evidence]:
    """Yield the files that the text names by path or as a dotted module."""
    frames = {frame.path for trace in read_tracebacks(text) for frame in trace.raised.frames}
    for name in dict.fromkeys(_PATH.findall(text)):
        path = index.paths.find(name) if name not in frames else None
        if path:
            yield _named_file(path, f"the report names {name}")
    for name in dict.fromkeys(_DOTTED.findall(text)):
        path = index.layout.path_of(name)
        if path and not path.endswith("__init__.py"):
            yield _named_file(path, f"the report names the module {name}")


def _named_file(path: str, reason: str) -> Evidence:
    return Evidence(sign=Sign.NAMED_FILE, path=path, function="", strength=1.0, reason=reason)


def _from_snippets(issue: Issue, index: Index) -> Iterator[Evidence]:
    """Yield the definitions of what the report's code calls and imports."""
    names: dict[str, None] = {}
    for block in issue.blocks:
        if block.kind in (BlockKind.PYTHON, BlockKind.REPL, BlockKind.FILE):
            names.update(dict.fromkeys(_code_names(block.text)))
    for name in names:
        yield from _definitions(name, index, Sign.SNIPPET, "the report's code uses")


_PROMPTS = re.compile(r"^\s*(?:>>> ?|\.\.\. ?|In \[\d+\]: ?)", re.M)
_CALLED = re.compile(r"([A-Za-z_][\w.]*)\s*\(")
_ATTRIBUTE = re.compile(r"\.([A-Za-z_]\w{3,})")


def _code_names(text: str) -> Iterator[str]:
    """Yield the names that a snippet calls or imports; of one that does not parse, by pattern."""
    bare = _PROMPTS.sub("", text)
    try:
        tree = parse(bare)
    except SyntaxError:
        yield from (name.rpartition(".")[2] for name in _CALLED.findall(bare))
        yield from _ATTRIBUTE.findall(bare)
        return
    for node in ast.walk(tree):
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Name):
            yield node.func.id
        elif isinstance(node, ast.Attribute):
            yield node.attr
        elif isinstance(node, ast.ImportFrom):
            yield from (alias.name for alias in node.names)


_INLINE = re.compile(r"`+([^`\n]+)`+")
_IDENTIFIER = re.compile(r"[A-Za-z_]\w*(?:\.[A-Za-z_]\w*)*")
#: What no English word looks like: an underscore inside, a capital inside, a call, a dot.
_CODE_LIKE = re.compile(r"\b(?:\w+_\w+|[a-z]+[A-Z]\w*|[A-Z][a-z]+[A-Z]\w*|_\w+)\b|\b\w+(?=\()")


def _from_names(issue: Issue, index: Index) -> Iterator[Evidence]:
    """Yield the definitions of identifiers in the title and in sentences."""
    prose = [b.text for b in issue.blocks if b.kind in (BlockKind.PROSE, BlockKind.HEADING)]
    text = "\n".join(prose) if issue.blocks else issue.text
    names: dict[str, None] = {}
    for inline in _INLINE.findall(text):
        names.update(dict.fromkeys(_IDENTIFIER.findall(inline)))
    names.update(dict.fromkeys(_CODE_LIKE.findall(f"{issue.title}\n{text}")))
    for name in _IDENTIFIER.findall(issue.title):
        names.setdefault(name)
    titled = set(_IDENTIFIER.findall(issue.title))
    for name in names:
        in_title = name in titled or any(name in dotted.split(".") for dotted in titled)
        for item in _definitions(name, index, Sign.NAMED, "the report names"):
            strength = item.strength if in_title else item.strength * 0.6
            yield Evidence(
                sign=item.sign,
                path=item.path,
                function=item.function,
                strength=strength,
                reason=item.reason,
            )


def _definitions(name: str, index: Index, sign: Sign, verb: str) -> Iterator[Evidence]:
    """Yield where the product defines `name`, weaker the more places there are."""
    found = [d for d in index.definitions(name) if _counts(d)]
    files = {definition.path for definition in found}
    if not found or len(files) > _MOST_FILES or len(name) < 3:
        return
    for definition in found:
        yield Evidence(
            sign=sign,
            path=definition.path,
            function=definition.qualname,
            strength=1 / len(files),
            reason=f"{verb} {name}",
        )


def _counts(definition: Definition) -> bool:
    return definition.kind is not DefinitionKind.VARIABLE and is_product(definition.path)


def _from_literals(spelled: Iterable[Hits], index: Index) -> Iterator[Evidence]:
    """Yield the places that spell what the report spells, stronger the fewer there are."""
    for hits in spelled:
        most = max(len(lines) for _, lines in hits.files)
        for path, lines in hits.files:
            strength = hits.rarity * (0.5 + 0.5 * len(lines) / most)
            around = (index.definition_at(path, line) for line in lines[:_MOST_LINES])
            for function in dict.fromkeys(found.qualname if found else "" for found in around):
                named = hits.literal.pattern.search(function.rpartition(".")[2])
                yield Evidence(
                    sign=Sign.LITERAL,
                    path=path,
                    function=function,
                    strength=strength if named else strength * _BODY,
                    reason=f"has {hits.literal.text!r} of the report",
                )


def _from_words(issue: Issue, index: Index) -> Iterator[Evidence]:
    """Yield the files that share most words with the title and with the whole report."""
    scores: dict[str, float] = {}
    for text, share in ((issue.title, 0.4), (issue.text, 0.6)):
        found = index.files_by_words(words_of([_without_noise(text)]), limit=50, tests=False)
        top = found[0].score if found else 1.0
        for item in found:
            if top > 0:
                scores[item.path] = scores.get(item.path, 0.0) + share * item.score / top
    for path, score in scores.items():
        yield Evidence(
            sign=Sign.WORDS,
            path=path,
            function="",
            strength=score,
            reason="shares words with the report",
        )


_NOISE = re.compile(r"https?://\S+|^\s*File \"[^\n]*$|<!--.*?-->", re.M | re.S)


def _without_noise(text: str) -> str:
    return _NOISE.sub(" ", text)


def strongest(evidence: Iterable[Evidence]) -> dict[Sign, Evidence]:
    """Return the strongest evidence of each sign."""
    best: dict[Sign, Evidence] = {}
    for item in evidence:
        if item.sign not in best or item.strength > best[item.sign].strength:
            best[item.sign] = item
    return best
