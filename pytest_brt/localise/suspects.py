"""The places where the bug may be, from what a report says and from what its code runs.

A report is terms, each with a weight that goes by where it stands: the title says what the bug is
about, code in a sentence names what the reporter suspects, and the output of a program names much
that has nothing to do with it. How rare a term is in the project is for `code.lookup` to say.

The rule: a passage scores by the words that it shares with the report and by those of its file
(`code.lookup`), each as a share of the best, and by what else points at it (`signs`). The test file
that is nearest is found by the same words, and by what it imports.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from enum import Enum

from pytest_brt.code.file_facts import Passage
from pytest_brt.code.index import Index
from pytest_brt.code.layout import is_product
from pytest_brt.code.lookup import Relevance, is_test, relevance
from pytest_brt.code.words import IDENTIFIER, terms_of
from pytest_brt.localise.signs import Key, Sign, find_signs
from pytest_brt.types import Block, BlockKind, Issue, Place
from pytest_brt.types.clue import SharedWords


class Source(Enum):
    """Where in a report a term stands, with what it weighs there."""

    TITLE = 2.0
    #: Between backticks in a sentence, or spelled as no English word is.
    NAMED = 1.5
    CODE = 1.0
    #: What an exception, a warning or a tool says.
    MESSAGE = 0.9
    PROSE = 0.7
    OUTPUT = 0.4


_OF_BLOCK = {
    BlockKind.PROSE: Source.PROSE,
    BlockKind.HEADING: Source.PROSE,
    BlockKind.PYTHON: Source.CODE,
    BlockKind.REPL: Source.CODE,
    BlockKind.FILE: Source.CODE,
}
_NOISE = re.compile(r"https?://\S+|^\s*File \"[^\n]*$|(?<!\S)\S*site-packages\S*", re.M)
_INLINE = re.compile(r"`+([^`\n]+)`+")
#: What no English word looks like: an underscore or a capital inside, a call, a code like E501.
_CODE_LIKE = re.compile(
    r"\b(?:\w+_\w+|[a-z]+[A-Z]\w*|[A-Z][a-z]+[A-Z]\w*|_\w+|[A-Z]+\d+)\b|\b\w+(?=\()"
)
_SAID = re.compile(
    r"^[^\S\n]*(?:[\w.]*(?:Error|Exception|Warning)|[\w./\\-]+\.\w+:\d+(?::\d+)?):[^\S\n]*(\S.+)$",
    re.M,
)
#: What stands in any report, and in the comments of any code.
_STOP = terms_of(
    "about above after again all also although an and any anything apparently appear are as at be "
    "because been before below between but by can cannot case cause come could did do does doing "
    "done during each either else even ever every everything few first for from get give given go "
    "got had happen has have having he hello help hence here hi how however if in instead into is "
    "it its itself just last later least less let like likely long look made make many may maybe "
    "me might more most much must my need neither new next no nor not nothing now of off ok on "
    "once one only or other our out over own perhaps please possible possibly probably quite "
    "rather really same second see seem several shall she should simply since so some something "
    "still such sure take tell than thank that the their them then there therefore these they "
    "thing think this those though through thus to too try two under unfortunately until up upon "
    "us use used using usually very want was way we well were what when where whether which while "
    "who whole whom why will with within without would yes yet you your "
    "actual actually behavior behaviour bug code correct correctly describe description details "
    "environment error example expect expected fix following found incorrect incorrectly issue "
    "line minimal output problem python report reproduce result right step steps version wrong"
)


def query_of(issue: Issue) -> Mapping[str, float]:
    """Return the terms of `issue` with their weights; a term weighs what its best place says."""
    found: dict[str, float] = {}
    for source, text in _texts(issue):
        for term in terms_of(text) - _STOP:
            if len(term) > 2:
                found[term] = max(found.get(term, 0.0), source.value)
    return found


def _texts(issue: Issue) -> Iterator[tuple[Source, str]]:
    yield Source.TITLE, issue.title
    for block in issue.blocks or (Block(kind=BlockKind.PROSE, text=issue.text, line=1),):
        text = _NOISE.sub(" ", block.text)
        source = _OF_BLOCK.get(block.kind, Source.OUTPUT)
        if block.kind is not BlockKind.TRACEBACK:  # its frames are places, and no words
            yield source, text
        yield Source.MESSAGE, " ".join(_SAID.findall(text))
        if source is Source.PROSE:
            yield Source.NAMED, " ".join([*_INLINE.findall(text), *_CODE_LIKE.findall(text)])


#: What the words of a passage and those of its file are worth, the best of each.
_WORDS, _OF_FILE = 1.0, 0.5
#: What scores less than this share of the best is not worth a look.
_LEAST = 0.25


def find_suspects(
    issue: Issue,
    index: Index,
    *,
    found: Relevance | None = None,
    ran: Collection[Key] = (),
    paths: Collection[str] = (),
    limit: int = 20,
) -> tuple[Place, ...]:
    """Return the likeliest places of the bug that `issue` reports, best first.

    `found` has to do with the report's words, if that was looked for already; `ran` are functions
    of the product that the report's code ran. Only `paths` are looked at, where any are named.
    """
    found = relevance(query_of(issue), index) if found is None else found
    best = max(found.passages.values(), default=1.0)
    best_file = max(found.files.values(), default=1.0)
    signs = find_signs(issue, index, found.passages, ran)
    scores = {
        number: _WORDS * found.passages.get(number, 0.0) / best
        + _OF_FILE * found.files.get(passage.path, 0.0) / best_file
        + sum(sign.score for sign in signs.get(number, ()))
        for number, passage in index.passages.items()
        if (number in found.passages or number in signs or paths)
        and (passage.path in paths if paths else is_product(passage.path))
    }
    order = sorted(scores, key=lambda number: (-scores[number], number))[:limit]
    least = _LEAST * max(scores.values(), default=0.0)
    spelled = _spelled(issue.text)
    return tuple(
        _suspect(
            index.passages[number],
            scores[number],
            signs.get(number, ()),
            [spelled.get(term, term) for term in found.reasons(number)],
        )
        for number in order
        if scores[number] > least or paths
    )


def _spelled(text: str) -> dict[str, str]:
    """Return each term of a report as the report has it."""
    found: dict[str, str] = {}
    for word in dict.fromkeys(IDENTIFIER.findall(text)):
        for term in terms_of(word):
            found.setdefault(term, word)
    return found


def rank_files(suspects: Iterable[Place]) -> tuple[str, ...]:
    """Return the files of `suspects`, each once, in their order."""
    return tuple(dict.fromkeys(suspect.path for suspect in suspects))


def _suspect(passage: Passage, score: float, signs: Sequence[Sign], words: Sequence[str]) -> Place:
    clues = [sign.clue for sign in sorted(signs, key=lambda sign: -sign.score)]
    if words:
        clues.append(SharedWords(words=tuple(dict.fromkeys(words))))
    return Place(
        path=passage.path,
        function=passage.function,
        line=passage.line,
        end_line=passage.end_line,
        score=round(score, 4),
        clues=tuple(clues),
    )


#: What the name of the likeliest function weighs among the words of a report, and that of its
#: module, which the test file may be called after.
_FUNCTION, _MODULE = 2.0, 2.0
#: Suspects whose names are looked for, and how much less each says than the one before it.
_SUSPECTS, _DECAY = 6, 0.7
#: What it is worth, beside the words of the best file, that the likeliest module is imported.
_IMPORTS = 0.3


def nearest_tests(issue: Issue, index: Index, suspects: Sequence[Place]) -> str:
    """Return the path of the test file that a test of `issue` would be added to, or ""."""
    query = dict(query_of(issue))
    for rank, suspect in enumerate(suspects[:_SUSPECTS]):
        for text, weight in ((suspect.function, _FUNCTION), (_stem(suspect.path), _MODULE)):
            for term in terms_of(text):
                query[term] = max(query.get(term, 0.0), weight * _DECAY**rank)
    scores = relevance(query, index, tests=True).files
    best = max(scores.values(), default=1.0)
    for path in rank_files(suspects)[:1]:
        for importer in index.importers(index.layout.module_of(path)):
            if is_test(importer):
                scores = {**scores, importer: scores.get(importer, 0.0) + _IMPORTS * best}
    in_suite = index.layout.collected.has_file
    hosts = [path for path in scores if in_suite(path) and _has_tests(path, index)]
    return min(hosts, key=lambda path: (-scores[path], path), default="")


def _stem(path: str) -> str:
    """Return the name that tests of `path` would carry: of a package, its folder's."""
    folder, _, name = path.rpartition("/")
    return folder.rpartition("/")[2] if name == "__init__.py" else name.removesuffix(".py")


def _has_tests(path: str, index: Index) -> bool:
    return any(found.name.lower().startswith("test") for found in index.definitions_in(path))
