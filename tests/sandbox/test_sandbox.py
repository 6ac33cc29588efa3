"""Which sandbox is taken, and what is said where there is none."""

from __future__ import annotations

import os
import sys
import tempfile
from pathlib import Path
from venv import EnvBuilder

import pytest

from pytest_brt.errors import SandboxProblem, UsageProblem
from pytest_brt.sandbox.sandbox import Isolation, open_sandbox
from pytest_brt.sandbox.statements import ask_interpreter
from pytest_brt.types import Subject


def test_bubblewrap_is_taken_where_it_runs() -> None:
    sandbox = open_sandbox("auto")
    assert sandbox.isolation is Isolation.BUBBLEWRAP
    assert sandbox.remarks == ()


def test_without_bubblewrap_it_is_landlock_and_said_why(monkeypatch: pytest.MonkeyPatch) -> None:
    with tempfile.TemporaryDirectory() as folder:
        Path(folder).chmod(0o755)
        for name in ("env", "setpriv"):
            Path(folder, name).symlink_to(f"/usr/bin/{name}")
        monkeypatch.setenv("PATH", folder)
        sandbox = open_sandbox("auto")
    assert sandbox.isolation is Isolation.LANDLOCK
    assert sandbox.remarks == ("no bubblewrap: bubblewrap is not installed",)


def test_the_words_of_a_bubblewrap_that_fails_are_kept(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    program = tmp_path / "bwrap"
    program.write_text("#!/bin/sh\necho 'bwrap: setting up uid map: denied' >&2\nexit 1\n", "utf-8")
    program.chmod(0o755)
    monkeypatch.setenv("PATH", f"{tmp_path}:/usr/bin:/bin")
    with pytest.raises(SandboxProblem, match=r"setting up uid map: denied.*--brt-sandbox none"):
        open_sandbox("bubblewrap")


def test_a_network_that_is_not_known_is_named() -> None:
    with pytest.raises(UsageProblem, match="'some'"):
        open_sandbox("auto", net="some")


@pytest.mark.skipif(os.geteuid() != 0, reason="only root's tests run as somebody else")
def test_an_environment_in_a_folder_that_is_roots_alone_is_used(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As tox's is, in a checkout that our interpreter imports from."""
    environment = tmp_path / "checkout/.tox/py"
    EnvBuilder(symlinks=True).create(environment)
    packages = Path(pytest.__file__).parents[1]
    (site,) = environment.glob("lib/python3*/site-packages")
    (site / "ours.pth").write_text(f"{packages}\n", "utf-8")
    (tmp_path / "checkout/.tox").chmod(0o700)
    python = str(environment / "bin/python")
    monkeypatch.setattr(sys, "executable", python)
    monkeypatch.syspath_prepend(tmp_path / "checkout")
    subject = Subject(root=str(tmp_path / "project"), python=python)
    Path(subject.root).mkdir()
    sandbox = open_sandbox("bubblewrap", shown=[str(packages)])
    assert ask_interpreter(subject, sandbox).version == "{}.{}".format(*sys.version_info)
