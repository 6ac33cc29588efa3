"""What a patch changes, and which existing tests may notice it, by names and by place."""

from __future__ import annotations

import ast
import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import chain, takewhile
from pathlib import Path, PurePosixPath

from pytest_brt.code.layout import is_test_path
from pytest_brt.execute.touched import changed_lines
from pytest_brt.guard.suite import ExistingTest, Suite, read_doctests
from pytest_brt.patches import canonical_diff
from pytest_brt.syntax import first_line, parse_or_empty
from pytest_brt.types import FileChange

_Definition = ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef


@dataclass(frozen=True, slots=True, kw_only=True)
class Touched:
    """The part of a project that a patch changes."""

    #: "path::qualname" of each definition changed that was there before; "path::" for code
    #: outside of definitions, and for files that are not Python.
    places: tuple[str, ...]
    #: Lines added and removed.
    size: int
    #: Of each changed file that was there before: its path, and the lines of it that are changed
    #: or next to what is added, as the bits of a number.
    lines: tuple[tuple[str, int], ...] = ()
    #: Whether something outside of functions changes, which importing the module executes.
    outside: bool = False
    #: The examples in docstrings of the changed modules that are the same before and after.
    examples: tuple[ExistingTest, ...] = ()

    @property
    def files(self) -> tuple[str, ...]:
        """The files changed, each once."""
        return tuple(dict.fromkeys(place.partition("::")[0] for place in self.places))

    @property
    def names(self) -> frozenset[str]:
        """The names by which tests may speak of what is changed: no dunders, no `self`."""
        parts = (place.partition("::")[2].split(".") for place in self.places)
        return frozenset(
            name
            for names in parts
            for name in names
            if name and not (name.startswith("__") and name.endswith("__"))
        )


def touched_by(changes: Sequence[FileChange], root: Path) -> Touched:
    """Return the part of the tree at `root` that `changes` touch.

    Raises:
        PatchProblem: git cannot compare the files.
    """
    places: set[str] = set()
    before: list[tuple[str, int]] = []
    outside = False
    examples: list[ExistingTest] = []
    for change in changes:
        is_there = (root / change.path).is_file()
        text = (root / change.path).read_text("utf-8", "replace") if is_there else ""
        new = (change.content or b"").decode("utf-8", "replace")
        places |= {f"{change.path}::{name}" for name in _definitions(change.path, text, new)}
        if is_there:
            old = changed_lines(new, text)
            before.append((change.path, sum(1 << number for number in old)))
            outside = outside or not _in_functions(text, old)
            if change.path.endswith(".py") and not is_test_path(change.path):
                now = set(read_doctests(change.path, new, root))
                examples += [t for t in read_doctests(change.path, text, root) if t in now]
    return Touched(
        places=tuple(sorted(places)),
        size=_size(canonical_diff(changes, root)),
        lines=tuple(before),
        outside=outside,
        examples=tuple(examples),
    )


def _in_functions(text: str, lines: Iterable[int]) -> bool:
    """Say whether all of `lines` that are not blank lie in functions."""
    spans = _spans(parse_or_empty(text))
    functions = [node for _, node in spans if not isinstance(node, ast.ClassDef)]
    written = text.splitlines()
    return all(
        any(node.lineno < line <= (node.end_lineno or 0) for node in functions)
        for line in lines
        if written[line - 1].strip()
    )


def _definitions(path: str, before: str, after: str) -> Iterator[str]:
    """Yield the innermost definitions around changed lines that the file had before."""
    lines = changed_lines(before, after) if path.endswith(".py") else ()
    if not lines:
        yield ""
        return
    known = {name for name, _ in _spans(parse_or_empty(before))}
    spans = list(_spans(parse_or_empty(after)))
    for line in lines:
        around = [
            (node.lineno, name)
            for name, node in spans
            if first_line(node) <= line <= (node.end_lineno or 0) and name in known
        ]
        yield max(around)[1] if around else ""


def _spans(tree: ast.AST, prefix: str = "") -> Iterator[tuple[str, _Definition]]:
    for node in ast.iter_child_nodes(tree):
        if isinstance(node, _Definition):
            name = f"{prefix}{node.name}"
            yield name, node
            yield from _spans(node, f"{name}.")
        else:
            yield from _spans(node, prefix)


def _size(diff: str) -> int:
    return sum(
        line.startswith(("+", "-")) and not line.startswith(("+++ ", "--- "))
        for line in diff.splitlines()
    )


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
