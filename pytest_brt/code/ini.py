"""What a project's pytest configuration says, as far as running its tests needs it."""

from __future__ import annotations

import contextlib
import os
import shlex
import tomllib
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from fnmatch import fnmatchcase
from itertools import pairwise
from pathlib import Path

import iniconfig

from pytest_brt.bounded import bounded_text
from pytest_brt.code.collected import USUAL, Collected

#: Options of `addopts` that say how tests are imported and what they need; all others
#: (selection, parallel runs, coverage, output) are left out of our runs.
KEPT_OPTIONS = ("--import-mode", "--asyncio-mode", "--ds", "--dc", "--django-configuration")


#: What pytest takes for `norecursedirs` where nothing is said.
_NO_TESTS = (
    "*.egg", ".*", "_darcs", "build", "CVS", "dist", "node_modules", "venv", "{arch}",
)  # fmt: skip
#: What reading a file of settings raises. `tomllib` raises a plain ValueError for a number of too
#: many digits, and a RecursionError for lists within lists.
_UNREADABLE = (OSError, iniconfig.ParseError, ValueError, RecursionError)


@dataclass(frozen=True, slots=True, kw_only=True)
class PytestIni:
    """The settings of the file that pytest would choose; all empty when there is none."""

    #: Its name ("pyproject.toml"), or "".
    file: str = ""
    pythonpath: tuple[str, ...] = ()
    testpaths: tuple[str, ...] = ()
    #: Patterns of the names of folders in which no tests are looked for.
    norecursedirs: tuple[str, ...] = _NO_TESTS
    addopts: tuple[str, ...] = ()
    required_plugins: tuple[str, ...] = ()
    #: What becomes of warnings, a line each.
    filterwarnings: tuple[str, ...] = ()
    #: What it takes for tests.
    collected: Collected = USUAL
    #: Names of all keys set, as in "asyncio_mode".
    keys: tuple[str, ...] = ()
    #: The value of the key DJANGO_SETTINGS_MODULE, or "".
    django_settings: str = ""
    #: The value of the key cache_dir, or "".
    cache_dir: str = ""
    #: Whether the file cannot be read, so that our runs have to do without it.
    is_broken: bool = False

    def test_files(self, paths: Iterable[str]) -> tuple[str, ...]:
        """Return those of the project's files in which plain pytest looks for tests, sorted.

        >>> ini = PytestIni(testpaths=("tests",), addopts=("--ignore=tests/old",))
        >>> ini.test_files(["tests/test_a.py", "pkg/test_b.py", "tests/old/test_c.py"])
        ('tests/test_a.py',)
        """
        found = sorted(path for path in paths if self._may_hold_tests(path))
        named = [path for path in found if any(_is_below(path, top) for top in self.testpaths)]
        return tuple(named or found)

    def _may_hold_tests(self, path: str) -> bool:
        folders = path.split("/")[:-1]
        passed_over = any(
            fnmatchcase(folder, pattern) for folder in folders for pattern in self.norecursedirs
        )
        options = [word.partition("=") for word in self.addopts]
        ignored = [value for name, _, value in options if name == "--ignore"]
        return (
            self.collected.has_file(path)
            and not passed_over
            and not any(_is_below(path, folder) for folder in ignored)
        )

    def kept_options(self) -> tuple[str, ...]:
        """Return the options of `addopts` that our runs keep, and what lets pytest start at all.

        >>> PytestIni(addopts=("-n", "4", "-p", "django", "--import-mode=importlib")).kept_options()
        ('-p', 'django', '--import-mode=importlib')
        >>> PytestIni(keys=("minversion",)).kept_options()
        ('-o', 'minversion=')
        """
        kept = ["-c", os.devnull] if self.is_broken else []
        for key in ("required_plugins", "minversion"):
            kept += ["-o", f"{key}="] if key in self.keys else []
        # What is written anew has the usual names, whatever the project calls its own.
        for key, own, usual in (
            ("python_classes", self.collected.classes, USUAL.classes),
            ("python_functions", self.collected.functions, USUAL.functions),
        ):
            kept += ["-o", f"{key}={shlex.join((*own, *usual))}"] if key in self.keys else []
        words = iter(self.addopts)
        for word in words:
            if word.startswith("-p"):
                value = word[2:] or next(words, "")
                kept += ["-p", value] if value else []
            elif word.partition("=")[0] in KEPT_OPTIONS:
                kept.append(word if "=" in word else f"{word}={next(words, '')}")
        return tuple(kept)

    def django_variable(self, given: str = "") -> str:
        """Return the module of Django's settings, "" where nothing names one.

        Args:
            given: what the environment says. pytest-django takes ``--ds`` before it, and the
                key of the file after it
                (https://pytest-django.readthedocs.io/en/latest/configuring_django.html).

        >>> PytestIni(addopts=("--ds", "a"), django_settings="c").django_variable("b")
        'a'
        """
        options = [word[5:] for word in self.kept_options() if word.startswith("--ds=")]
        return next(filter(None, [*reversed(options), given, self.django_settings]), "")


def _is_below(path: str, top: str) -> bool:
    """Say whether a file is `top`, a pattern, or lies below a folder that it matches."""
    clean = os.path.normpath(top)
    return clean == "." or fnmatchcase(path, clean) or fnmatchcase(path, f"{clean}/*")


def declared_roots(root: Path) -> tuple[str, ...]:
    """Return the source roots that the settings of pytest and of setuptools name.

    A file that cannot be read as its format declares nothing.
    """
    names = [*_roots_of_pyproject(root), *read_ini(root).pythonpath, *_roots_of_setup(root)]
    roots: dict[str, None] = {}
    for name in names:
        clean = os.path.normpath(name.strip()).replace("\\", "/")
        clean = "" if clean == "." else clean
        if not clean.startswith(("/", "..")) and (root / clean).is_dir():
            roots[clean] = None
    return tuple(roots)


def scripts_of(root: Path) -> dict[str, str]:
    """Return the scripts that ``pyproject.toml`` declares, as in "tool": "pkg.core:main"."""
    with contextlib.suppress(*_UNREADABLE):
        table = _toml(root / "pyproject.toml", ("project", "scripts")) or {}
        return {name: str(target) for name, target in table.items()}
    return {}


def _roots_of_pyproject(root: Path) -> Iterator[str]:
    keys = ("tool", "setuptools")
    with contextlib.suppress(*_UNREADABLE):
        folder = (_toml(root / "pyproject.toml", (*keys, "package-dir")) or {}).get("")
        yield from [folder] if isinstance(folder, str) else []
        found = _toml(root / "pyproject.toml", (*keys, "packages", "find")) or {}
        yield from _words(found.get("where"))


def _roots_of_setup(root: Path) -> Iterator[str]:
    with contextlib.suppress(*_UNREADABLE):
        options = _cfg(root / "setup.cfg", "options") or {}
        for line in str(options.get("package_dir", "")).splitlines():
            package, equals, folder = line.partition("=")
            if equals and not package.strip():
                yield folder
        yield from _words((_cfg(root / "setup.cfg", "options.packages.find") or {}).get("where"))


def cache_dir_of(root: Path) -> Path:
    """Return the folder of pytest's cache for runs of the project at `root`.

    As pytest finds it (https://docs.pytest.org/en/stable/reference/reference.html#confval-cache_dir),
    but for two things: ``-o cache_dir=…`` on one run's command line, which only that run knows, and
    what the project itself says, which counts only as far as `project_cache_dir` lets it.
    """
    given = _cache_dir_in(shlex.split(os.environ.get("PYTEST_ADDOPTS", "")))
    if given:
        return root / os.path.expandvars(Path(given).expanduser())
    usual = Path(os.environ.get("TOX_ENV_DIR", ""), ".pytest_cache")
    return root / (project_cache_dir(root) or usual)


def project_cache_dir(root: Path) -> str:
    """Return the folder that the project's settings name for the cache, "" where it is not used.

    A checkout may be a stranger's: what it names is used only where it is one folder inside the
    project, without a variable, and no link leads out (`stated_cache_dir` has it as it stands).
    """
    stated = stated_cache_dir(root)
    odd = any(char in stated for char in "$~") or not stated.isprintable()
    if not stated or odd or Path(stated).is_absolute():
        return ""
    try:
        place = (root / stated).resolve()
    except (OSError, RuntimeError):  # links that go round in a circle
        return ""
    return stated if place.is_relative_to(root.resolve()) and place != root.resolve() else ""


def stated_cache_dir(root: Path) -> str:
    """Return what the project's settings say of pytest's cache, "" for nothing."""
    ini = read_ini(root)
    return _cache_dir_in(ini.addopts) or ini.cache_dir


def _cache_dir_in(words: Sequence[str]) -> str:
    """Return what the last ``-o cache_dir=…`` among the words of a command line says, or ""."""
    chosen = ""
    for before, word in pairwise(words):
        if before in ("-o", "--override-ini") and word.startswith("cache_dir="):
            chosen = word.partition("=")[2]
    return chosen


def read_ini(root: Path) -> PytestIni:
    """Return the settings of the first file in `root` that configures pytest.

    The order is pytest's own (https://docs.pytest.org/en/stable/reference/customize.html). pytest
    stops at a file that cannot be parsed; here it sets nothing.
    """
    try:
        return _read(root)
    except _UNREADABLE:
        return PytestIni(is_broken=True)


def _read(root: Path) -> PytestIni:
    for name in ("pytest.toml", ".pytest.toml", "pytest.ini", ".pytest.ini"):
        path = root / name
        if path.is_file():
            section = _toml(path, ("pytest",)) if name.endswith("toml") else _cfg(path, "pytest")
            return _settings(name, section or {})
    for name in ("pyproject.toml", "tox.ini", "setup.cfg"):
        path = root / name
        if not path.is_file():
            continue
        if name == "pyproject.toml":
            section = _toml(path, ("tool", "pytest", "ini_options"))
            if section is None:
                section = _toml(path, ("tool", "pytest"))
        else:
            section = _cfg(path, "tool:pytest" if name == "setup.cfg" else "pytest")
        if section is not None:
            return _settings(name, section)
    return PytestIni()


def _settings(name: str, section: Mapping[str, object]) -> PytestIni:
    collected = Collected(
        files=_words(section.get("python_files", USUAL.files)),
        classes=_words(section.get("python_classes", USUAL.classes)),
        functions=_words(section.get("python_functions", USUAL.functions)),
    )
    return PytestIni(
        file=name,
        pythonpath=_words(section.get("pythonpath", ())),
        testpaths=_words(section.get("testpaths", ())),
        norecursedirs=_words(section.get("norecursedirs", _NO_TESTS)),
        addopts=_words(section.get("addopts", ())),
        required_plugins=_words(section.get("required_plugins", ())),
        filterwarnings=_lines(section.get("filterwarnings", ())),
        collected=collected,
        keys=tuple(section),
        django_settings=str(section.get("DJANGO_SETTINGS_MODULE", "")).strip(),
        cache_dir=str(section.get("cache_dir", "")).strip(),
    )


def _lines(value: object) -> tuple[str, ...]:
    return _words(value.splitlines() if isinstance(value, str) else value)


def _words(value: object) -> tuple[str, ...]:
    if isinstance(value, str):
        try:
            return tuple(shlex.split(value, comments=True))
        except ValueError:
            return tuple(value.split())
    if isinstance(value, list | tuple):
        return tuple(str(part) for part in value)
    return ()


def _toml(path: Path, keys: tuple[str, ...]) -> Mapping[str, object] | None:
    table: object = tomllib.loads(bounded_text(path))
    for key in keys:
        table = table.get(key) if isinstance(table, dict) else None
    return table if isinstance(table, dict) else None


def _cfg(path: Path, name: str) -> Mapping[str, object] | None:
    # What pytest reads them with, so that both find the same.
    section = iniconfig.IniConfig(str(path)).sections.get(name)
    return None if section is None else dict(section)
