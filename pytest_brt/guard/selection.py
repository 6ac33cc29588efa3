"""Which existing tests may notice a patch, the likeliest first: by names and by place."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from itertools import chain, takewhile
from pathlib import PurePosixPath

from pytest_brt.guard.changed_names import Touched
from pytest_brt.guard.suite import ExistingTest, Suite

#: For the test file that is called after the changed file (test_core.py of core.py).
_TWIN = 3.0
#: For each folder in which test file and changed file lie together, beyond the first.
_NEAR = 0.7
#: What a word of the candidate tests counts, compared with a name that is changed.
_HINT = 0.4
#: With fewer tests than this that mention what is changed, others are looked for.
FEW = 30
#: Tests considered at most; so many are more than any budget allows.
MOST = 500


def near_tests(
    suite: Suite, touched: Touched, hints: Iterable[str] = ()
) -> tuple[ExistingTest, ...]:
    """Return the tests of `suite`, at most `MOST`, those likeliest to notice a patch first.

    In order: the examples in the docstrings of what is `touched`, the tests that mention it or lie
    beside it, other examples of its modules, and all others, file by file, those first whose files
    import the changed module, or the most of its package.

    `hints` are names that the candidate tests use: tests that use them too are preferred. A name
    that few test files know says more than one that all know. Where few tests mention what is
    changed (it is an inner part), those follow that use what the candidates use. Order is decided
    by content alone, so that patches which change the same definitions get the same tests.
    """
    names = {name: suite.rarity(name) for name in touched.names}
    extra = {name: suite.rarity(name) * _HINT for name in set(hints) - set(names)}
    files = touched.files
    place = {
        path: max((_closeness(path, file) for file in files), default=0.0) for path in suite.files
    }
    imports = {
        path: max((import_nearness(path, text, file) for file in files), default=0.0)
        for path, text in suite.files.items()
    }
    order = sorted(suite.files, key=lambda path: (-imports[path], -place[path], path))

    def nearness(test: ExistingTest) -> float:
        spoken, beside = _sum(names, test.words), place[test.path]
        return beside + spoken + _sum(extra, test.words) if spoken or beside >= _TWIN else 0.0

    paths = [path for path in order if place[path] >= _TWIN or _sum(names, suite.words[path])]
    own, beside = _examples(touched)
    near = [*own, *_best(suite, paths, nearness), *beside]
    if len(near) < FEW:
        telling = {
            word: weight
            for word, weight in extra.items()
            if 0 < suite.having(word) <= max(1, len(suite.files) // 3)
        }
        paths = [path for path in order if telling.keys() & suite.words[path]]
        near += _best(suite, paths, lambda test: _sum(telling, test.words))
    chosen: dict[str, ExistingTest] = {}
    # A file is read when it is its turn.
    for test in chain(near, (test for path in order for test in suite.tests(path))):
        chosen.setdefault(test.name, test)
        if len(chosen) == MOST:
            break
    return tuple(chosen.values())


def _best(
    suite: Suite, paths: Sequence[str], score: Callable[[ExistingTest], float]
) -> list[ExistingTest]:
    """Return the tests of some files that have a score, the best first."""
    tests = [test for path in paths for test in suite.tests(path)]
    scores = {test.name: score(test) for test in tests}
    found = [test for test in tests if scores[test.name]]
    return sorted(found, key=lambda test: -scores[test.name])[:MOST]


def _examples(touched: Touched) -> tuple[list[ExistingTest], list[ExistingTest]]:
    """Return the examples of what is changed, or of what it lies in, and those beside it."""
    changed: set[tuple[str, str]] = set()
    for path, _, name in (place.partition("::") for place in touched.places):
        parts = name.split(".")
        changed.update((path, ".".join(parts[:end])) for end in range(1, len(parts) + 1))
    own: list[ExistingTest] = []
    beside: list[ExistingTest] = []
    for test in touched.examples:
        is_own = any(path == test.path and test.node.endswith(f".{name}") for path, name in changed)
        (own if is_own else beside).append(test)
    return own, beside


def _closeness(test: str, changed: str) -> float:
    """Return how near a test file lies to a changed file, by their names and folders.

    >>> _closeness("pkg/tests/test_core.py", "pkg/core.py") > _closeness("tests/test_a.py", "b.py")
    True
    """
    test_path, changed_path = PurePosixPath(test), PurePosixPath(changed)
    stem = test_path.stem.removeprefix("test_").removesuffix("_test")
    own = changed_path.stem if changed_path.stem != "__init__" else changed_path.parent.name
    twin = stem.strip("_") == own.strip("_")
    shared = set(test_path.parent.parts) & set(changed_path.parent.parts)
    return _TWIN * twin + _NEAR * max(0, len(shared) - 1)


def _sum(weights: dict[str, float], words: frozenset[str]) -> float:
    return sum(weight for word, weight in weights.items() if word in words)


_IMPORT = re.compile(
    r"^[ \t]*(?:from[ \t]+(?P<source>[.\w]+)[ \t]+import[ \t]+(?P<names>\([^)]*\)|[^\n#]*)"
    r"|import[ \t]+(?P<modules>[\w., \t]+))",
    re.MULTILINE,
)
_NAME = re.compile(r"[\w.]+")


def import_nearness(path: str, text: str, changed: str) -> float:
    """Return which part of the way to the module `changed` the imports of a test file go.

    1 when it imports the module itself, less when it only imports a package around it, 0 when
    nothing of the same package is imported. Where packages begin need not be known.

    >>> import_nearness("t/test_a.py", "from pkg.core import walk", "src/pkg/core.py")
    1.0
    >>> import_nearness("t/test_a.py", "import pkg", "src/pkg/core.py")
    0.5
    >>> import_nearness("pkg/tests/test_a.py", "from .. import core", "pkg/core.py")
    1.0
    """
    module = PurePosixPath(changed).with_suffix("").parts
    module = module[:-1] if module[-1:] == ("__init__",) else module
    return max((_shared(parts, module) for parts in _imported(path, text)), default=0.0)


def _shared(parts: tuple[str, ...], module: tuple[str, ...]) -> float:
    """Return the largest share of `module`, from some folder of it on, that `parts` name."""
    best = 0.0
    for start in range(len(module)):
        pairs = zip(parts, module[start:], strict=False)
        alike = sum(1 for _ in takewhile(lambda pair: pair[0] == pair[1], pairs))
        best = max(best, alike / (len(module) - start))
    return best


def _imported(path: str, text: str) -> Iterator[tuple[str, ...]]:
    """Yield what is imported, as parts of dotted names; relative ones from the project's root."""
    for match in _IMPORT.finditer(text):
        if match["modules"]:
            for item in match["modules"].split(","):
                name = _NAME.match(item.strip())
                if name:
                    yield tuple(name[0].split("."))
            continue
        inner = match["source"].lstrip(".")
        level = len(match["source"]) - len(inner)
        folder = PurePosixPath(path).parent.parts
        above = folder[: max(0, len(folder) - level + 1)] if level else ()
        source = (*above, *filter(None, inner.split(".")))
        for name in _NAME.findall(match["names"]):
            yield (*source, name)
