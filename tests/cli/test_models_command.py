from __future__ import annotations

import argparse
import re
import sys
from pathlib import Path

import pytest

from pytest_brt.cli import models
from pytest_brt.errors import BrtError, ModelProblem
from pytest_brt.model import tiny
from pytest_brt.model.base import Settings
from pytest_brt.model.doctor import Check, State, examine, sound
from pytest_brt.model.local import open_gguf
from tests.llama import needs_llama


def call(folder: Path, *words: str) -> int:
    parser = argparse.ArgumentParser()
    models.register(parser.add_subparsers())
    arguments = parser.parse_args(["models", "--folder", str(folder), *words])
    return int(arguments.command(arguments))


@pytest.fixture
def file(tmp_path: Path) -> Path:
    """A tiny model outside the folder."""
    return tiny.write_llama(tmp_path / "tiny.gguf")


def test_a_model_from_file_to_use(
    file: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    folder = tmp_path / "models"
    assert call(folder) == 0
    assert "no models in" in capsys.readouterr().out
    assert call(folder, "add", str(file)) == 0
    assert "--brt-model gguf:tiny" in capsys.readouterr().out
    assert call(folder, "list") == 0
    out = capsys.readouterr().out
    assert "tiny: llama, F32, 0.4 MiB" in out
    assert "worth having" in out
    assert call(folder, "verify", "tiny") == 0
    assert "unchanged since it was added" in capsys.readouterr().out


def test_info_says_what_it_needs(
    file: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert call(tmp_path, "info", str(file)) == 0
    out = capsys.readouterr().out
    assert "256 bytes of context memory" in out
    assert "works; does not think" in out
    assert "trained for 4096 tokens" in out
    with pytest.raises(BrtError, match="trained for 4096"):
        call(tmp_path, "info", str(file), "--context", "100000")


def test_info_of_a_model_without_a_template(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    file = tiny.write_llama(tmp_path / "m.gguf", words=tiny.vocabulary(template=""))
    assert call(tmp_path, "info", str(file)) == 0
    assert "+template:FILE" in capsys.readouterr().out


def test_a_broken_model_in_the_folder_does_not_hide_the_others(
    file: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "broken.gguf").write_bytes(b"GGUF")
    assert call(tmp_path, "list") == 0
    out = capsys.readouterr().out
    assert "broken: the model file ends too early" in out
    assert "tiny: llama" in out


@pytest.mark.parametrize("action", ["info", "verify", "bench"])
def test_a_model_that_is_not_there(action: str, tmp_path: Path) -> None:
    with pytest.raises(ModelProblem, match="no model is called 'x'"):
        call(tmp_path, action, "x")


@needs_llama
def test_doctor_generates_in_a_child(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert call(tmp_path / "missing" / "folder", "doctor") == 0
    out = capsys.readouterr().out
    for name in ("llama-cpp-python", "generation", "GPU", "processor", "memory", "sandbox"):
        assert f" {name} " in out
    assert re.search(r"(ok|note) +generation +works[,;]", out)


def test_doctor_fails_when_a_check_does(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "llama_cpp", None)
    checks = {check.name: check for check in examine(tmp_path)}
    assert checks["generation"].state is State.FAIL
    assert "pytest-brt[llama]" in checks["generation"].text
    assert "--no-index" in checks["generation"].text
    assert not sound(checks.values())
    assert sound([Check(name="x", state=State.NOTE, text="")])


def test_without_llama_cpp_python_both_ways_to_install_it_are_named(
    file: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "llama_cpp", None)
    with pytest.raises(ModelProblem, match=r"not installed \(pip install .*--no-index"):
        open_gguf(str(file), Settings())


@needs_llama
def test_bench_prints_its_figures(
    file: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert call(tmp_path, "bench", str(file)) == 0
    out = capsys.readouterr().out
    for word in ("reading", "writing 1 ", "writing 16", "with a grammar", "memory"):
        assert word in out
