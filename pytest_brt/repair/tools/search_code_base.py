"""`search_code_base`: where words are used in names, approximately, as file → class → method."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from rapidfuzz import fuzz

from pytest_brt.code.facts import DefinitionKind, split_identifier
from pytest_brt.code.index import Definition
from pytest_brt.code.layout import is_beside, is_test_path
from pytest_brt.dialogue.action import Action, ActionSpec, Parameter
from pytest_brt.dialogue.tool import Outcome, Tool, refused
from pytest_brt.repair.site import Site
from pytest_brt.repair.states import Tool as Name
from pytest_brt.types import Step

#: Names that are shown, and files that are looked into.
_MOST = 25
_FILES = 40
#: Subtokens that are at least so alike are taken for each other, in 0..100.
_ALIKE = 85.0
_SHORTEST = 2


@dataclass(frozen=True, slots=True, kw_only=True)
class _Hit:
    """A definition and the keywords that it matches."""

    definition: Definition
    words: tuple[str, ...]
    score: float


def search_code_base(site: Site) -> Tool:
    """Return the tool."""

    def run(action: Action, _steps: Sequence[Step]) -> Outcome:
        words = subtokens(action["keywords"])
        if not words:
            return refused("'keywords' holds no word: name a few, as in 'parse date'.")
        hits = _search(site, words)
        if not hits:
            return Outcome(observation=f"Nothing is called like {', '.join(words)}.")
        return Outcome(observation=_told(hits))

    spec = ActionSpec(
        name=Name.SEARCH.value,
        about="Find files, classes and functions by words of their names or code.",
        parameters=(Parameter(name="keywords", about="a few words or identifiers"),),
    )
    return Tool(spec=spec, run=run)


def subtokens(text: str) -> tuple[str, ...]:
    """Return the words of identifiers, split at capitals, underscores and periods.

    >>> subtokens("parseDate, date_utils.to_text")
    ('parse', 'date', 'utils', 'to', 'text')
    """
    parts = (part for part in split_identifier(text) if len(part) >= _SHORTEST)
    return tuple(dict.fromkeys(parts))


def _search(site: Site, words: tuple[str, ...]) -> list[_Hit]:
    files = [found.path for found in site.index.files_by_words(words, limit=_FILES)]
    named = [
        path
        for path in sorted(site.index.layout.files)
        if any(_alike(word, subtokens(path.removesuffix(".py"))) for word in words)
    ]
    hits = []
    for path in dict.fromkeys((*named[:_FILES], *files)):
        if is_beside(path):
            continue
        in_path = _matches(words, subtokens(path.removesuffix(".py")))
        text = "\n".join(site.lines(path)).lower().split("\n")
        for definition in site.index.definitions_in(path):
            if definition.kind is DefinitionKind.VARIABLE:
                continue
            in_name = _matches(words, subtokens(definition.qualname))
            body = "\n".join(text[definition.line - 1 : definition.end_line])
            in_body = [w for w in words if w not in in_name and w in body]
            if definition.kind is DefinitionKind.CLASS:
                in_body = []
            score = 3.0 * len(in_name) + 1.0 * len(in_path) + 1.0 * len(in_body)
            score -= 2.0 * is_test_path(path)
            if in_name or in_body:
                found = tuple(dict.fromkeys((*in_name, *in_body)))
                hits.append(_Hit(definition=definition, words=found, score=score))
    hits.sort(key=lambda hit: (-hit.score, hit.definition.path, hit.definition.line))
    return hits[:_MOST]


def _matches(words: Iterable[str], parts: Iterable[str]) -> list[str]:
    known = tuple(parts)
    return [word for word in words if _alike(word, known)]


def _alike(word: str, parts: Iterable[str]) -> bool:
    return any(
        word == part or (len(word) > 3 and fuzz.ratio(word, part) >= _ALIKE) for part in parts
    )


def _told(hits: list[_Hit]) -> str:
    files: dict[str, list[_Hit]] = {}
    for hit in hits:
        files.setdefault(hit.definition.path, []).append(hit)
    lines = []
    for path, inside in files.items():
        lines.append(path)
        for hit in sorted(inside, key=lambda hit: hit.definition.line):
            one = hit.definition
            word = "class " if one.kind is DefinitionKind.CLASS else ""
            name = one.qualname.replace(".", " → ")
            lines.append(f"  {word}{name} (line {one.line}): {', '.join(hit.words)}")
    return "\n".join(lines)
