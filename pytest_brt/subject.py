"""The project under test: where it is, what runs it, what it is made of."""

from __future__ import annotations

import hashlib
import os
import pwd
import shutil
import site
import sys
import tempfile
from collections import Counter
from collections.abc import Collection, Iterable, Mapping
from contextlib import suppress
from dataclasses import replace
from pathlib import Path, PurePosixPath

from pytest_brt.errors import SubjectProblem
from pytest_brt.project.layout import files_of, find_layout, scan_tree
from pytest_brt.project.pytest_config import DECLARING, PytestConfig, read_config
from pytest_brt.sandbox.sandbox import Sandbox
from pytest_brt.sandbox.shown import is_below
from pytest_brt.sandbox.statements import ask_interpreter
from pytest_brt.types import Subject

#: Plugins that change which tests run, where, in what order or how they are reported.
_UNWANTED = frozenset(
    {
        "xdist", "xdist.looponfail", "pytest_cov", "randomly", "random_order", "rerunfailures",
        "sugar", "html", "metadata", "brt", "pytest_forked", "instafail", "timeout", "repeat",
        "reportlog", "json_report", "profiling", "testmon", "pytest_parallel", "flakefinder",
    }
)  # fmt: skip
#: The environment variable that names Django's settings.
_DJANGO = "DJANGO_SETTINGS_MODULE"
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
    patterns = DECLARING if root.resolve() in shared else (*DECLARING, *_CODE)
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

    All installed plugins of pytest are loaded, but for those that select, order or report tests.

    Raises:
        SubjectProblem: there is no such interpreter, or it has no pytest.
        SandboxProblem: no process of the interpreter can be had in the sandbox.
    """
    root = root.resolve()
    ini = read_config(root)
    chosen, found = _choose_python(root, python)
    extra, entries = _environment(root, ini, env)
    if chosen == sys.executable and site.ENABLE_USER_SITE:  # tests have another home
        extra.setdefault("PYTHONUSERBASE", site.getuserbase())
    asked = Subject(root=str(root), python=chosen, env=tuple(sorted(extra.items())))
    answer = ask_interpreter(asked, sandbox)
    if ini.is_broken:
        found += "; the project's pytest settings cannot be read and are left out"
    files = sorted(scan_tree(root))
    holding = {str(folder) for path in files for folder in (root / path).parents}
    # Editable installs put folders on the path; of one in another the inner one is meant.
    installed = [path for path in map(os.path.realpath, answer.paths) if path in holding]
    installed.sort(key=len, reverse=True)
    named = _folders(root, (*entries, *ini.pythonpath, *installed))
    layout = find_layout(files, named)
    usual = (name for name in ("src", "lib") if name in layout.roots)
    kept = ini.kept_options()
    plugins = [name for name in answer.plugins if name not in {*_UNWANTED, *kept}]
    # A folder of packages that has no __init__.py may be one itself, of a namespace.
    spaces = {folder.partition("/")[0] for folder in layout.roots} - {"", "src", "lib"}
    return replace(
        asked,
        python_version=answer.version,
        found=found,
        source_roots=(*(name for name in dict.fromkeys([*named, *usual]) if name != "."), "."),
        packages=(*layout.packages(), *sorted(spaces)),
        test_root=_suite_folder(root, ini, files),
        pytest_args=(*kept, *(word for name in plugins for word in ("-p", name))),
        ini=ini.file,
        warnings=ini.filterwarnings if "error" in " ".join(ini.filterwarnings) else (),
    )


def _choose_python(root: Path, python: str | None) -> tuple[str, str]:
    """Return the interpreter's absolute path, without ``..`` (tests run in other folders).

    The file itself is not resolved: a venv is known by its link.
    """
    if python is not None:
        named = Path(python).expanduser()
        path = shutil.which(named / "bin/python" if named.is_dir() else named)
        if path is None:
            raise SubjectProblem(f"--brt-python: no such interpreter: {python!r} (give its path)")
        return f"{Path(path).parent.resolve()}/{Path(path).name}", "--brt-python"
    # Ours may be in an environment of its own while the project's is active.
    active = Path(os.environ.get("VIRTUAL_ENV") or sys.prefix).absolute()
    places = [(root / name, f"the project's {name}") for name in (".venv", "venv")]
    if active != Path(sys.prefix) and any(active.glob("lib/python*/*/pytest")):
        places.append((active, "the active environment"))
    for folder, found in places:
        if os.access(folder / "bin/python", os.X_OK):
            return str(folder / "bin/python"), found
    return sys.executable, "the running interpreter"


def _environment(
    root: Path, ini: PytestConfig, env: Mapping[str, str]
) -> tuple[dict[str, str], list[str]]:
    """Return the variables for tests, and the folders to import from, which may be outside."""
    extra = {**env}
    entries = [
        str((root / p).resolve()) for p in extra.pop("PYTHONPATH", "").split(os.pathsep) if p
    ]
    if outer := [path for path in entries if not is_below(path, str(root))]:
        extra["PYTHONPATH"] = os.pathsep.join(outer)
    settings = ini.django_variable(extra.get(_DJANGO, ""))
    if settings:
        extra[_DJANGO] = settings
        # pytest-django puts the folder of manage.py on the import path.
        scripts = [*root.glob("manage.py"), *sorted(root.glob("*/manage.py"))]
        entries += [str(script.parent) for script in scripts]
    return extra, entries


def _folders(root: Path, entries: Iterable[str]) -> list[str]:
    """Return those entries that are folders of the project, relative to it, "." for its root."""
    folders = [(root / entry).resolve() for entry in entries]
    ours = [one for one in folders if one.is_dir() and one.is_relative_to(root)]
    return [one.relative_to(root).as_posix() for one in ours]


def _suite_folder(root: Path, ini: PytestConfig, files: Iterable[str]) -> str:
    """Return the folder for new test files, relative to `root`.

    The first of: a configured test path, a folder of the usual name, the folder that holds
    most test files, the root itself.
    """
    tests = filter(ini.collected.has_file, files)
    counts = Counter(PurePosixPath(path).parent.as_posix() for path in tests)
    named = _folders(root, (*ini.testpaths, "tests", "test", "testing"))
    return [*named, *dict(counts.most_common(1)), "."][0]


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
            state = (name, os.access(path, os.X_OK), content)
            digest.update(repr(state).encode("utf-8", "surrogateescape"))
    return digest.hexdigest()
