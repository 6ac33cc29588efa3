"""Which interpreter runs a project, and with which variables and folders to import from."""

from __future__ import annotations

import os
import shutil
import sys
from collections.abc import Mapping
from pathlib import Path

from pytest_brt.errors import SubjectProblem
from pytest_brt.project.pytest_config import PytestConfig

#: The environment variable that names Django's settings.
_DJANGO = "DJANGO_SETTINGS_MODULE"


def choose_python(root: Path, python: str | None) -> tuple[str, str]:
    """Return the interpreter's absolute path, without ``..`` (tests run in other folders).

    The file itself is not resolved: a venv is known by its link.
    """
    if python is not None:
        named = Path(python).expanduser()
        path = shutil.which(named / "bin/python" if named.is_dir() else named)
        if path is None:
            raise SubjectProblem(
                f"--brt-python: no such interpreter: {python!r} (give its path)"
            )
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


def read_environment(
    root: Path, ini: PytestConfig, env: Mapping[str, str]
) -> tuple[dict[str, str], list[str]]:
    """Return the variables for tests, and the folders to import from, which may be outside."""
    extra = {**env}
    entries = [
        str((root / p).resolve())
        for p in extra.pop("PYTHONPATH", "").split(os.pathsep)
        if p
    ]
    if outer := [path for path in entries if not Path(path).is_relative_to(root)]:
        extra["PYTHONPATH"] = os.pathsep.join(outer)
    if settings := ini.django_variable(extra.get(_DJANGO, "")):
        extra[_DJANGO] = settings
        # pytest-django puts the folder of manage.py on the import path.
        scripts = [*root.glob("manage.py"), *sorted(root.glob("*/manage.py"))]
        entries += [str(script.parent) for script in scripts]
    return extra, entries
