"""The folders that an interpreter imports from, as its files say."""

from __future__ import annotations

import os
import re
from collections.abc import Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import unquote, urlsplit

from pytest_brt.bounded import read_bounded
from pytest_brt.codec import from_json
from pytest_brt.errors import StoreProblem
from pytest_brt.execute.inside.tree import is_below
from pytest_brt.execute.sandbox import glob_folders, is_prefix, may_be_named


@dataclass(frozen=True, slots=True, kw_only=True)
class _Install:
    """How a distribution was installed from a folder."""

    editable: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class _Origin:
    """Where a distribution was installed from: what ``direct_url.json`` holds (PEP 610)."""

    url: str
    dir_info: _Install = _Install()


def likely_folders(python: Path, user_base: Path, *, is_projects: bool) -> Iterator[str]:
    """Yield the folders that an interpreter which was not asked yet will import from.

    Of what the environment of a project names elsewhere, only installed packages are among them:
    any folder could be named.
    """
    prefixes = {python.parent.parent, python.resolve().parent.parent}
    for environment in list(prefixes):
        prefixes |= _read_base_prefixes(environment)
    prefixes = {prefix for prefix in prefixes if is_prefix(prefix)}
    yield from (str(prefix) for prefix in prefixes)
    for place in (*prefixes, user_base):
        for packages in glob_folders(place, "lib/python*/site-packages"):
            if packages.resolve().name == packages.name:  # not a link to something else
                yield str(packages)
                named = _named_in(packages)
                yield from (path for path in named if may_be_named(path, apart=is_projects))


def editable_folders(paths: Sequence[str], root: str, python: str) -> Iterator[str]:
    """Yield the folders of editable installs in `paths`, but for those of the project in `root`.

    A folder of the project is one of installed packages only in the environment of `python`: else
    it can have the name, and name folders, whichever interpreter the user chose.
    """
    environment = str(Path(python).parent.parent)
    for named in paths:
        packages = Path(os.path.normpath(named))
        is_projects = is_below(str(packages), root) and not is_below(str(packages), environment)
        if is_projects or packages.name not in ("site-packages", "dist-packages"):
            continue
        for path in _named_in(packages):
            if path not in paths and not is_below(path, root) and not is_below(root, path):
                yield path


def _read_base_prefixes(environment: Path) -> set[Path]:
    """Return the prefix of the interpreter that an environment says it was made of, if it does."""
    with suppress(OSError):
        text = read_bounded(environment / "pyvenv.cfg").decode("utf-8", "replace")
        home = re.search(r"^home\s*=\s*(.+)$", text, re.M)
        return {Path(home[1].strip()).parent} if home else set()
    return set()


def _named_in(packages: Path) -> Iterator[str]:
    """Yield the folders elsewhere that a folder of installed packages takes modules from.

    A project may bring an environment in which any folder is named: see `may_be_named`.
    """
    named = [path for listed in packages.glob("*.pth") for path in _read_listed(listed)]
    for path in packages.glob("*.dist-info/direct_url.json"):
        root = _read_editable(path)
        # Where modules are found by a finder, no line names their folder.
        if root and not any(is_below(path, root) for path in named):
            named.append(root)
    yield from filter(os.path.isdir, named)


def _read_listed(listed: Path) -> list[str]:
    """Return the folders that the lines of a ``.pth`` file name."""
    with suppress(OSError):
        lines = read_bounded(listed).decode("utf-8", "replace").splitlines()
        names = [
            line.strip() for line in lines if not line.startswith(("#", "import ", "import\t"))
        ]
        return [os.path.normpath(listed.parent / name) for name in names if name]
    return []


def _read_editable(path: Path) -> str:
    """Return the folder of the project that was installed to be edited, or ""."""
    with suppress(OSError, StoreProblem, ValueError):
        origin = from_json(read_bounded(path), _Origin)
        if origin.dir_info.editable and origin.url.startswith("file:///"):
            return os.path.normpath(unquote(urlsplit(origin.url).path))
    return ""
