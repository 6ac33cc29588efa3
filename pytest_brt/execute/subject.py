"""Finds out what the project under test is: where it is, what runs it, what it is made of."""

from __future__ import annotations

import os
import pwd
import re
import shutil
import site
import sys
import tempfile
from collections.abc import Iterable, Mapping
from dataclasses import replace
from pathlib import Path

from pytest_brt.errors import SubjectProblem
from pytest_brt.execute.layout import source_roots, suite_folder
from pytest_brt.project.layout import find_layout, scan_tree
from pytest_brt.project.pytest_config import DJANGO, PytestConfig, read_config
from pytest_brt.sandbox.interpreter import ask_interpreter
from pytest_brt.sandbox.sandbox import Sandbox
from pytest_brt.sandbox.shown import is_below
from pytest_brt.types import Subject

#: Plugins that change which tests run, where, in what order or how they are reported.
UNWANTED = frozenset(
    {
        "xdist", "xdist.looponfail", "pytest_cov", "randomly", "random_order", "rerunfailures",
        "sugar", "html", "metadata", "brt", "pytest_forked", "instafail", "timeout", "repeat",
        "reportlog", "json_report", "profiling", "testmon", "pytest_parallel", "flakefinder",
    }
)  # fmt: skip


#: Files by which a folder declares itself a project.
_DECLARING = ("pyproject.toml", "setup.py", "setup.cfg", "tox.ini", "pytest.ini")
#: Where a project that declares nothing has its code, or the projects that it is made of.
_CODE = ("*.py", "*/*.py", "src/*/*.py", "lib/*/*.py", "*/pyproject.toml")


def demand_project(root: Path) -> None:
    """Say so where a folder is no Python project, before anything is looked for in it.

    It declares that it is one, or has code or tests, no deeper than a package in a source root. A
    home folder, that of temporary files and the root of a disk hold whatever there is: these have
    to declare it.

    Raises:
        SubjectProblem: it is none.
    """
    homes = [entry.pw_dir for entry in pwd.getpwall() if entry.pw_uid == os.getuid()]
    shared = [Path(place).resolve() for place in (root.anchor, tempfile.gettempdir(), *homes)]
    patterns = _DECLARING if root.resolve() in shared else (*_DECLARING, *_CODE)
    if not any(any(root.glob(pattern)) for pattern in patterns):
        raise SubjectProblem(
            "no Python project here (no pyproject.toml, setup.py, package or tests): "
            f"{str(root)!r} (run it in the project's folder)"
        )


def find_subject(
    root: Path, *, python: str | None, env: Mapping[str, str], sandbox: Sandbox
) -> Subject:
    """Return what is to be known of the project in `root`.

    The interpreter is `python` when given, else that of the project's `.venv` or `venv`,
    else that of the environment which is active, else the running one. Entries of `env`'s
    PYTHONPATH that lie in the project become source roots. Nothing of the project is run
    outside of the sandbox: not its `.venv`, nor pytest where that is the project.

    Raises:
        SubjectProblem: there is no such folder or interpreter, or it has no pytest.
        SandboxProblem: no process of the interpreter can be had in the sandbox.
    """
    if not root.is_dir():
        raise SubjectProblem(f"no such folder: {str(root)!r} (give the root of the project)")
    root = root.resolve()
    ini = read_config(root)
    chosen, found = _choose(root, python)
    extra, inner = _environment(root, ini, env)
    if chosen == sys.executable and site.ENABLE_USER_SITE:  # tests have another home
        extra.setdefault("PYTHONUSERBASE", site.getuserbase())
    named = [*inner, *ini.pythonpath]
    layout = find_layout(scan_tree(root), named)
    files = [str(root / path) for path in layout.files]
    asked = Subject(
        root=str(root),
        python=chosen,
        source_roots=source_roots(root, named, layout),
        env=tuple(sorted(extra.items())),
    )
    answer = ask_interpreter(asked, sandbox)
    if ini.is_broken:
        found += "; the project's pytest settings cannot be read and are left out"
    if extra.get(DJANGO) and not any(name == "django" for name, _ in answer.plugins):
        found += "; its tests need pytest-django for Django's settings: install it there"
    # What an editable install puts on the path: not what holds links to it, or an environment.
    installed = (
        os.path.relpath(place, root)
        for place in map(os.path.realpath, answer.paths)
        if is_below(place, str(root)) and any(is_below(file, place) for file in files)
    )
    named += sorted(installed, key=len, reverse=True)  # that of a folder in another is meant
    layout = find_layout(layout.files, named)
    # A folder of packages that has no __init__.py may be one itself, of a namespace.
    spaces = {root.partition("/")[0] for root in layout.roots} - {"", "src", "lib"}
    return replace(
        asked,
        python_version=answer.version,
        found=found,
        source_roots=source_roots(root, named, layout),
        packages=(*layout.packages(), *sorted(spaces)),
        test_root=suite_folder(root, ini.testpaths, ini.collected, layout.files),
        pytest_args=_pytest_args(root, ini, answer.plugins, (*ini.section, *extra)),
        ini=ini.file,
        warnings=ini.filterwarnings if "error" in " ".join(ini.filterwarnings) else (),
    )


def _environment(
    root: Path, ini: PytestConfig, env: Mapping[str, str]
) -> tuple[dict[str, str], list[str]]:
    """Return the variables for tests, and the folders of the project to import from (relative)."""
    extra = {**env}
    entries = [(root / p).resolve() for p in extra.pop("PYTHONPATH", "").split(os.pathsep) if p]
    inner = [str(path.relative_to(root)) for path in entries if path.is_relative_to(root)]
    if outer := [str(path) for path in entries if not path.is_relative_to(root)]:
        extra["PYTHONPATH"] = os.pathsep.join(outer)
    # pytest-django puts the folder of manage.py on the import path.
    scripts = [*root.glob("manage.py"), *sorted(root.glob("*/manage.py"))]
    settings = ini.django_variable(extra.get(DJANGO, "")) or _managed_settings(scripts)
    if settings:
        extra[DJANGO] = settings
        inner += [str(script.parent.relative_to(root)) for script in scripts]
    return extra, inner


def _managed_settings(scripts: Iterable[Path]) -> str:
    """Return the module of settings that a `manage.py` sets where nothing else does, or ""."""
    for script in scripts:
        text = script.read_text(encoding="utf-8", errors="replace")
        match = re.search(rf"""setdefault\(\s*["']{DJANGO}["'],\s*["']([\w.]+)["']""", text)
        if match:
            return match[1]
    return ""


def _choose(root: Path, python: str | None) -> tuple[str, str]:
    """Return the interpreter's absolute path, without ``..`` (tests run in other folders).

    The file itself is not resolved: a venv is known by its link.
    """
    if python is not None:
        path = Path(python).expanduser()
        if "/" not in python:
            path = Path(shutil.which(python) or path)
        if path.is_dir():
            path /= "bin/python"
        if not path.is_file() or not os.access(path, os.X_OK):
            raise SubjectProblem(f"--brt-python: no such interpreter: {python!r} (give its path)")
        return str(path.parent.resolve() / path.name), "--brt-python"
    # Ours may be in an environment of its own while the project's is active.
    active = Path(os.environ.get("VIRTUAL_ENV") or sys.prefix).absolute()
    places = [(root / name, f"the project's {name}") for name in (".venv", "venv")]
    if active != Path(sys.prefix) and any(active.glob("lib/python*/*/pytest")):
        places.append((active, "the active environment"))
    for folder, found in places:
        if os.access(folder / "bin/python", os.X_OK):
            return str(folder / "bin/python"), found
    return sys.executable, "the running interpreter"


def _pytest_args(
    root: Path, ini: PytestConfig, plugins: Iterable[tuple[str, str]], keys: Iterable[str]
) -> tuple[str, ...]:
    """Return the kept part of addopts, and ``-p`` for each installed plugin the project names.

    A plugin is named by its distribution, or by a setting or environment variable of its own:
    one of `keys`.
    """
    args = list(ini.kept_options())
    named = _named_words(root)
    for name, distribution in plugins:
        plain = _plain(distribution)
        prefix = f"{plain.removeprefix('pytest-')}_"
        is_named = plain in named or any(key.lower().startswith(prefix) for key in keys)
        if is_named and name not in UNWANTED and name not in args:
            args += ["-p", name]
    return tuple(args)


def _plain(name: str) -> str:
    """Return a distribution's normalised name without version or extras.

    >>> _plain("pytest_AsyncIO>=0.21")
    'pytest-asyncio'
    """
    return re.sub(r"[-_.]+", "-", re.split(r"[^\w.-]", name.strip(), maxsplit=1)[0]).lower()


def _named_words(root: Path) -> set[str]:
    """Return the words of the files in which a project names what its tests need."""
    patterns = (
        "pyproject.toml", "setup.py", "setup.cfg", "tox.ini", "pytest.ini", "noxfile.py", "Pipfile",
        "*requirements*.txt", "requirements/*.txt", "*environment*.yml", "*/requirements*.txt",
    )  # fmt: skip
    words: set[str] = set()
    for pattern in patterns:
        for path in root.glob(pattern):
            if path.is_file() and path.stat().st_size < 1_000_000:
                text = path.read_text(encoding="utf-8", errors="replace")
                words.update(_plain(word) for word in re.findall(r"[\w.-]+", text))
    return words
