"""The files of a project: which are its product, its tests or neither, and what they are called."""

from __future__ import annotations

import hashlib
import os
import re
from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path, PurePosixPath

from pytest_brt.bounded import is_file, is_folder

#: Folders of tests; "testing" only at the root, for in a package it is what users' tests call.
_TESTS = frozenset({"test", "tests", "unittests", "unit_tests"})
_TEST_NAME = re.compile(r"(?:test_.*|tests?|.*_tests?|conftest)\.py")
#: Folders at the root whose files serve the project, and are not what it is about.
_SUPPORT = frozenset(
    {
        "doc", "docs", "example", "examples", "bench", "benchmarks", "asv_bench", "script",
        "scripts", "tool", "tools", "utils", "ci", "release",
    }
)  # fmt: skip
#: Modules at the root that are none of the product.
_SCRIPTS = frozenset(
    {"setup", "setupegg", "conftest", "noxfile", "fabfile", "tasks", "conf", "manage"}
)
#: Folders that are no part of a project, wherever they are.
EXCLUDED = frozenset(
    {
        ".git", ".hg", ".svn", ".bzr", ".tox", ".nox", ".mypy_cache", ".pytest_cache",
        ".ruff_cache", ".hypothesis", ".import_linter_cache", ".pytype", ".pyre",
        "node_modules", ".idea", ".vscode",
    }
)  # fmt: skip
#: Folders that hold no sources of it: at its root, and anywhere.
_IGNORED = re.compile(
    r"(?:venv|env|build|dist)/|(?:.*/)?(?:\.[^/]*|[^/]*\.egg-info|__pypackages__"
    r"|(?:site|dist)-packages)/"
)


def is_test_path(path: str) -> bool:
    """Return whether `path` belongs to the project's tests rather than to its product.

    >>> is_test_path("pkg/tests/util.py"), is_test_path("pkg/testing.py")
    (True, False)
    >>> is_test_path("test_a.py"), is_test_path("pkg/contest.py")
    (True, False)
    """
    *folders, name = path.split("/")
    is_below = folders[:1] == ["testing"] or not _TESTS.isdisjoint(folders)
    return is_below or bool(_TEST_NAME.fullmatch(name))


def is_support_code(path: str) -> bool:
    """Return whether `path` lies in a folder that is not what the project is about.

    >>> is_support_code("docs/conf.py"), is_support_code("pkg/tools/a.py")
    (True, False)
    """
    return path.partition("/")[0] in _SUPPORT


def is_product(path: str) -> bool:
    """Return whether `path` belongs to what the project offers."""
    return not is_test_path(path) and not is_support_code(path)


def escapes_root(root: Path, path: str) -> bool:
    """Return whether a file of a project is one of another place, through a link.

    A link in a project is no reason to show, or to send to a model, what is not the project's.
    """
    return not (root / path).resolve().is_relative_to(root.resolve())


def is_environment(folder: Path) -> bool:
    """Return whether a folder is a virtual environment (venv, virtualenv, conda)."""
    return is_file(folder / "pyvenv.cfg") or is_folder(folder / "conda-meta")


def files_of(root: Path) -> Iterator[str]:
    """Yield the files of a tree that a copy has, relative to it, but no compiled ones.

    Links to folders are not followed. What is no file, such as a pipe, is no part of it.
    """
    for folder, names, files in os.walk(root):
        here = Path(folder)
        kept = {name for name in names if not is_environment(here / name)}
        names[:] = sorted(kept - EXCLUDED - {"__pycache__"})
        for path in (here / name for name in sorted(files)):
            if is_file(path):
                yield path.relative_to(root).as_posix()


def hash_of(root: Path, *, without: Collection[Path] = ()) -> str:
    """Return the SHA-256 of the files below `root`, as hex digits: names, mode bit and bytes.

    The files `without` are left out, and what a copy of the tree does without. Links to folders
    are not followed. Files that cannot be read are all alike; what is no file, such as a pipe, is
    no part of a project.
    """
    digest = hashlib.sha256()
    for name in files_of(root):
        path = root / name
        if path not in without:
            content = b""
            with suppress(OSError):
                content = hashlib.sha256(path.read_bytes()).digest()
            state = repr((name, os.access(path, os.X_OK), content))
            digest.update(state.encode("utf-8", "surrogateescape"))
    return digest.hexdigest()


def scan_tree(root: Path) -> dict[str, str]:
    """Return every Python file below `root` that may be source, by its relative POSIX path.

    Each is told with its size and time of change, which say whether it changed. Links that lead
    out, and build results, are left out.
    """
    found: dict[str, str] = {}
    for path in files_of(root):
        place = root / path
        is_source = path.endswith(".py") and not _IGNORED.match(path)
        if is_source and not (place.is_symlink() and escapes_root(root, path)):
            status = place.stat()
            found[path] = f"{status.st_size} {status.st_mtime_ns}"
    return found


def module_names(path: str, source_roots: Iterable[str]) -> tuple[str, ...]:
    """Return the names under which a file can be imported.

    >>> module_names("src/pkg/core.py", ("src", "."))
    ('pkg.core', 'src.pkg.core')
    """
    above = [root for root in source_roots if root == "." or path.startswith(f"{root}/")]
    names = [
        _module(path.removeprefix(f"{root}/")) for root in above if path.endswith(".py")
    ]
    return tuple(name for name in names if all(map(str.isidentifier, name.split("."))))


def _module(path: str) -> str:
    """Return the dotted name of a file, as seen from the folder that it is imported from."""
    return path.removesuffix(".py").removesuffix("__init__").rstrip("/").replace("/", ".")


@dataclass(frozen=True, kw_only=True)
class Layout:
    """The Python files of a project, and the folders they are imported from.

    A source root is a folder that has to be on ``sys.path``: the one above a top-level
    package, or one that the project's configuration names.
    """

    files: frozenset[str]
    #: Source roots, the most likely first; "" is the root of the project.
    roots: tuple[str, ...]

    def root_of(self, path: str) -> str:
        """Return the folder above the topmost package that `path` lies in."""
        folder = path.rpartition("/")[0]
        while folder and f"{folder}/__init__.py" in self.files:
            folder = folder.rpartition("/")[0]
        # A namespace package has no __init__.py: a declared root above it still wins.
        for root in self.roots:
            if (
                root
                and f"{folder}/".startswith(f"{root}/")
                and not is_test_path(f"{folder}/x.py")
            ):
                return root
        return folder

    def inner(self, path: str) -> str:
        """Return the path below the folder that `path` is imported from."""
        return path.removeprefix(f"{self.root_of(path)}/")

    def module_of(self, path: str) -> str:
        """Return the dotted name under which `path` is imported.

        >>> files = frozenset({"src/pkg/__init__.py", "src/pkg/a.py"})
        >>> Layout(files=files, roots=("src",)).module_of("src/pkg/a.py")
        'pkg.a'
        """
        return _module(self.inner(path))

    @cached_property
    def _modules(self) -> Mapping[str, str]:
        """The file of each module; of several the one in the likeliest source root."""
        places = {root: place for place, root in enumerate(self.roots)}
        order = sorted(
            self.files,
            key=lambda path: (places.get(self.root_of(path), len(places)), path),
            reverse=True,
        )
        return {self.module_of(path): path for path in order}

    def path_of(self, module: str) -> str | None:
        """Return the file of `module`, or None when no file of the project is it."""
        return self._modules.get(module)

    def packages(self) -> tuple[str, ...]:
        """Return the names of the product's own top-level packages and modules, largest first."""
        sizes = Counter[str]()
        for path in filter(is_product, self.files):
            top = self.module_of(path).partition(".")[0]
            is_module = self.root_of(path) in self.roots[:1] and top not in _SCRIPTS
            sizes[top] += bool(top) and (is_module or "/" in self.inner(path))
        return tuple(sorted(+sizes, key=lambda name: (-sizes[name], name)))

    def find_path(self, path: str) -> str | None:
        """Return the project's file that a path from elsewhere names, else None.

        A reporter's ``/home/me/lib/python3.9/site-packages/pkg/core/a.py`` and the project's
        ``src/pkg/core/a.py`` are the same file: one ends with the whole of what the other is
        imported as.
        """
        bare = "/".join(part for part in path.split("/") if part.strip(".…~"))
        if bare in self.files:
            return bare
        meant = [
            one for one in self.files if _ends(one, bare) or _ends(bare, self.inner(one))
        ]
        if "/" not in bare and len(meant) > 1:
            return None
        # The nearest in length shares most with it.
        return min(meant, key=lambda file: abs(len(file) - len(bare)), default=None)


def _ends(path: str, end: str) -> bool:
    return f"/{path}".endswith(f"/{end}")


def find_layout(files: Collection[str], declared: Sequence[str] = ()) -> Layout:
    """Return the layout of a project of these `files` (relative POSIX paths of ``.py`` files).

    The source roots that its configuration has `declared` come first.
    """
    known = frozenset(files)
    usual = [root for root in ("src", "lib") if f"{root}/__init__.py" not in known]
    usual = [root for root in usual if any(path.startswith(f"{root}/") for path in known)]
    inits = [path for path in sorted(known) if path.endswith("/__init__.py")]
    bare = Layout(files=known, roots=())
    counts = Counter(bare.root_of(path) for path in inits if not is_test_path(path))
    # Folders below a usual root without __init__.py are namespace packages, not roots.
    spaces = tuple(f"{top}/" for top in usual)
    found = [root for root, _ in counts.most_common() if not root.startswith(spaces)]
    named = ["/".join(PurePosixPath(root).parts) for root in declared]  # `.`, `./src`
    return Layout(files=known, roots=tuple(dict.fromkeys([*named, *found, *usual, ""])))
