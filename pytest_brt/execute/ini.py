"""What a project's pytest configuration says, as far as running its tests needs it."""

from __future__ import annotations

import configparser
import shlex
import tomllib
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from pytest_brt.errors import SubjectProblem

#: Options of `addopts` that say how tests are imported and what they need; all others
#: (selection, parallel runs, coverage, output) are left out of our runs.
KEPT_OPTIONS = ("--import-mode", "--asyncio-mode", "--ds", "--dc", "--django-configuration")


@dataclass(frozen=True, slots=True, kw_only=True)
class PytestIni:
    """The settings of the file that pytest would choose; all empty when there is none."""

    #: Its name ("pyproject.toml"), or "".
    file: str = ""
    pythonpath: tuple[str, ...] = ()
    testpaths: tuple[str, ...] = ()
    addopts: tuple[str, ...] = ()
    required_plugins: tuple[str, ...] = ()
    #: Names of all keys set, as in "asyncio_mode".
    keys: tuple[str, ...] = ()

    def kept_options(self) -> tuple[str, ...]:
        """Return the options of `addopts` that our runs keep.

        >>> PytestIni(addopts=("-n", "4", "-p", "django", "--import-mode=importlib")).kept_options()
        ('-p', 'django', '--import-mode=importlib')
        """
        kept: list[str] = []
        words = iter(self.addopts)
        for word in words:
            if word == "-p":
                value = next(words, "")
                if value:
                    kept += ["-p", value]
            elif word.startswith("-p") and not word.startswith("--"):
                kept += ["-p", word[2:]]
            elif word.partition("=")[0] in KEPT_OPTIONS:
                kept.append(word if "=" in word else f"{word}={next(words, '')}")
        return tuple(kept)


def read_ini(root: Path) -> PytestIni:
    """Return the settings of the first file in `root` that configures pytest.

    The order is pytest's own (https://docs.pytest.org/en/stable/reference/customize.html).

    Raises:
        SubjectProblem: the file cannot be parsed.
    """
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
    return PytestIni(
        file=name,
        pythonpath=_words(section.get("pythonpath", ())),
        testpaths=_words(section.get("testpaths", ())),
        addopts=_words(section.get("addopts", ())),
        required_plugins=_words(section.get("required_plugins", ())),
        keys=tuple(section),
    )


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
    try:
        table: object = tomllib.loads(path.read_text(encoding="utf-8"))
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise SubjectProblem(f"cannot read {str(path)!r}: {error}; mend it first") from error
    for key in keys:
        table = table.get(key) if isinstance(table, dict) else None
    return table if isinstance(table, dict) else None


def _cfg(path: Path, name: str) -> Mapping[str, object] | None:
    parser = configparser.RawConfigParser(strict=False)
    try:
        parser.read_string(path.read_text(encoding="utf-8-sig"))
    except (configparser.Error, UnicodeDecodeError) as error:
        line = str(error).splitlines()[0]
        raise SubjectProblem(f"cannot read {str(path)!r}: {line}; mend it first") from error
    return dict(parser[name]) if parser.has_section(name) else None
