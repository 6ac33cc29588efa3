from __future__ import annotations

import argparse
import hashlib
import json
import re
import struct
import sys
from pathlib import Path

import pytest

from pytest_brt.cli import models
from pytest_brt.errors import ModelProblem
from pytest_brt.model.base import Settings
from pytest_brt.model.catalogue import find_model
from pytest_brt.model.opening import default_model
from tests.support import tiny
from tests.support.llama import needs_llama, open_gguf
from tests.support.tiny import Tensor, Value, write_gguf


def call(folder: Path, *words: str) -> int:
    parser = argparse.ArgumentParser()
    models.set_up(parser)
    arguments = parser.parse_args(["--folder", str(folder), *words])
    return int(arguments.command(arguments) or 0)


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
    out = capsys.readouterr().out
    assert "--brt-model gguf:tiny" in out
    digest = hashlib.sha256(file.read_bytes()).hexdigest()
    assert f"{digest}  {folder / 'tiny.gguf'}\n" in out
    assert call(folder, "list") == 0
    out = capsys.readouterr().out
    assert "tiny: llama, F32, 0.4 MiB" in out
    assert "worth having" in out


def test_a_broken_model_in_the_folder_does_not_hide_the_others(
    file: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "broken.gguf").write_bytes(b"GGUF")
    assert call(tmp_path, "list") == 0
    out = capsys.readouterr().out
    assert "broken: the model file ends too early" in out
    assert "tiny: llama" in out


def split(folder: Path, monkeypatch: pytest.MonkeyPatch) -> list[Path]:
    """Write one model in two parts, as llama-gguf-split does: the second has one tensor."""
    told: list[tuple[dict[str, Value], list[Tensor]]] = []

    def take(path: Path, keys: dict[str, Value], tensors: list[Tensor]) -> Path:
        told.append((keys, tensors))
        return path

    with monkeypatch.context() as patch:
        patch.setattr(tiny, "write_gguf", take)
        tiny.write_llama(folder / "whole.gguf")
    ((keys, tensors),) = told
    paths = []
    for number, part in enumerate((tensors[:-1], tensors[-1:])):
        path = folder / f"big-0000{number + 1}-of-00002.gguf"
        more = {"split.no": number, "split.count": 2, "split.tensors.count": len(tensors)}
        write_gguf(path, {"general.note": "", **keys, **more}, part)
        data = path.read_bytes()
        # These are numbers of 16 bits; what that saves is filled up elsewhere.
        for name, value in (("split.no", number), ("split.count", 2)):
            wide, narrow = struct.pack("<II", 4, value), struct.pack("<IH", 2, value)
            data = data.replace(name.encode() + wide, name.encode() + narrow)
        note = b"general.note" + struct.pack("<IQ", 8, 0)
        data = data.replace(note, note[:-8] + struct.pack("<Q", 4) + b"four")
        total = b"split.tensors.count"
        data = data.replace(total + struct.pack("<I", 4), total + struct.pack("<I", 5))
        path.write_bytes(data)
        paths.append(path)
    return paths


@needs_llama
def test_a_model_in_several_parts(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    first, second = split(tmp_path, monkeypatch)
    folder = tmp_path / "models"
    assert call(folder, "add", str(first), str(second)) == 0
    assert capsys.readouterr().out.count("added ") == 1
    assert {path.name for path in folder.glob("*.gguf")} == {first.name, second.name}
    assert call(folder, "list") == 0
    assert capsys.readouterr().out.count("big-00001-of-00002: llama") == 1
    model = open_gguf(str(folder / first.name), Settings(threads=1, context=512))
    assert model.count("hello") == 5
    model.close()
    with pytest.raises(ModelProblem, match="a later part of a model"):
        open_gguf(str(folder / second.name), Settings(threads=1, context=512))
    (folder / second.name).unlink()
    with pytest.raises(ModelProblem, match=r"1 of the 2 parts .* missing in .*: big-00002"):
        open_gguf(str(find_model("big", folder)), Settings(threads=1, context=512))


@needs_llama
def test_the_only_model_is_the_default(file: Path, tmp_path: Path) -> None:
    folder = tmp_path / "models"
    other = tiny.write_llama(tmp_path / "tiny2.gguf")
    assert default_model(str(folder)) == ("none", "")
    call(folder, "add", str(file))
    assert default_model(str(folder)) == (f"gguf:{folder / 'tiny.gguf'}", "")
    call(folder, "add", str(other))
    assert default_model(str(folder))[0] == "none"
    with pytest.raises(ModelProblem, match="there is a model of that name already"):
        call(folder, "add", str(file))


@needs_llama
def test_the_caches_of_others_are_found_and_left_alone(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    home = tmp_path / "home"
    for name in ("HF_HOME", "HF_HUB_CACHE", "XDG_CACHE_HOME", "OLLAMA_MODELS", "LLAMA_CACHE"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("HOME", str(home))
    hub = home / ".cache/huggingface/hub/models--owner--Small-GGUF"
    blob = hub / "blobs" / "abc"
    snapshot = hub / "snapshots" / "123" / "Small-Q4_K_M.gguf"
    studio = home / ".lmstudio/models/someone/Other-GGUF/other-q8.gguf"
    ollama = home / ".ollama/models"
    manifest = ollama / "manifests/registry.ollama.ai/library/qwen3/8b"
    for path in (blob, snapshot, studio, manifest, ollama / "blobs" / "x"):
        path.parent.mkdir(parents=True)
    tiny.write_llama(blob)
    snapshot.symlink_to(blob)
    tiny.write_llama(studio)
    tiny.write_llama(studio.with_name("mmproj-other.gguf"))
    tiny.write_llama(ollama / "blobs" / "sha256-ffff")
    layers = [
        {"mediaType": "application/vnd.ollama.image.template", "digest": "sha256:0", "size": 1},
        {"mediaType": "application/vnd.ollama.image.model", "digest": "sha256:ffff", "size": 1},
    ]
    manifest.write_text(json.dumps({"schemaVersion": 2, "layers": layers}), encoding="utf-8")
    (manifest.parent / "torn").write_text("{", encoding="utf-8")
    before = sorted(str(path) for path in home.rglob("*"))
    folder = tmp_path / "models"
    assert call(folder, "list") == 0
    out = capsys.readouterr().out
    found = re.findall(r"^  (\S+): llama, .*; (Hugging Face|LM Studio|Ollama)$", out, re.MULTILINE)
    assert found == [
        ("Small-Q4_K_M", "Hugging Face"), ("other-q8", "LM Studio"), ("qwen3:8b", "Ollama")
    ]  # fmt: skip
    assert find_model("qwen3:8b", folder) == ollama / "blobs" / "sha256-ffff"
    assert find_model("small", folder) == snapshot
    assert find_model("other", folder) == studio
    assert sorted(str(path) for path in home.rglob("*")) == before


def test_without_llama_cpp_python_both_ways_to_install_it_are_named(
    file: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "llama_cpp", None)
    with pytest.raises(ModelProblem, match=r"python is missing \(pip install .*--no-index"):
        open_gguf(str(file), Settings())
