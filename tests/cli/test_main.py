"""The ``pytest-brt`` command."""

from __future__ import annotations

import subprocess
import sys

import pytest

from pytest_brt import __version__
from pytest_brt.cli.main import main


def test_version(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as end:
        main(["--version"])
    assert end.value.code == 0
    assert capsys.readouterr().out == f"pytest-brt {__version__}\n"


@pytest.mark.parametrize("arguments", [[], ["nope"], ["rank"], ["--nope", "rank", "x", "--root"]])
def test_wrong_use_is_an_error(arguments: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as end:
        main(arguments)
    assert end.value.code == 4
    assert "usage: pytest-brt" in capsys.readouterr().err


def test_help_names_every_command(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit):
        main(["--help"])
    out = capsys.readouterr().out
    assert "issue" in out
    assert "rank" in out


@pytest.mark.parametrize(
    ("command", "about"),
    [
        ("rank", "Rank patches. Further options are pytest's"),
        ("models", "Say which models there are on this machine"),
    ],
)
def test_help_of_a_command_says_what_it_does(
    command: str, about: str, capsys: pytest.CaptureFixture[str]
) -> None:
    with pytest.raises(SystemExit):
        main([command, "--help"])
    assert f"\n{about}" in capsys.readouterr().out


def test_a_reader_that_has_seen_enough_is_no_error() -> None:
    command = [sys.executable, "-m", "pytest_brt", "models"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE) as run:
        assert run.stdout
        assert run.stderr
        run.stdout.close()  # before anything is written
        assert run.stderr.read() == b""
    assert run.returncode == 141
