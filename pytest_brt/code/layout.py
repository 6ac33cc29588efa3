"""The Python files of a project's folder, and how their paths relate to its modules and tests."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Collection, Sequence
from dataclasses import dataclass
from pathlib import PurePosixPath

from pytest_brt.code.collected import USUAL, Collected

_VENDORED = frozenset({"_vendor", "_vendored", "vendor", "vendored", "third_party", "extern"})
_TEST_FOLDERS = frozenset({"test", "tests", "unittests", "unit_tests"})
_TEST_NAME = re.compile(r"(?:test_.*|tests?|.*_tests?|conftest)\.py")


def is_vendored(path: str) -> bool:
    """Return whether `path` lies in a folder for copies of other projects.

    >>> is_vendored("pkg/_vendor/other/core.py"), is_vendored("pkg/vendors.py")
    (True, False)
    """
    return not _VENDORED.isdisjoint(path.split("/")[:-1])


def is_test_path(path: str) -> bool:
    """Return whether `path` belongs to the project's tests rather than to its product.

    >>> is_test_path("pkg/tests/util.py"), is_test_path("pkg/testing.py")
    (True, False)
    >>> is_test_path("test_a.py"), is_test_path("pkg/contest.py")
    (True, False)
    """
    *folders, name = path.split("/")
    # Within a package "testing" is what the package offers to the tests of others.
    return (
        any(folder in _TEST_FOLDERS for folder in folders)
        or folders[:1] == ["testing"]
        or bool(_TEST_NAME.fullmatch(name))
    )


def is_beside(path: str) -> bool:
    """Return whether `path` lies in a folder that is not what the project is about.

    >>> is_beside("docs/conf.py"), is_beside("pkg/tools/a.py")
    (True, False)
    """
    return path.partition("/")[0] in _BESIDE


def is_product(path: str) -> bool:
    """Return whether `path` belongs to what the project offers: no test, and nothing beside it."""
    return not is_test_path(path) and not is_beside(path)


@dataclass(frozen=True, slots=True, kw_only=True)
class Layout:
    """The Python files of a project, and the folders they are imported from.

    A source root is a folder that has to be on ``sys.path``: the one above a top-level
    package, or one that the project's configuration names.
    """

    files: frozenset[str]
    #: Source roots, the most likely first; "" is the root of the project.
    roots: tuple[str, ...]
    #: What the project takes for tests.
    collected: Collected = USUAL

    def root_of(self, path: str) -> str:
        """Return the folder above the topmost package that `path` lies in."""
        folder = str(PurePosixPath(path).parent)
        folder = "" if folder == "." else folder
        while folder and f"{folder}/__init__.py" in self.files:
            folder = folder.rpartition("/")[0]
        # A namespace package has no __init__.py: a declared root above it still wins.
        for root in self.roots:
            if root and folder.startswith(f"{root}/") and not is_test_path(f"{folder}/x.py"):
                return root
        return folder

    def module_of(self, path: str) -> str:
        """Return the dotted name under which `path` is imported.

        >>> files = frozenset({"src/pkg/__init__.py", "src/pkg/a.py"})
        >>> Layout(files=files, roots=("src",)).module_of("src/pkg/a.py")
        'pkg.a'
        """
        root = self.root_of(path)
        inner = path[len(root) + 1 :] if root else path
        parts = inner.removesuffix(".py").split("/")
        if parts[-1] == "__init__":
            parts.pop()
        return ".".join(parts)

    def path_of(self, module: str) -> str | None:
        """Return the file of `module`, or None when no file of the project is it.

        Of several one that is imported as `module` itself, and not by a shorter name.
        """
        inner = module.replace(".", "/")
        found = [
            path
            for root in self.roots
            for end in ("/__init__.py", ".py")
            if (path := f"{root}/{inner}{end}".lstrip("/")) in self.files
        ]
        named = (path for path in found if self.module_of(path) == module)
        return next(named, found[0] if found else None)

    def is_folder(self, module: str) -> bool:
        """Return whether `module` is a folder of Python files, with ``__init__.py`` or without."""
        inner = module.replace(".", "/") + "/"
        prefixes = tuple(f"{root}/{inner}" if root else inner for root in self.roots)
        return any(file.startswith(prefixes) for file in self.files)

    def packages(self) -> tuple[str, ...]:
        """Return the names of the product's own top-level packages and modules, largest first."""
        sizes = Counter[str]()
        for path in self.files:
            top, _, rest = self.module_of(path).partition(".")
            is_package = bool(rest) or path.endswith("/__init__.py")
            root = self.root_of(path)
            lone_module = not is_package and root in self.roots[:1] and top not in _SCRIPTS
            if top and is_product(path) and (is_package or lone_module):
                sizes[top] += 1
        return tuple(sorted(sizes, key=lambda name: (-sizes[name], name)))


#: Folders at the root whose packages are not what the project is about.
_BESIDE = frozenset(
    {"doc", "docs", "example", "examples", "bench", "benchmarks", "asv_bench"}
    | {"script", "scripts", "tool", "tools", "utils", "ci", "release"}
)
_SCRIPTS = frozenset(
    {"setup", "setupegg", "conftest", "noxfile", "fabfile", "tasks", "conf", "manage"}
)


def find_layout(
    files: Collection[str], declared: Sequence[str] = (), collected: Collected = USUAL
) -> Layout:
    """Return the layout of a project of these `files` (relative POSIX paths of ``.py`` files).

    The source roots that its configuration has `declared` come first.
    """
    known = frozenset(files)
    bare = Layout(files=known, roots=())
    inits = (path for path in known if path.endswith("/__init__.py") and not is_test_path(path))
    counts = Counter(map(bare.root_of, inits))
    usual = [
        root
        for root in ("src", "lib")
        if f"{root}/__init__.py" not in known and any(p.startswith(f"{root}/") for p in known)
    ]
    found = sorted(counts, key=lambda root: (-counts[root], root.count("/"), root))
    # Folders below a usual root without __init__.py are namespace packages, not roots.
    found = [root for root in found if not any(root.startswith(f"{top}/") for top in usual)]
    roots = dict.fromkeys([*declared, *found, *usual, ""])
    return Layout(files=known, roots=tuple(roots), collected=collected)
