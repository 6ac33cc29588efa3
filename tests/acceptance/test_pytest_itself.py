"""The project may be pytest itself, or have it: then no environment needs one."""

from __future__ import annotations

import shutil
import venv
from importlib import import_module
from pathlib import Path

import pytest

from pytest_brt.sandbox.sandbox import open_sandbox
from pytest_brt.subject import find_subject

#: What pytest needs.
PARTS = ("pytest", "_pytest", "pluggy", "iniconfig", "packaging", "pygments")


@pytest.mark.slow
def test_an_interpreter_finds_pytest_in_the_project(tmp_path: Path) -> None:
    environment, root = tmp_path / "environment", tmp_path / "project"
    venv.create(environment, symlinks=True)
    (root / "src").mkdir(parents=True)
    shutil.copy(str(import_module("py").__file__), root / "src")
    for name in PARTS:
        source = Path(str(import_module(name).__file__)).parent
        shutil.copytree(source, root / "src" / name)
    python = str(environment / "bin/python")
    sandbox, variables = open_sandbox("auto"), {"PYTHONPATH": "src"}
    subject = find_subject(root, python=python, env=variables, sandbox=sandbox)
    assert subject.source_roots[0] == "src"
