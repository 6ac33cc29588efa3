"""Which existing test file a new test belongs into.

LIBRO takes the file that shares most tokens with the test (paper 001, requirement 20 of its
code). Its share stays the base of the score; what a person would go by is added: the file
named after the module that the traceback or the test's imports point at, the file that
imports the same modules, and the file that calls the same functions.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from pytest_brt.code.index import Index
from pytest_brt.code.layout import is_beside, is_test_path
from pytest_brt.code.relevance import files_about
from pytest_brt.code.words import split_identifier, terms_of
from pytest_brt.syntax import called_names, parse

#: What each sign adds to the share of common tokens, which is in 0..1.
_NAMED_AFTER = 1.0
_NAMED_AFTER_FOLDER = 0.3
_IMPORTS_SAME = 0.3
_SAME_CALLS = 0.5
#: How many files the full-text index proposes.
_PROPOSED = 40
#: What skips all tests of a module, whatever the machine: LIBRO leaves ignored classes out too.
_SKIPPED = re.compile(
    r"^pytestmark\s*=\s*\[?\s*pytest\.mark\.skip\b|^pytest\.skip\(.*allow_module_level=True",
    re.MULTILINE,
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Host:
    """A test file that could take a test, and why."""

    path: str
    #: Larger is better; comparable within one answer.
    score: float
    #: For the reader, the strongest first.
    reasons: tuple[str, ...]


def rank_hosts(
    source: str, index: Index, *, suspects: Sequence[str] = (), limit: int = 10
) -> tuple[Host, ...]:
    """Return the test files that a test could be added to, best first.

    Args:
        source: the test, as a module of its own.
        index: the project.
        suspects: files of the product that the test is about, the likeliest first, as the
            traceback or localisation tells them.
        limit: how many at most.

    Raises:
        SyntaxError: `source` is not Python.
    """
    about = _about(source, index, suspects)
    called = _called_names(source)
    tokens = code_tokens(source)
    hosts = [
        _judge(path, index, tokens=tokens, about=about, called=called)
        for path in _proposals(source, index, about)
    ]
    hosts = [host for host in hosts if host.reasons]
    hosts.sort(key=lambda host: (-host.score, host.path))
    return tuple(hosts[:limit])


def _proposals(source: str, index: Index, about: Sequence[str]) -> Iterable[str]:
    """Return the files worth a closer look: similar words, or named after a module."""
    found = list(files_about(terms_of(source), index, tests=True)[:_PROPOSED])
    stems = {_stem(path) for path in about}
    is_test = index.layout.collected.has_file
    for path in sorted(index.layout.files):
        if is_test(path) and stems & set(_tested_names(path)):
            found.append(path)
    return [
        path
        for path in dict.fromkeys(found)
        if is_test(path) and not is_beside(path) and not _SKIPPED.search(index.source(path))
    ]


def _judge(
    path: str,
    index: Index,
    *,
    tokens: frozenset[str],
    about: Sequence[str],
    called: frozenset[str],
) -> Host:
    text = index.source(path)
    theirs = code_tokens(text)
    share = len(tokens & theirs) / max(1, len(tokens))
    score, reasons = share, [(share, f"shares {share:.0%} of the test's tokens")]
    for rank, target in enumerate(about):
        # Those named first are the likeliest.
        weight = 1 / (1 + 0.5 * rank)
        worth, reason = _affinity(path, target)
        if worth:
            reasons.append((worth * weight, reason))
            score += worth * weight
            break
    modules = {index.layout.module_of(target) for target in about}
    same = {i.module for i in index.imports_in(path)} & modules
    if same:
        worth = _IMPORTS_SAME * len(same) / len(modules)
        score += worth
        reasons.append((worth, f"imports {min(same)}"))
    calls = {name for name in called if name in theirs}
    if called:
        worth = _SAME_CALLS * len(calls) / len(called)
        score += worth
        if calls:
            reasons.append((worth, f"uses {', '.join(sorted(calls)[:3])}"))
    reasons.sort(key=lambda reason: -reason[0])
    return Host(path=path, score=round(score, 4), reasons=tuple(text for _, text in reasons))


def _affinity(path: str, target: str) -> tuple[float, str]:
    """Return what the naming convention says about test file `path` and product file `target`."""
    stem = _stem(target)
    folder = target.rpartition("/")[0].rpartition("/")[2]
    near = _common_folders(path, target)
    names = _tested_names(path)
    bonus = 0.1 * min(near, 4)
    if stem in names:
        return _NAMED_AFTER + bonus, f"is named after {target}"
    words, theirs = set(split_identifier(stem)), set(split_identifier(names[0]))
    if words and words & theirs and (words <= theirs or theirs <= words):
        return _NAMED_AFTER / 2 + bonus, f"is named almost like {target}"
    if folder and folder in names:
        return _NAMED_AFTER_FOLDER + bonus, f"is named after the folder of {target}"
    if near >= 2 and path.rpartition("/")[0].rpartition("/")[0] == target.rpartition("/")[0]:
        return _NAMED_AFTER_FOLDER, f"is in the tests of {target.rpartition('/')[0]}"
    return 0.0, ""


def _stem(path: str) -> str:
    """Return the name that tests of `path` would carry: of a package, its folder's."""
    folder, _, name = path.rpartition("/")
    stem = name.removesuffix(".py")
    return folder.rpartition("/")[2] if stem == "__init__" else stem.lstrip("_")


def _tested_names(path: str) -> tuple[str, ...]:
    """Return the names of modules that test file `path` may be about by its own name.

    >>> _tested_names("tests/core/test_basic.py")
    ('basic', 'core_basic')
    """
    folder, _, name = path.rpartition("/")
    stem = name.removesuffix(".py").removeprefix("test_")
    stem = stem.removesuffix("_test").removesuffix("_tests")
    last = folder.rpartition("/")[2]
    return (stem, f"{last}_{stem}") if last and not is_test_path(f"{last}/x.py") else (stem,)


def _common_folders(path: str, target: str) -> int:
    first, second = set(path.split("/")[:-1]), set(target.split("/")[:-1])
    return len(first & second)


def _about(source: str, index: Index, suspects: Sequence[str]) -> tuple[str, ...]:
    """Return the product files that the test is about: suspects, what it calls, what it imports."""
    found = [path for path in suspects if path in index.layout.files and not is_test_path(path)]
    # What few files speak of says most about the test.
    rarity = {name: len(index.files_with(name)) for name in _called_names(source)}
    for name in sorted(rarity, key=lambda name: (rarity[name], name)):
        definition = index.unique_definition(name)
        if definition:
            found.append(definition.path)
    for node in ast.walk(parse(source)):
        modules: list[tuple[str, str]] = []
        if isinstance(node, ast.ImportFrom) and node.module and not node.level:
            modules = [(node.module, alias.name) for alias in node.names]
        elif isinstance(node, ast.Import):
            modules = [(alias.name, "") for alias in node.names]
        for module, name in modules:
            found.extend(_sources(module, name, index))
    return tuple(dict.fromkeys(found))[:8]


def _sources(module: str, name: str, index: Index) -> list[str]:
    """Return the file where what ``from module import name`` gives is really written."""
    definition = index.unique_definition(name) if name else None
    if definition and definition.module.partition(".")[0] == module.partition(".")[0]:
        return [definition.path]
    path = index.layout.path_of(f"{module}.{name}" if name else module)
    path = path or index.layout.path_of(module)
    # A package's __init__ says too little about what is tested.
    return [path] if path and not path.endswith("__init__.py") else []


def _called_names(source: str) -> frozenset[str]:
    return frozenset(name for name in called_names(parse(source)) if len(name) > 2) - _COMMON


_COMMON = frozenset(
    {"assert", "raises", "len", "str", "repr", "list", "set", "dict", "int", "print", "range"}
    | {"append", "join", "isinstance", "type", "tuple", "sorted", "format", "warns", "float"}
)


_TOKEN = re.compile(r"""[^\W\d]\w*|\d[\w.]*|'[^'\n]*'|"[^"\n]*\"""")


def code_tokens(source: str) -> frozenset[str]:
    """Return the distinct names, numbers and short strings of `source`.

    >>> sorted(code_tokens("f(x1, 'a b') + 2.5"))
    ["'a b'", '2.5', 'f', 'x1']
    """
    return frozenset(_TOKEN.findall(source))
