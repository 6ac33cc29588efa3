"""The Python files of a project's folder, and how their paths relate to its modules and tests."""

from __future__ import annotations

import os
import re
from collections import Counter
from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass
from fnmatch import fnmatchcase
from pathlib import Path, PurePosixPath

_IGNORED = frozenset(
    {"__pycache__", "__pypackages__", "node_modules", "site-packages", "dist-packages"}
)
#: Ignored only at the root of the project: further down they may be packages.
_IGNORED_AT_TOP = frozenset({"venv", "env", "build", "dist"})

_VENDORED = frozenset({"_vendor", "_vendored", "vendor", "vendored", "third_party", "extern"})
_TEST_FOLDERS = frozenset({"test", "tests", "unittests", "unit_tests"})
_TEST_NAME = re.compile(r"(?:test_.*|tests?|.*_tests?|conftest)\.py")


def is_ignored_folder(name: str, *, top: bool = False) -> bool:
    """Return whether a folder called `name` is skipped: caches, environments, build results.

    `top` says that it lies directly in the project's root.
    """
    return (
        name in _IGNORED
        or (top and name in _IGNORED_AT_TOP)
        or name.startswith(".")
        or name.endswith(".egg-info")
    )


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
class Collected:
    """Which files, classes and functions hold tests: a project's pytest settings may say.

    Where they do not, these are pytest's own, and ``tests.py`` as Django and unittest have it.
    See `python_files` and so on in https://docs.pytest.org/en/stable/reference/reference.html.
    """

    #: Patterns of names, or of paths where they have a slash.
    files: tuple[str, ...] = ("test_*.py", "*_test.py", "tests.py", "test.py")
    #: Prefixes or patterns, as of `functions`. Classes of unittest count whatever they are called.
    classes: tuple[str, ...] = ("Test",)
    functions: tuple[str, ...] = ("test",)

    def has_file(self, path: str) -> bool:
        """Return whether pytest would look for tests in `path`, relative to the project.

        >>> Collected().has_file("tests/test_a.py"), Collected().has_file("tests/conftest.py")
        (True, False)
        >>> Collected(files=("checks/*.py",)).has_file("pkg/checks/a.py")
        True
        """
        name = path.rpartition("/")[2]
        return path.endswith(".py") and any(
            fnmatchcase(*((f"/{path}", f"*/{pattern}") if "/" in pattern else (name, pattern)))
            for pattern in self.files
        )

    def has_class(self, name: str) -> bool:
        """Return whether a class called `name` holds tests though it is not one of unittest."""
        return _begins(name, self.classes)

    def has_function(self, name: str) -> bool:
        """Return whether a function called `name` is a test."""
        return _begins(name, self.functions)

    def has_node(self, node: str) -> bool:
        """Return whether a node below a file, as in "TestX::test_y[1]", is one of these tests.

        A class of another name can only be one of unittest, whose tests are called ``test…``.

        >>> kinds = Collected(functions=("check_",))
        >>> kinds.has_node("check_a[1]"), kinds.has_node("test_a"), kinds.has_node("Case::test_a")
        (True, False, True)
        """
        *classes, name = node.partition("[")[0].split("::")
        if classes and not all(map(self.has_class, classes)):
            return name.startswith("test")
        return self.has_function(name)


#: What is collected where a project's settings say nothing.
USUAL = Collected()


def _begins(name: str, patterns: Iterable[str]) -> bool:
    return any(name.startswith(pattern) or fnmatchcase(name, pattern) for pattern in patterns)


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


class TreePaths:
    """Finds the file of the project that a path from elsewhere names.

    A reporter's ``/home/me/lib/python3.9/site-packages/pkg/core/a.py`` and the project's
    ``src/pkg/core/a.py`` are the same file: one ends with the whole of what the other is
    imported as.
    """

    def __init__(self, layout: Layout) -> None:
        self._layout = layout
        self._by_name: dict[str, list[str]] = {}
        for path in sorted(layout.files):
            self._by_name.setdefault(path.rsplit("/", 1)[-1], []).append(path)

    def find(self, path: str) -> str | None:
        """Return the project's file that `path` is, by the longest common ending, else None."""
        parts, installed = _below_library(_clean(path))
        alike = self._by_name.get(parts[-1], ()) if parts else ()
        common = {one: self._common(parts, one, exact=installed) for one in alike}
        best = max(common, key=lambda one: (common[one], -len(one)), default="")
        return best if common.get(best) else None

    def _common(self, parts: tuple[str, ...], candidate: str, *, exact: bool) -> int:
        """Return how many last components agree, 0 when too few to be the same file."""
        whole = tuple(candidate.split("/"))
        root = self._layout.root_of(candidate)
        inner = whole[root.count("/") + 1 :] if root else whole
        count = 0
        while count < min(len(parts), len(whole)) and parts[-1 - count] == whole[-1 - count]:
            count += 1
        if exact:
            return count if count == len(parts) >= len(inner) else 0
        if count >= len(inner) and (len(inner) > 1 or len(parts) == 1 or count == len(whole)):
            return count
        if count == len(parts) and (count > 1 or len(self._by_name[parts[-1]]) == 1):
            return count
        same_package = inner[0] in parts[:-count] if count > 1 else False
        return count if same_package else 0


def _clean(path: str) -> tuple[str, ...]:
    parts = path.replace("\\", "/").split("/")
    return tuple(part for part in parts if part not in ("", ".", "..", "...", "…", "~"))


def _below_library(parts: tuple[str, ...]) -> tuple[tuple[str, ...], bool]:
    """Return what lies below a library folder, and whether there was one.

    The standard library's own folder gives nothing: its files are never the project's.
    """
    for at in range(len(parts) - 1, -1, -1):
        if parts[at] in ("site-packages", "dist-packages"):
            inner = parts[at + 1 :]
            if inner and inner[0].endswith(".egg"):
                inner = inner[1:]
            return inner, True
    for at in range(len(parts) - 1):
        if parts[at] in ("lib", "lib64", "Lib") and re.fullmatch(r"python\d[\d.]*", parts[at + 1]):
            return (), True
    return parts, False


#: The report in the folder of a run that was kept.
RECORDED_REPORT = "brt-report.json"

#: Files by which a folder is known that is no part of the project: an environment, and what
#: a run of ours keeps (`--brt-record`).
SIGNS = frozenset({"pyvenv.cfg", RECORDED_REPORT, "replies.jsonl"})


#: By what a changed file is noticed without reading it: its size, and its time in nanoseconds.
FileStamp = tuple[int, int]


def leads_out(root: Path, path: str) -> bool:
    """Return whether a file of a project is one of another place, through a link.

    A link in a project is no reason to show, or to send to a model, what is not the project's.
    """
    return not (root / path).resolve().is_relative_to(root.resolve())


def scan_tree(root: Path) -> dict[str, FileStamp]:
    """Return every Python file below `root` that may be source, by its relative POSIX path.

    Links to folders are not followed, nor are those that lead out; environments, records of
    our runs, caches and build results are left out.
    """
    found: dict[str, FileStamp] = {}
    todo = [""]
    while todo:
        prefix = todo.pop()
        folder = os.path.join(root, prefix)  # noqa: PTH118 (thousands of them: speed)
        try:
            entries = list(os.scandir(folder))
        except OSError:
            continue  # unreadable folders hold nothing for us
        names = {entry.name for entry in entries}
        if prefix and not SIGNS.isdisjoint(names):
            continue
        for entry in entries:
            if entry.name.endswith(".py"):
                stamp = _stamp(entry)
                outside = entry.is_symlink() and leads_out(root, prefix + entry.name)
                if stamp and not outside:
                    found[prefix + entry.name] = stamp
            elif entry.is_dir(follow_symlinks=False) and not is_ignored_folder(
                entry.name, top=not prefix
            ):
                todo.append(f"{prefix}{entry.name}/")
    return found


def _stamp(entry: os.DirEntry[str]) -> FileStamp | None:
    try:
        if not entry.is_file():
            return None
        status = entry.stat()
    except OSError:
        return None  # a dangling link
    return status.st_size, status.st_mtime_ns
