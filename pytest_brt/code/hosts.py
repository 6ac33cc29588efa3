"""Which existing test file a new test belongs into: the one that shares most tokens with it.

This is LIBRO's score as its code has it (paper 001, requirement 20): the share of the test's
distinct tokens that the file has too, ties by path. It leaves out classes that are parametrised as
a whole, abstract or ignored; a file is Python's nearest to such a class.
"""

from __future__ import annotations

import re
from collections.abc import Mapping

#: All tests of a module skipped, whatever the machine, or given values by a mark.
_OTHERWISE_RUN = re.compile(
    r"^pytestmark\s*=\s*\[?\s*pytest\.mark\.(?:skip|parametrize)\b"
    r"|^pytest\.skip\(.*allow_module_level=True",
    re.MULTILINE,
)
_TOKEN = re.compile(r"""[^\W\d]\w*|\d[\w.]*|'[^'\n]*'|"[^"\n]*\"""")


def rank_hosts(source: str, files: Mapping[str, frozenset[str]]) -> tuple[str, ...]:
    """Return which of `files`, told by their tokens, a test could be added to, best first."""
    tokens = code_tokens(source)
    shared = {path: len(tokens & theirs) for path, theirs in files.items()}
    return tuple(sorted(filter(shared.get, shared), key=lambda path: (-shared[path], path)))


def takes_tests(text: str) -> bool:
    """Say whether the tests of a file with this text are run as they are written."""
    return not _OTHERWISE_RUN.search(text)


def code_tokens(source: str) -> frozenset[str]:
    """Return the distinct names, numbers and short strings of `source`.

    >>> sorted(code_tokens("f(x1, 'a b') + 2.5"))
    ["'a b'", '2.5', 'f', 'x1']
    """
    return frozenset(_TOKEN.findall(source))
