"""The project under test: where it is, what runs it, what it is made of."""

from __future__ import annotations

import os
import pwd
import site
import sys
import tempfile
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path

from pytest_brt.errors import SubjectProblem
from pytest_brt.project.interpreter import choose_python, read_environment
from pytest_brt.project.layout import find_layout, scan_tree
from pytest_brt.project.pytest_config import (
    DECLARING,
    folders_in,
    read_config,
    suite_folder,
)
from pytest_brt.sandbox.sandbox import Sandbox
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
    shared = [
        Path(place).resolve() for place in (root.anchor, tempfile.gettempdir(), *homes)
    ]
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
    chosen, found = choose_python(root, python)
    extra, entries = read_environment(root, ini, env)
    if chosen == sys.executable and site.ENABLE_USER_SITE:  # tests have another home
        extra.setdefault("PYTHONUSERBASE", site.getuserbase())
    # Where pytest is the project, or is in it, the interpreter finds it there alone.
    named = folders_in(root, (*entries, *ini.pythonpath))
    asked = Subject(
        root=str(root),
        python=chosen,
        env=tuple(sorted(extra.items())),
        source_roots=tuple(named),
    )
    answer = ask_interpreter(asked, sandbox)
    if ini.is_broken:
        found += "; the project's pytest settings cannot be read and are left out"
    files = sorted(scan_tree(root))
    holding = {str(folder) for path in files for folder in (root / path).parents}
    # Editable installs put folders on the path; of one in another the inner one is meant.
    installed = [path for path in map(os.path.realpath, answer.paths) if path in holding]
    installed.sort(key=len, reverse=True)
    named += folders_in(root, installed)
    layout = find_layout(files, named)
    kept = ini.kept_options()
    # pytest is to look for no settings in folders above.
    unset = () if ini.file else ("-c", os.devnull)
    plugins = [name for name in answer.plugins if name not in {*_UNWANTED, *kept}]
    # A folder of packages that has no __init__.py may be one itself, of a namespace.
    spaces = {folder.partition("/")[0] for folder in layout.roots} - {"", "src", "lib"}
    return replace(
        asked,
        python_version=answer.version,
        found=found,
        source_roots=(
            *(name for name in layout.roots if name in (*named, "src", "lib")),
            ".",
        ),
        packages=(*layout.packages(), *sorted(spaces)),
        test_root=suite_folder(root, ini, files),
        pytest_args=(*kept, *unset, *(word for name in plugins for word in ("-p", name))),
        warnings=ini.filterwarnings if "error" in " ".join(ini.filterwarnings) else (),
    )
