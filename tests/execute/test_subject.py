from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from pytest_brt.errors import SubjectProblem
from pytest_brt.sandbox.available import open_sandbox
from pytest_brt.sandbox.sandbox import Sandbox
from pytest_brt.execute.subject import find_subject
from tests.support.projects import make_project


@pytest.fixture(scope="module")
def sandbox() -> Sandbox:
    return open_sandbox("auto")


def test_a_flat_project_is_understood(sandbox: Sandbox, tmp_path: Path) -> None:
    subject = find_subject(
        make_project(tmp_path / "p"), python=None, env={"A": "b"}, sandbox=sandbox
    )
    assert subject.python == sys.executable
    assert subject.python_version == sys.version_info[:2]
    assert subject.pytest_version == tuple(int(part) for part in pytest.__version__.split(".")[:2])
    assert (subject.source_roots, subject.packages) == ((".",), ("pkg",))
    assert (subject.test_root, subject.found) == ("tests", "the running interpreter")
    assert subject.env == (("A", "b"),)


def test_a_src_layout_and_python_path_are_understood(sandbox: Sandbox, tmp_path: Path) -> None:
    (tmp_path / "src/thing").mkdir(parents=True)
    (tmp_path / "src/thing/__init__.py").touch()
    (tmp_path / "extra").mkdir()
    (tmp_path / "extra/more.py").touch()
    (tmp_path / "given").mkdir()
    env = {"PYTHONPATH": f"{tmp_path}/given:/elsewhere"}
    (tmp_path / "pyproject.toml").write_text(
        '[tool.pytest.ini_options]\npythonpath = ["extra"]\n', encoding="utf-8"
    )
    subject = find_subject(tmp_path, python=None, env=env, sandbox=sandbox)
    assert subject.source_roots == ("given", "extra", "src", ".")
    assert subject.packages == ("more", "thing")
    assert subject.env == (("PYTHONPATH", "/elsewhere"),)
    assert subject.ini == "pyproject.toml"


def test_the_suite_of_a_package_with_many_test_folders_is_the_fullest(
    sandbox: Sandbox, tmp_path: Path
) -> None:
    for name in ("pkg/a/tests/test_1.py", "pkg/b/tests/test_1.py", "pkg/b/tests/test_2.py"):
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).touch()
    assert find_subject(tmp_path, python=None, env={}, sandbox=sandbox).test_root == "pkg/b/tests"


def test_a_missing_interpreter_is_named(sandbox: Sandbox, tmp_path: Path) -> None:
    with pytest.raises(SubjectProblem, match="no such interpreter: '/nowhere/python'"):
        find_subject(tmp_path, python="/nowhere/python", env={}, sandbox=sandbox)


def test_an_interpreter_beside_the_project_keeps_its_packages(
    sandbox: Sandbox, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    subprocess.run([sys.executable, "-m", "venv", "--without-pip", tmp_path / "env"], check=True)
    site = next((tmp_path / "env").glob("lib/python*/site-packages"))
    (site / "pytest.py").write_text("__version__ = '8.4.2'\n", encoding="utf-8")
    root = make_project(tmp_path / "p")
    monkeypatch.chdir(root)
    subject = find_subject(
        root, python="../env/bin/python", env={"PYTHONPATH": "../more"}, sandbox=sandbox
    )
    assert subject.python == str(tmp_path / "env/bin/python")
    assert str(site) in subject.paths
    assert subject.env == (("PYTHONPATH", str(tmp_path / "more")),)


def test_what_is_no_interpreter_is_named(sandbox: Sandbox, tmp_path: Path) -> None:
    fake = tmp_path / "fake"
    fake.write_text("#!/bin/sh\necho hello\n", encoding="utf-8")
    fake.chmod(0o755)
    root = make_project(tmp_path / "p")
    with pytest.raises(SubjectProblem, match=r"does not start at the level .*: hello"):
        find_subject(root, python=str(fake), env={}, sandbox=sandbox)


def test_a_projects_environment_without_pytest_is_named(sandbox: Sandbox, tmp_path: Path) -> None:
    subprocess.run([sys.executable, "-m", "venv", "--without-pip", tmp_path / ".venv"], check=True)
    with pytest.raises(SubjectProblem, match=r"cannot import pytest.*install pytest there"):
        find_subject(tmp_path, python=None, env={}, sandbox=sandbox)
    assert (
        find_subject(tmp_path, python=sys.executable, env={}, sandbox=sandbox).found
        == "--brt-python"
    )


def test_the_active_environment_is_taken_when_it_can_run_tests(
    sandbox: Sandbox, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    root = make_project(tmp_path / "p")
    subprocess.run([sys.executable, "-m", "venv", "--without-pip", tmp_path / "env"], check=True)
    monkeypatch.setenv("VIRTUAL_ENV", str(tmp_path / "env"))
    assert (
        find_subject(root, python=None, env={}, sandbox=sandbox).found == "the running interpreter"
    )
    site = next((tmp_path / "env").glob("lib/python*/site-packages"))
    (site / "pytest").mkdir()
    (site / "pytest/__init__.py").write_text("__version__ = '8.4.2'\n", encoding="utf-8")
    subject = find_subject(root, python=None, env={}, sandbox=sandbox)
    assert subject.found == "the active environment"
    assert subject.python == str(tmp_path / "env/bin/python")
    monkeypatch.setenv("VIRTUAL_ENV", sys.prefix)
    assert (
        find_subject(root, python=None, env={}, sandbox=sandbox).found == "the running interpreter"
    )


def test_a_broken_configuration_is_left_out_and_said(sandbox: Sandbox, tmp_path: Path) -> None:
    (tmp_path / "pyproject.toml").write_text("[tool\n", encoding="utf-8")
    subject = find_subject(tmp_path, python=None, env={}, sandbox=sandbox)
    assert subject.pytest_args == ("-c", os.devnull)
    assert subject.found.endswith("; the project's pytest settings cannot be read and are left out")


def test_what_would_stop_pytest_is_taken_off(sandbox: Sandbox, tmp_path: Path) -> None:
    (tmp_path / "tox.ini").write_text("[pytest]\nminversion = 99\nrequired_plugins = no\n", "utf-8")
    args = find_subject(tmp_path, python=None, env={}, sandbox=sandbox).pytest_args
    assert args == ("-o", "required_plugins=", "-o", "minversion=")


def test_only_plugins_that_the_project_names_are_loaded(sandbox: Sandbox, tmp_path: Path) -> None:
    assert find_subject(tmp_path, python=None, env={}, sandbox=sandbox).pytest_args == ()
    (tmp_path / "requirements-dev.txt").write_text("hypothesis\npytest-xdist\n", encoding="utf-8")
    args = find_subject(tmp_path, python=None, env={}, sandbox=sandbox).pytest_args
    assert "hypothesispytest" in args
    assert "xdist" not in args


def _open_folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("marked")
    folder.chmod(0o777)
    return folder


@pytest.mark.skipif(sys.platform != "linux", reason="only Linux has sandboxes to ask in")
def test_a_project_does_not_run_where_its_interpreter_is_asked(
    sandbox: Sandbox, tmp_path: Path, tmp_path_factory: pytest.TempPathFactory
) -> None:
    mark = _open_folder(tmp_path_factory) / "ran"
    root = make_project(tmp_path / "p")
    spoil = f"open({str(mark)!r}, 'w').close()\n"
    for name in ("sitecustomize.py", "usercustomize.py"):
        (root / name).write_text(spoil, encoding="utf-8")
    (root / "src").mkdir()
    (root / "src" / "sitecustomize.py").write_text(spoil, encoding="utf-8")
    assert find_subject(root, python=None, env={}, sandbox=sandbox).packages
    assert not mark.exists()
    find_subject(root, python=None, env={"PYTHONPATH": str(root)}, sandbox=sandbox)
    assert not mark.exists()


@pytest.mark.skipif(sys.platform != "linux", reason="only Linux has sandboxes to ask in")
def test_a_projects_own_interpreter_is_asked_in_a_sandbox(
    sandbox: Sandbox, tmp_path: Path, tmp_path_factory: pytest.TempPathFactory
) -> None:
    mark = _open_folder(tmp_path_factory) / "ran"
    root = make_project(tmp_path / "p")
    subprocess.run([sys.executable, "-m", "venv", "--without-pip", root / ".venv"], check=True)
    site = next((root / ".venv").glob("lib/python*/site-packages"))
    (site / "pytest.py").write_text("__version__ = '8.4.2'\n", encoding="utf-8")
    (site / "evil.pth").write_text(f"import os; open({str(mark)!r}, 'w').close()\n", "utf-8")
    subject = find_subject(root, python=None, env={}, sandbox=sandbox)
    assert subject.found == "the project's .venv"
    assert subject.pytest_version == (8, 4)
    assert str(site) in subject.paths
    assert not mark.exists()


@pytest.mark.skipif(sys.platform != "linux", reason="only Linux has sandboxes to ask in")
def test_a_word_for_a_finder_on_the_path_is_no_folder_of_the_project(
    sandbox: Sandbox, tmp_path: Path
) -> None:
    root = make_project(tmp_path / "p")
    subprocess.run([sys.executable, "-m", "venv", "--without-pip", root / ".venv"], check=True)
    site = next((root / ".venv").glob("lib/python*/site-packages"))
    (site / "pytest.py").write_text("__version__ = '8.4.2'\n", encoding="utf-8")
    word = "__editable__.p-1.finder.__path_hook__"
    (site / "p.pth").write_text(f"import sys; sys.path.append({word!r})\n", "utf-8")
    assert word not in find_subject(root, python=None, env={}, sandbox=sandbox).source_roots


@pytest.mark.skipif(sys.platform != "linux", reason="only Linux has sandboxes to ask in")
def test_a_pytest_that_is_the_project_is_asked_in_a_sandbox(
    sandbox: Sandbox, tmp_path: Path, tmp_path_factory: pytest.TempPathFactory
) -> None:
    mark = _open_folder(tmp_path_factory) / "ran"
    (tmp_path / "pytest.py").write_text(
        f"__version__ = '7.1'\ntry: open({str(mark)!r}, 'w').close()\nexcept OSError: pass\n",
        "utf-8",
    )
    assert find_subject(tmp_path, python=None, env={}, sandbox=sandbox).pytest_version == (7, 1)
    assert not mark.exists()
