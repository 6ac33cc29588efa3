"""The test file that a test belongs to: by what the test calls, or by what the report says."""

from __future__ import annotations

import math
import re
from collections import Counter
from collections.abc import Mapping, Sequence
from functools import lru_cache
from pathlib import Path, PurePosixPath

from pytest_brt.localise.suspects import Source, texts_of
from pytest_brt.project.index import Index, open_index
from pytest_brt.project.layout import is_support_code
from pytest_brt.project.terms import split_identifier
from pytest_brt.types import Issue, Place

#: A name, a number, a short string.
_TOKEN = re.compile(r"""[^\W\d]\w*|\d[\w.]*|'[^'\n]*'|"[^"\n]*\"""")
_DOCSTRING = re.compile(r'""".*?"""', re.DOTALL)
#: What it is worth beside the tokens that the name of the file fits the words of the test.
_NAME_FITS = 3.0


@lru_cache(maxsize=1)
def _read_hosts(index: Index) -> Mapping[str, frozenset[str]]:
    """Return the tokens of each test file, by its path."""
    hosts = [path for path in sorted(index.layout.files) if index.collected.has_file(path)]
    return {
        path: frozenset(_TOKEN.findall(index.source(path)))
        for path in hosts
        if not is_support_code(path)
    }


def host_of(source: str, index: Index, fails_in: str = "") -> str:
    """Return the test file that a test is added to, or "".

    As LIBRO has it, the file that shares most tokens takes the test (paper 001, requirement 20). A
    token counts by how few files have it, so that the file whose tests call the same function comes
    before a larger one, and so does one whose name is in the test's words, or in that of the file
    `fails_in`, in which its exception is raised. What its docstring says is in any file's words.
    """
    code, hosts = _DOCSTRING.sub("", source), _read_hosts(index)
    tokens = frozenset(_TOKEN.findall(code))
    words = {*split_identifier(f"{code} {fails_in}")}
    shared = {path: own & tokens for path, own in hosts.items() if own & tokens}
    having = Counter(token for own in shared.values() for token in own)

    def score(path: str) -> float:
        name = {*split_identifier(PurePosixPath(path).stem)} - {"test", "tests"}
        fits = _NAME_FITS if name and name <= words else 0.0
        return fits + sum(math.log(1 + len(hosts) / having[token]) for token in shared[path])

    return min(shared, key=lambda path: (-score(path), path), default="")


def choose_host(source: str, root: Path, cache: Path | None, fails_in: str = "") -> str:
    """Return the test file of the project at `root` that a test is added to, as `host_of` does."""
    with open_index(root, cache) as index:
        return host_of(source, index, fails_in)


def nearest_test_file(issue: Issue, index: Index, suspects: Sequence[Place]) -> str:
    """Return the test file that a test of `issue` would be added to, by the names in it, or "".

    Its prose is asked where its code names nothing that a test has.
    """
    texts, path = list(texts_of(issue)), suspects[0].path if suspects else ""
    code = "\n".join(text for source, text in texts if source.value >= Source.CODE.value)
    prose = "\n".join(text for _, text in texts)
    return host_of(code, index, path) or host_of(prose, index, path)
