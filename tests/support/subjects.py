"""Interpreters with a pytest of a chosen version, made once and kept."""

from __future__ import annotations

import fcntl
import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from pytest_brt.codec import content_id


def kept_folder() -> Path:
    """Return where environments are kept between runs."""
    named = os.environ.get("PYTEST_BRT_SUBJECTS")
    return Path(named) if named else Path(tempfile.gettempdir()) / "pytest-brt-subjects"


def interpreter(version: str) -> str | None:
    """Return an interpreter of a version ("3.9"), None when the machine has none."""
    if version == f"{sys.version_info[0]}.{sys.version_info[1]}":
        return sys.executable
    for folder in sorted((Path.home() / ".pyenv/versions").glob(f"{version}.*")):
        return str(folder / "bin/python")
    found = shutil.which(f"python{version}")
    # What lies on PATH may be a shim that knows of no such version.
    works = found and not subprocess.run([found, "-c", ""], check=False).returncode
    return found if works else None


def pip_for(version: str, python: Path) -> list[str]:
    """Return a command that installs into an environment; that it has no pip saves seconds."""
    base = interpreter(version) or sys.executable
    return [base, "-m", "pip", "-q", "--disable-pip-version-check", "--python", str(python)]


def environment(version: str, *packages: str) -> Path:
    """Return the interpreter of an environment with `packages`, or skip the test."""
    base = interpreter(version)
    if base is None:
        pytest.skip(f"no Python {version} here")
    # Another interpreter of the same version may be first on the next run's PATH.
    which = content_id(str(Path(base).resolve()))[:6]
    folder = kept_folder() / "-".join([f"py{version}", which, *packages]).replace("==", "")
    python = folder / "bin/python"
    with alone(folder):
        if not (folder / "done").exists():
            shutil.rmtree(folder, ignore_errors=True)
            subprocess.run([base, "-m", "venv", "--without-pip", str(folder)], check=True)
            install = [*pip_for(version, python), "install", *packages]
            done = subprocess.run(
                install, capture_output=True, text=True, check=False, encoding="utf-8"
            )
            if done.returncode:
                pytest.skip(f"{packages} cannot be installed: {done.stderr[-200:]}")
            (folder / "done").touch()
    return python


@contextmanager
def alone(folder: Path) -> Iterator[None]:
    """Let one process at a time make `folder`: workers of xdist want the same ones at once."""
    folder.parent.mkdir(parents=True, exist_ok=True)
    with folder.with_name(f"{folder.name}.lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        yield
