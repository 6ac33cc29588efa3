"""The project's own test files, read as text: nothing is imported or run."""

from __future__ import annotations

import ast
import re
from collections.abc import Sequence
from pathlib import Path, PurePosixPath

from pytest_brt.execute.layout import files_of
from pytest_brt.guard.changes import Touched
from pytest_brt.project.pytest_config import USUAL, CollectionPatterns, read_config
from pytest_brt.pysource.parse import Function, decode, is_constant, parse

_DEFINED = re.compile(r"^[ \t]*(?:async[ \t]+)?def[ \t]+(\w+)", re.MULTILINE)
_WORD = re.compile(r"[A-Za-z_]\w*")
#: Bytes; a longer test file is generated data.
_LONGEST = 2_000_000
#: How much more the name of a test file says than a word in it.
_PLACE = 3


class TestFiles:
    """The test files of a project, by path, as its settings have them; environments left out."""

    #: pytest must not take this for a test class.
    __test__ = False

    def __init__(self, root: Path) -> None:
        """Read them."""
        ini = read_config(root)
        self.collected = ini.collected
        files = [root / path for path in ini.test_files(files_of(root))]
        self.texts = {
            file.relative_to(root).as_posix(): file.read_text("utf-8", "replace")
            for file in files
            if file.is_file() and file.stat().st_size <= _LONGEST
        }

    def count(self, path: str) -> int:
        """Return how many test functions a file seems to have; pytest may find more, or fewer."""
        return sum(map(self.collected.has_function, _DEFINED.findall(self.texts[path])))

    def nearest(self, pool: Sequence[Touched]) -> tuple[str, ...]:
        """Return the files, the likeliest to notice what patches change first.

        A file is near by the names of what is changed: in its path, and in its text.
        """
        # As in "from pkg.core import walk".
        paths = [PurePosixPath(path) for touched in pool for path in touched.files]
        names = {part for path in paths for part in path.with_suffix("").parts}
        names.update(*(touched.names for touched in pool))

        def nearness(path: str) -> int:
            place = re.sub(r"\W", "_", f"/{path}")
            words = names.intersection(_WORD.findall(self.texts[path]))
            return len(words) + _PLACE * sum(f"_{name}_" in place for name in names)

        return tuple(sorted(self.texts, key=lambda path: (-nearness(path), path)))


def altered_tests(
    before: bytes | None, after: bytes, collected: CollectionPatterns = USUAL
) -> dict[str, str]:
    """Return the tests of a file that are new in it or changed: the code of each by its node.

    `before` is None for a new file. Where what stands beside the tests is changed, a table, a
    fixture or a ``setUp``, all of them are.
    """
    old, old_rest = _parts(before or b"", collected)
    new, new_rest = _parts(after, collected)
    everything = before is not None and old_rest != new_rest
    return {node: code for node, code in new.items() if everything or old.get(node) != code}


class _TakeOut(ast.NodeTransformer):
    """Takes the test functions out of a tree, and keeps the code of each by its node."""

    def __init__(self, collected: CollectionPatterns) -> None:
        self.tests: dict[str, str] = {}
        self._collected = collected
        self._above: tuple[str, ...] = ()

    def visit_ClassDef(self, node: ast.ClassDef) -> ast.AST | None:
        bases = " ".join(map(ast.unparse, node.bases))
        if not ("Test" in bases or self._collected.has_class(node.name)):
            return node
        self._above += (node.name,)
        self.generic_visit(node)
        self._above = self._above[:-1]
        return None if all(map(is_constant, node.body)) else node

    def _take(self, node: Function) -> ast.AST | None:
        name = "::".join((*self._above, node.name))
        if not self._collected.has_node(name):
            return node
        self.tests[name] = ast.unparse(node)
        return None

    visit_FunctionDef = visit_AsyncFunctionDef = _take


def _parts(text: bytes, collected: CollectionPatterns) -> tuple[dict[str, str], str]:
    """Return the code of each test function by its node, decorators included, and all the rest."""
    taken = _TakeOut(collected)
    try:
        tree = parse(text)  # anew: it is changed
    except SyntaxError:
        return {}, decode(text)
    taken.visit(tree)
    imports = ast.Import | ast.ImportFrom  # they only serve the tests
    rest = [ast.unparse(node) for node in tree.body if not isinstance(node, imports)]
    return taken.tests, "\n".join(rest)
