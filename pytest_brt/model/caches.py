"""Finds the GGUF files that other programs keep: Hugging Face, Ollama, LM Studio, llama.cpp.

Their folders are only read. Ollama's files have no names of their own: its manifests tell them.
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

from pytest_brt.codec import from_json
from pytest_brt.errors import StoreProblem
from pytest_brt.model.gguf import is_later_part

#: What Ollama calls the layer of a manifest that is the model.
_MODEL_LAYER = "application/vnd.ollama.image.model"


@dataclass(frozen=True, slots=True, kw_only=True)
class Found:
    """A model file in somebody's cache."""

    #: As in "Qwen3.5-9B-Q4_K_M" or "qwen3:8b".
    name: str
    path: Path
    #: Whose it is, as in "Ollama".
    owner: str


@dataclass(frozen=True, slots=True)
class _Layer:
    digest: str
    mediaType: str  # as the manifests spell it


@dataclass(frozen=True, slots=True)
class _Manifest:
    layers: tuple[_Layer, ...]


def cached_models(env: Mapping[str, str] = os.environ) -> tuple[Found, ...]:
    """Return the models in the caches of other programs, by owner and name."""
    home = Path(env.get("HOME") or env.get("USERPROFILE") or "/nonexistent")
    cache = Path(env.get("XDG_CACHE_HOME") or home / ".cache")
    hub = Path(env.get("HF_HUB_CACHE") or Path(env.get("HF_HOME") or cache / "huggingface") / "hub")
    found = [*_files(hub, "Hugging Face", "models--*/snapshots/*/**/*.gguf")]
    found += _files(Path(env.get("LLAMA_CACHE") or cache / "llama.cpp"), "llama.cpp", "*.gguf")
    for folder in (home / ".lmstudio" / "models", cache / "lm-studio" / "models"):
        found += _files(folder, "LM Studio", "*/*/*.gguf")
    found += _ollama(Path(env.get("OLLAMA_MODELS") or home / ".ollama" / "models"))
    unique = {model.path.resolve(): model for model in found}
    return tuple(sorted(unique.values(), key=lambda model: (model.owner, model.name.lower())))


def _files(folder: Path, owner: str, pattern: str) -> Iterator[Found]:
    for path in sorted(folder.glob(pattern)):
        if path.is_file() and not is_later_part(path) and "mmproj" not in path.name.lower():
            yield Found(name=path.stem, path=path, owner=owner)


def _ollama(folder: Path) -> Iterator[Found]:
    for manifest in sorted((folder / "manifests").glob("*/*/*/*")):
        try:
            layers = from_json(manifest.read_bytes(), _Manifest).layers
        except (OSError, StoreProblem):
            continue
        for layer in layers:
            blob = folder / "blobs" / layer.digest.replace(":", "-")
            if layer.mediaType == _MODEL_LAYER and blob.is_file():
                owner, model, tag = manifest.parts[-3:]
                name = f"{model}:{tag}" if owner == "library" else f"{owner}/{model}:{tag}"
                yield Found(name=name, path=blob, owner="Ollama")
