"""Which file of the tree, or which name, a model means by one that is nearly right."""

from __future__ import annotations

import re
from collections.abc import Collection
from dataclasses import dataclass

from rapidfuzz.distance import Levenshtein

#: Names whose normalised distance is below this are taken for each other.
DISTANCE = 0.1
#: Shorter names are not looked for inside of others: they are everywhere.
_SHORTEST = 3


@dataclass(frozen=True, slots=True, kw_only=True)
class Meant:
    """What a name or a path can be taken for."""

    #: The one that is meant, or "".
    name: str = ""
    #: Those that it could be, when they are several.
    several: tuple[str, ...] = ()
    #: Files with a name like it, when there is none that it could be.
    near: tuple[str, ...] = ()

    def problem(self, asked: str) -> str:
        """Return what to tell who `asked` for it, as it is quoted, when no file is meant."""
        if self.several:
            return f"{asked} could be {' or '.join(self.several)}. Write the whole path."
        near = f" Files like it: {', '.join(self.near)}." if self.near else ""
        return f"There is no file {asked}.{near}"


def closest(given: str, names: Collection[str]) -> Meant:
    """Return which of `names` is meant by `given`.

    The same name, whatever its case and separators; else the only one that is part of it, or
    that it is part of; else the only one at a normalised Levenshtein distance below 0.1.

    >>> closest("search", ["cat", "code_search"])
    Meant(name='code_search', several=(), near=())
    >>> closest("grep", ["cat", "code_search"])
    Meant(name='', several=(), near=())
    """
    if given in names:
        return Meant(name=given)
    plain = _plain(given)
    for fits in (_same, _part, _near):
        found = tuple(name for name in names if fits(plain, _plain(name)))
        if len(found) == 1:
            return Meant(name=found[0])
        if found:
            return Meant(several=found)
    return Meant()


def _plain(name: str) -> str:
    return re.sub(r"[^a-z0-9]+", "_", name.lower()).strip("_")


def _same(given: str, name: str) -> bool:
    return given.replace("_", "") == name.replace("_", "")


def _part(given: str, name: str) -> bool:
    if min(len(given), len(name)) < _SHORTEST:
        return False
    return given in name or name in given


def _near(given: str, name: str) -> bool:
    return Levenshtein.normalized_distance(given, name) < DISTANCE


_LINES = re.compile(r"(:\d+(-\d+)?|::.*|#L\d+.*)$")
#: Paths that are named to the model when none fits.
_NEAR = 3


@dataclass(frozen=True, slots=True)
class Paths:
    """The files that a dialogue may speak of."""

    files: frozenset[str]

    def also(self, more: Collection[str]) -> Paths:
        """Return these and `more`."""
        return Paths(self.files | frozenset(more)) if more else self

    def find(self, text: str, *, near: bool = True) -> Meant:
        """Return the file that is meant by `text`.

        The path itself, without what stands around it; else the only one that ends with it,
        or that it ends with; else the module or package of that name; else the only one of the
        same file name; else the only one at a normalised Levenshtein distance below 0.1. Where a
        file may be made (`near` false), the last three are other files, and not taken for it.

        >>> Paths(frozenset({"pkg/core.py", "tests/test_core.py"})).find("/repo/pkg/core.py:12")
        Meant(name='pkg/core.py', several=(), near=())
        """
        given = clean(text)
        if not given:
            return Meant()
        if given in self.files:
            return Meant(name=given)
        ways = (self._tails, self._modules, self._named) if near else (self._tails,)
        for way in ways:
            found = way(given)
            if len(found) == 1:
                return Meant(name=found[0])
            if found:
                return Meant(several=tuple(found[:_NEAR]))
        if not near:
            return Meant()
        scored = sorted((Levenshtein.normalized_distance(given, path), path) for path in self.files)
        alike = [path for distance, path in scored if distance < DISTANCE]
        if len(alike) == 1:
            return Meant(name=alike[0])
        return Meant(several=tuple(alike), near=tuple(p for _, p in scored[:_NEAR]))

    def _tails(self, given: str) -> list[str]:
        shorter = [path for path in self.files if path.endswith(f"/{given}")]
        longer = [path for path in self.files if given.endswith(f"/{path}")]
        # Of those that it ends with, the longest says most.
        return sorted(shorter) or sorted(longer, key=len)[-1:]

    def _modules(self, given: str) -> list[str]:
        bare = given.removesuffix(".py")
        tail = bare if "/" in bare else bare.replace(".", "/")
        ends = (f"/{tail}.py", f"/{tail}/__init__.py")
        return sorted(path for path in self.files if f"/{path}".endswith(ends))

    def _named(self, given: str) -> list[str]:
        name = given.rpartition("/")[2]
        return sorted(path for path in self.files if path.rpartition("/")[2] == name)


def clean(text: str) -> str:
    r"""Return `text` as a path relative to the tree, without quotes, line numbers and nodes.

    >>> clean("'./tests\\test_a.py::test_x'")
    'tests/test_a.py'
    """
    path = text.strip().strip("'\"`[]()<>").strip()
    path = _LINES.sub("", path).replace("\\", "/")
    path = re.sub(r"/(\./)+", "/", re.sub(r"/{2,}", "/", path))
    while path.startswith(("./", "/")):
        path = path.removeprefix("./").removeprefix("/")
    return path


def is_inside(path: str) -> bool:
    """Say whether a path that is to be made stays in the tree."""
    return bool(path) and "\0" not in path and ".." not in path.split("/") and len(path) < 200
