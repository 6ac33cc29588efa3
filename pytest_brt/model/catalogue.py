"""Where models lie: the user's folder, other programs' caches, and those worth having."""

from __future__ import annotations

import hashlib
import os
import shutil
import tomllib
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from datetime import date, timedelta
from pathlib import Path

import msgspec
import platformdirs

from pytest_brt.codec import from_json
from pytest_brt.errors import ModelProblem, StoreProblem
from pytest_brt.model.gguf import is_later_part, parts_of, read_header

#: Memory for the context of a model and the buffers of one pass.
_CONTEXT_BYTES = 1_500_000_000
#: What Ollama calls the layer of a manifest that is the model.
_MODEL_LAYER = "application/vnd.ollama.image.model"


@dataclass(frozen=True, slots=True, kw_only=True)
class CachedModel:
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


def cached_models() -> tuple[CachedModel, ...]:
    """Return the models in the caches of other programs, by owner and name."""
    env = os.environ
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


def _files(folder: Path, owner: str, pattern: str) -> Iterator[CachedModel]:
    for path in sorted(folder.glob(pattern)):
        if path.is_file() and not is_later_part(path) and "mmproj" not in path.name.lower():
            yield CachedModel(name=path.stem, path=path, owner=owner)


def _ollama(folder: Path) -> Iterator[CachedModel]:
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
                yield CachedModel(name=name, path=blob, owner="Ollama")


@dataclass(frozen=True, slots=True, kw_only=True)
class CatalogueEntry:
    """A model worth having, from the catalogue."""

    name: str
    #: What it is for, as in "cpu-16gb".
    tier: str
    licence: str
    parameters: str
    #: Where a file of it is, what that is called and how large it is.
    repository: str
    file: str
    size: str
    #: The first of the sizes, in 10⁹ bytes.
    gigabytes: float
    #: The day on which the sources were read.
    checked: date
    #: "no", "yes" (can be switched) or "always".
    thinks: str

    def is_old(self, today: date) -> bool:
        """Whether it was checked more than a year ago: there are better models by then."""
        return today - self.checked > timedelta(days=365)

    def fits(self, memory: int) -> bool:
        """Whether the file and a context of some thousand tokens fit `memory`, in bytes."""
        return self.gigabytes * 1e9 + _CONTEXT_BYTES <= memory


def models_folder(chosen: str = "", env: Mapping[str, str] = os.environ) -> Path:
    """Return the folder of models: `chosen`, else PYTEST_BRT_MODELS, else the user's data."""
    named = chosen or env.get("PYTEST_BRT_MODELS", "")
    if named:
        return Path(named).expanduser()
    try:
        data = platformdirs.user_data_dir("pytest-brt")
    except RuntimeError:  # a user without a home: HOME is not set, and nobody knows the number
        data = platformdirs.site_data_dir("pytest-brt")
    return Path(data) / "models"


def model_files(folder: Path) -> tuple[Path, ...]:
    """Return the models in `folder`, by name; of one in several parts the first."""
    return tuple(file for file in sorted(folder.glob("*.gguf")) if not is_later_part(file))


def find_model(name: str, folder: Path) -> Path:
    """Return the file that `name` means.

    A path; the name of a model in `folder` or in another program's cache, whole or its
    beginning, in that order.

    Raises:
        ModelProblem: nothing is called so, or more than one file.
    """
    path = Path(name).expanduser()
    if path.exists() or (path.suffix == ".gguf" and not (folder / name).exists()):
        return path  # read_header says what is wrong with it
    own = {file: file.stem for file in model_files(folder)}
    others = {found.path: found.name for found in cached_models()}
    for known in (own, others):
        wanted = name.lower().removesuffix(".gguf")
        exact = [file for file, called in known.items() if called.lower() == wanted]
        starts = [file for file, called in known.items() if called.lower().startswith(wanted)]
        found = exact or starts
        if len(found) == 1:
            return found[0]
        if found:
            names = ", ".join(known[file] for file in found)
            raise ModelProblem(f"more than one model is called {name!r}: {names} (say more of it)")
    if os.sep in name:
        return path
    names = ", ".join([*own.values(), *others.values()]) or "none yet"
    raise ModelProblem(
        f"no model is called {name!r} in {str(folder)!r}: {names} "
        "(run 'pytest-brt models add FILE', or name a file)"
    )


def add_model(file: Path, folder: Path, *, link: bool) -> tuple[Path, ...]:
    """Put the model `file` into `folder`, copied or linked; return its parts there.

    Of a model in several parts the first is named, and all are taken.

    Raises:
        ModelProblem: it is no whole model, there is one of that name, or no room.
    """
    header = read_header(file)
    parts = parts_of(file)
    targets = [folder / part.name for part in parts]
    taken = next((target for target in targets if target.exists() or target.is_symlink()), None)
    if taken is not None:
        raise ModelProblem(
            f"there is a model of that name already: {str(taken)!r} (delete it first, or name "
            "the new file differently)"
        )
    try:
        folder.mkdir(parents=True, exist_ok=True)
        free = shutil.disk_usage(folder).free
        if not link and free < header.size:
            raise ModelProblem(
                f"{str(folder)!r} has {free} bytes free and the model needs {header.size} "
                "(use --link, or another folder: PYTEST_BRT_MODELS)"
            )
        for part, target in zip(parts, targets, strict=True):
            _put(part, target, link=link)
    except OSError as error:
        raise ModelProblem(f"cannot write to {str(folder)!r}: {error.strerror}") from error
    return tuple(targets)


def _put(file: Path, target: Path, *, link: bool) -> None:
    if link:
        target.symlink_to(file.resolve())
        return
    part = target.with_name(f"{target.name}.part")
    try:
        shutil.copyfile(file, part)
        part.replace(target)
    finally:
        part.unlink(missing_ok=True)


def digest_of(file: Path) -> str:
    """Return the SHA-256 of all that `file` holds.

    Raises:
        ModelProblem: it cannot be read.
    """
    try:
        with file.open("rb") as data:
            return hashlib.file_digest(data, "sha256").hexdigest()
    except OSError as error:
        raise ModelProblem(f"cannot read {str(file)!r}: {error.strerror}") from error


def catalogue_path() -> Path:
    """Return the file that lists the models worth having, of an installation or of a checkout."""
    installed = Path(__file__).with_name("catalogue.toml")
    checkout = Path(__file__).parents[2] / "models" / "catalogue.toml"
    return checkout if checkout.is_file() else installed


def read_catalogue() -> tuple[CatalogueEntry, ...]:
    """Return the models worth having, as they stand in the catalogue of this version."""
    data = tomllib.loads(catalogue_path().read_text(encoding="utf-8"))
    return msgspec.convert(data["model"], tuple[CatalogueEntry, ...])
