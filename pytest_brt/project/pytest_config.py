"""What a project's pytest configuration says, as far as running its tests needs it."""

from __future__ import annotations

import os
import shlex
import tomllib
from collections import Counter
from collections.abc import Iterable, Mapping
from configparser import Error, RawConfigParser
from dataclasses import field
from fnmatch import fnmatchcase
from pathlib import Path, PurePosixPath

from pytest_brt.bounded import bounded_text
from pytest_brt.types.note import value

#: Options of `addopts` that say how tests are imported and what they need; all others
#: (selection, parallel runs, coverage, output) are left out of our runs.
_KEPT_OPTIONS = (
    "--import-mode",
    "--asyncio-mode",
    "--ds",
    "--dc",
    "--django-configuration",
)
#: What pytest takes for `norecursedirs` where nothing is said.
_NO_TESTS = (
    "*.egg", ".*", "_darcs", "build", "CVS", "dist", "node_modules", "venv", "{arch}",
)  # fmt: skip
#: Files by which a folder declares itself a project.
DECLARING = (
    "pyproject.toml", "setup.py", "setup.cfg", "tox.ini", "pytest.ini", "pytest.toml",
)  # fmt: skip
#: The files that may configure pytest, in its order, each with the table in which it does
#: (https://docs.pytest.org/en/stable/reference/customize.html).
_FILES = (
    ("pytest.toml", "pytest"),
    (".pytest.toml", "pytest"),
    ("pytest.ini", "pytest"),
    (".pytest.ini", "pytest"),
    ("pyproject.toml", "tool.pytest.ini_options"),
    ("pyproject.toml", "tool.pytest"),
    ("tox.ini", "pytest"),
    ("setup.cfg", "tool:pytest"),
)
#: Settings that are lists of words.
_LISTS = ("pythonpath", "testpaths", "norecursedirs", "addopts")
#: What reading a file of settings raises. `tomllib` raises a plain ValueError for a number of too
#: many digits, and a RecursionError for lists within lists.
_UNREADABLE = (OSError, Error, ValueError, RecursionError)


@value
class CollectionPatterns:
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

        >>> CollectionPatterns().has_file("tests/test_a.py")
        True
        >>> CollectionPatterns(files=("checks/*.py",)).has_file("pkg/checks/a.py")
        True
        """
        return path.endswith(".py") and any(map(PurePosixPath(path).match, self.files))

    def has_class(self, name: str) -> bool:
        """Return whether a class called `name` holds tests though it is not one of unittest."""
        return _matches(name, self.classes, "*")

    def has_function(self, name: str) -> bool:
        """Return whether a function called `name` is a test."""
        return _matches(name, self.functions, "*")

    def has_node(self, node: str) -> bool:
        """Return whether a node below a file, as in "TestX::test_y[1]", is one of these tests.

        A class of another name can only be one of unittest, whose tests are called ``test…``.

        >>> patterns = CollectionPatterns(functions=("check_",))
        >>> [patterns.has_node(node) for node in ("check_a[1]", "test_a", "Case::test_a")]
        [True, False, True]
        """
        *classes, name = node.partition("[")[0].split("::")
        if classes and not all(map(self.has_class, classes)):
            return name.startswith("test")
        return self.has_function(name)


#: What is collected where a project's settings say nothing.
USUAL = CollectionPatterns()


@value
class PytestConfig:
    """The settings of the file that pytest would choose; all empty when there is none."""

    #: Its name ("pyproject.toml"), or "".
    file: str = ""
    #: What it says of pytest, as it stands there.
    section: Mapping[str, object] = field(default_factory=dict)
    pythonpath: tuple[str, ...] = ()
    testpaths: tuple[str, ...] = ()
    #: Patterns of the names of folders in which no tests are looked for.
    norecursedirs: tuple[str, ...] = _NO_TESTS
    addopts: tuple[str, ...] = ()
    #: What becomes of warnings, a line each.
    filterwarnings: tuple[str, ...] = ()
    #: What it takes for tests.
    collected: CollectionPatterns = USUAL
    #: Whether the file cannot be read, so that our runs have to do without it.
    is_broken: bool = False

    def test_files(self, paths: Iterable[str]) -> tuple[str, ...]:
        """Return those of the project's files in which plain pytest looks for tests, sorted.

        >>> config = PytestConfig(testpaths=("tests",), addopts=("--ignore=tests/old",))
        >>> config.test_files(["tests/test_a.py", "pkg/test_b.py", "tests/old/test_c.py"])
        ('tests/test_a.py',)
        """
        ignored = _below(word[9:] for word in self.addopts if word.startswith("--ignore="))
        looked_at = [
            path
            for path in filter(self.collected.has_file, sorted(paths))
            if not _matches(f"/{path}/", ignored)
            and not any(_matches(part, self.norecursedirs) for part in path.split("/")[:-1])
        ]
        named = _below(self.testpaths)
        return tuple([one for one in looked_at if _matches(f"/{one}/", named)] or looked_at)

    def kept_options(self) -> tuple[str, ...]:
        """Return the options of `addopts` that our runs keep, and what lets pytest start at all.

        >>> PytestConfig(addopts=("-n", "4", "-p", "a", "--import-mode=importlib")).kept_options()
        ('-p', 'a', '--import-mode=importlib')
        >>> PytestConfig(section={"minversion": "8"}).kept_options()
        ('-o', 'minversion=')
        """
        kept = ["-c", os.devnull] if self.is_broken else []
        # What is written anew has the usual names, whatever the project calls its own.
        settings = {
            "required_plugins": "",
            "minversion": "",
            # Options and marks of plugins that are not loaded.
            "strict": "false",
            "strict_config": "false",
            "strict_markers": "false",
            "python_classes": shlex.join((*self.collected.classes, *USUAL.classes)),
            "python_functions": shlex.join((*self.collected.functions, *USUAL.functions)),
        }
        for key, text in settings.items():
            if key in self.section:
                kept += ["-o", f"{key}={text}"]
        words = iter(self.addopts)
        for word in words:
            if word.startswith("-p"):
                kept += ["-p", word[2:] or next(words, "")]
            elif word.partition("=")[0] in _KEPT_OPTIONS:
                kept.append(word if "=" in word else f"{word}={next(words, '')}")
        return tuple(kept)

    def django_variable(self, given: str = "") -> str:
        """Return the module of Django's settings, "" where nothing names one.

        Args:
            given: what the environment says. pytest-django takes ``--ds`` before it, and the
                key of the file after it
                (https://pytest-django.readthedocs.io/en/latest/configuring_django.html).

        >>> PytestConfig(addopts=("--ds", "a")).django_variable("b")
        'a'
        """
        options = [word[5:] for word in self.kept_options() if word.startswith("--ds=")]
        key = str(self.section.get("DJANGO_SETTINGS_MODULE") or "").strip()
        return [given or key, *options][-1]


def _matches(name: str, patterns: Iterable[str], end: str = "") -> bool:
    return any(fnmatchcase(name, f"{pattern}{end}") for pattern in patterns)


def _below(tops: Iterable[str]) -> list[str]:
    """Return patterns for what is one of `tops`, which are patterns, or below a folder of them."""
    return [os.path.normpath(f"/{top}").rstrip("/") + "/*" for top in tops]


def read_config(root: Path) -> PytestConfig:
    """Return the settings of the first file in `root` that configures pytest.

    pytest stops at a file that cannot be parsed; here it sets nothing.
    """
    try:
        file, section = _settings(root)
        lists = {key: _words(section[key]) for key in _LISTS if key in section}
        patterns = {
            kind: _words(section[f"python_{kind}"])
            for kind in ("files", "classes", "functions")
            if f"python_{kind}" in section
        }
    except _UNREADABLE:
        return PytestConfig(is_broken=True)
    lines = section.get("filterwarnings")
    return PytestConfig(
        file=file,
        section=section,
        filterwarnings=_words(lines.splitlines() if isinstance(lines, str) else lines),
        collected=CollectionPatterns(**patterns),
        is_broken=False,
        **lists,
    )


def find_root(start: Path) -> Path:
    """Return the root of the project in which pytest is started, by its rules.

    It is the first folder from `start` upwards that configures pytest, else that has a
    ``pyproject.toml``, else a ``setup.py``; or else `start`
    (https://docs.pytest.org/en/stable/reference/customize.html#finding-the-rootdir).
    """
    folders = (start, *start.parents)
    configured = (folder for folder in folders if read_config(folder).file)
    files = ("pyproject.toml", "setup.py")
    others = (folder for file in files for folder in folders if (folder / file).is_file())
    return next(configured, None) or next(others, start)


def folders_in(root: Path, entries: Iterable[str]) -> list[str]:
    """Return those entries that are folders of the project, relative to it, "." for its root."""
    folders = [(root / entry).resolve() for entry in entries]
    ours = [one for one in folders if one.is_dir() and one.is_relative_to(root)]
    return [one.relative_to(root).as_posix() for one in ours]


def suite_folder(root: Path, ini: PytestConfig, files: Iterable[str]) -> str:
    """Return the folder for new test files, relative to `root`.

    The first of: a configured test path, a folder of the usual name, the folder that holds
    most test files, the root itself.
    """
    tests = filter(ini.collected.has_file, files)
    counts = Counter(PurePosixPath(path).parent.as_posix() for path in tests)
    named = folders_in(root, (*ini.testpaths, "tests", "test", "testing"))
    return [*named, *dict(counts.most_common(1)), "."][0]


def find_project(folder: Path) -> Path:
    """Return the project of a folder: itself if it declares itself one, else as pytest has it."""
    declares = any((folder / name).is_file() for name in DECLARING)
    return folder if declares else find_root(folder)


def _settings(root: Path) -> tuple[str, Mapping[str, object]]:
    for name, table in _FILES:
        if (root / name).is_file():
            section = _section(root / name, table)
            # A file that is pytest's own configures it even where it is empty.
            if section is not None or "pytest" in name:
                return name, section or {}
    return "", {}


def scripts_of(root: Path) -> dict[str, str]:
    """Return the scripts that ``pyproject.toml`` declares, as in "tool": "pkg.core:main"."""
    try:
        section = _section(root / "pyproject.toml", "project.scripts") or {}
    except _UNREADABLE:
        return {}
    return {name: str(target) for name, target in section.items()}


def _section(path: Path, table: str) -> Mapping[str, object] | None:
    """Return a table of a file of settings, None where it has none."""
    text = bounded_text(path)
    if path.suffix == ".toml":
        found: object = tomllib.loads(text)
        for key in table.split("."):
            found = found.get(key) if isinstance(found, dict) else None
        return found if isinstance(found, dict) else None
    parser = RawConfigParser(strict=False, allow_no_value=True)
    parser.optionxform = str  # type: ignore[assignment,method-assign]  # names keep their case
    parser.read_string(text)
    return dict(parser[table]) if parser.has_section(table) else None


def _words(setting: object) -> tuple[str, ...]:
    if isinstance(setting, list | tuple):
        return tuple(filter(None, map(str, setting)))
    return tuple(shlex.split(str(setting or ""), comments=True))
