"""The test file that a test belongs to: by what the test calls, or by what the report says."""

from __future__ import annotations

import math
import re
from collections import Counter
from collections.abc import Mapping, Sequence
from functools import lru_cache
from pathlib import Path, PurePosixPath

from pytest_brt.localise.query import query_of
from pytest_brt.localise.suspects import files_of
from pytest_brt.project.index import Index, open_index
from pytest_brt.project.layout import is_support_code
from pytest_brt.project.words import split_identifier
from pytest_brt.types import Issue, Place

#: All tests of a module skipped, whatever the machine, or given values by a mark.
_OTHERWISE_RUN = re.compile(
    r"^pytestmark\s*=\s*\[?\s*pytest\.mark\.(?:skip|parametrize)\b"
    r"|^pytest\.skip\(.*allow_module_level=True",
    re.MULTILINE,
)
_TOKEN = re.compile(r"""[^\W\d]\w*|\d[\w.]*|'[^'\n]*'|"[^"\n]*\"""")
_DOCSTRING = re.compile(r'""".*?"""', re.DOTALL)
_FUNCTION = re.compile(r"^\s*(?:async )?def (\w+)", re.MULTILINE)
#: What it is worth beside the tokens that the name of the file fits a module of the test's imports.
_NAME_FITS = 3.0
#: What it is worth, beside the words of the best file, that the likeliest module is imported.
_IMPORTS = 0.3


def code_tokens(source: str) -> frozenset[str]:
    """Return the distinct names, numbers and short strings of `source`.

    >>> sorted(code_tokens("f(x1, 'a b') + 2.5"))
    ["'a b'", '2.5', 'f', 'x1']
    """
    return frozenset(_TOKEN.findall(source))


@lru_cache(maxsize=1)
def read_hosts(index: Index) -> Mapping[str, frozenset[str]]:
    """Return the tokens of each test file whose tests are run as they are written, by its path."""
    hosts = {}
    for path in sorted(index.layout.files):
        if index.collected.has_file(path) and not is_support_code(path):
            text = index.source(path)
            has_tests = any(map(index.collected.has_function, _FUNCTION.findall(text)))
            if has_tests and not _OTHERWISE_RUN.search(text):
                hosts[path] = code_tokens(text)
    return hosts


def rank_hosts(
    source: str, hosts: Mapping[str, frozenset[str]], fails_in: str = ""
) -> tuple[str, ...]:
    """Return which of the test files `hosts` a test could be added to, best first.

    As LIBRO has it, the file that shares most tokens takes the test (paper 001, requirement 20). A
    token counts by how few files have it, so that the file whose tests call the same function comes
    before a larger one, and so does one that is called after a module of the test's imports, or
    after the file `fails_in`, in which the test's exception is raised.
    """
    tokens = code_tokens(source)
    shared = {path: own & tokens for path, own in hosts.items() if own & tokens}
    having = Counter(token for own in shared.values() for token in own)
    modules = set(split_identifier(" ".join(re.findall(r"^(?:from|import) (\S+)", source, re.M))))
    raising = set(split_identifier(PurePosixPath(fails_in).stem))

    def score(path: str) -> float:
        worths = (math.log(1 + len(hosts) / having[token]) for token in shared[path])
        name = set(split_identifier(PurePosixPath(path).stem)) - {"test", "tests"}
        fits = (name <= modules) + (name <= raising) if name else 0
        return sum(worths) + _NAME_FITS * fits

    return tuple(sorted(shared, key=lambda path: (-score(path), path)))


def choose_host(source: str, root: Path, cache: Path | None, fails_in: str = "") -> str:
    """Return the test file of the project at `root` that a test is added to, or "".

    What its docstring says of the report is in any file's words.
    """
    code = _DOCSTRING.sub("", source)
    with open_index(root, cache) as index:
        return next(iter(rank_hosts(code, read_hosts(index), fails_in)), "")


def nearest_test_file(issue: Issue, index: Index, suspects: Sequence[Place]) -> str:
    """Return the path of the test file that a test of `issue` would be added to, or ""."""
    scores = dict(index.relevance(query_of(issue), tests=True).files)
    best = max(scores.values(), default=1.0)
    for path in files_of(suspects)[:1]:
        for importer in index.importers(index.layout.module_of(path)):
            scores[importer] = scores.get(importer, 0.0) + _IMPORTS * best
    hosts = scores.keys() & read_hosts(index).keys()
    return min(hosts, key=lambda path: (-scores[path], path), default="")
