"""Which code of a project only helps tests: they run it, and the bug is not in it."""

from __future__ import annotations

from pytest_brt.code.index import Index
from pytest_brt.code.layout import is_product
from pytest_brt.code.words import split_identifier

#: Words of folders and files, below the topmost package, that hold such code.
_HELPING = frozenset({"test", "tests", "testing", "testutil", "testutils", "testlib", "unittest"})
#: What such code imports.
_FRAMEWORKS = frozenset({"pytest", "unittest", "nose"})


def is_machinery(path: str, index: Index) -> bool:
    """Say whether the file `path` helps tests alone.

    It does when it is called so, or imports a framework for tests, and nothing of the product
    imports it that does not help tests as well. What is merely imported by tests alone may well
    be what a project offers, and a project that is such a framework itself has none.
    """
    if not _looks_so(path, index):
        return False
    module = index.layout.module_of(path)
    return not any(
        other != path and is_product(other) and not _looks_so(other, index)
        for other in index.importers(module)
    )


def _looks_so(path: str, index: Index) -> bool:
    below = index.layout.module_of(path).split(".")[1:]
    if any(word in _HELPING for part in below for word in split_identifier(part)):
        return True
    foreign = _FRAMEWORKS - set(index.packages)
    return any(
        one.top and one.module.partition(".")[0] in foreign for one in index.imports_in(path)
    )
