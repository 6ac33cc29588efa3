"""The folder with the user's models, and the list of models worth having."""

from __future__ import annotations

import hashlib
import os
import shutil
import tomllib
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

import platformdirs

from pytest_brt.codec import from_json, to_json
from pytest_brt.errors import ModelProblem, StoreProblem
from pytest_brt.model.gguf import read_header

#: Names the folder with models.
VARIABLE = "PYTEST_BRT_MODELS"


@dataclass(frozen=True, slots=True, kw_only=True)
class Known:
    """What was found out about a model file when it was added or last verified."""

    sha256: str
    size: int
    mtime_ns: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Entry:
    """A model worth having, from the catalogue."""

    name: str
    #: What it is for, as in "cpu-16gb".
    tier: str
    licence: str
    parameters: str
    context: int
    #: As a source states it, with the quantisation.
    size: str
    template: str
    notes: str
    #: Pages the facts were read on.
    sources: tuple[str, ...]


def models_folder(chosen: str = "", env: Mapping[str, str] = os.environ) -> Path:
    """Return the folder of models: `chosen`, else PYTEST_BRT_MODELS, else the user's data."""
    named = chosen or env.get(VARIABLE, "")
    if named:
        return Path(named).expanduser()
    try:
        data = platformdirs.user_data_dir("pytest-brt")
    except RuntimeError:  # a user without a home: HOME is not set, and nobody knows the number
        data = platformdirs.site_data_dir("pytest-brt")
    return Path(data) / "models"


def model_files(folder: Path) -> tuple[Path, ...]:
    """Return the GGUF files in `folder`, by name."""
    return tuple(sorted(folder.glob("*.gguf"))) if folder.is_dir() else ()


def find_model(name: str, folder: Path) -> Path:
    """Return the file that `name` means: a path, or a name in `folder`, whole or its beginning.

    Raises:
        ModelProblem: nothing is called so, or more than one file.
    """
    path = Path(name).expanduser()
    if path.exists() or os.sep in name or (path.suffix == ".gguf" and not (folder / name).exists()):
        return path  # read_header says what is wrong with it
    files = model_files(folder)
    exact = [file for file in files if name in (file.name, file.stem)]
    found = exact or [file for file in files if file.name.lower().startswith(name.lower())]
    if len(found) == 1:
        return found[0]
    known = ", ".join(file.stem for file in found or files) or "none yet"
    what = "more than one model is" if found else "no model is"
    raise ModelProblem(
        f"{what} called {name!r} in {str(folder)!r}: {known} "
        "(run 'pytest-brt models add FILE', or name a file)"
    )


def add_model(file: Path, folder: Path, *, link: bool) -> Path:
    """Put the model `file` into `folder`, copied or linked, with its digest beside it.

    Raises:
        ModelProblem: it is no whole model, there is one of that name, or no room.
    """
    header = read_header(file)
    if header.keys.get("split.count", 1) not in (0, 1):
        raise ModelProblem(
            f"{str(file)!r} is one of several parts (join them first: "
            "llama-gguf-split --merge FIRST-PART OUT.gguf)"
        )
    target = folder / file.name
    if target.exists() or target.is_symlink():
        raise ModelProblem(f"there is a model of that name already: {str(target)!r} (remove it)")
    part = target.with_name(f"{target.name}.part")
    try:
        folder.mkdir(parents=True, exist_ok=True)
        if link:
            target.symlink_to(file.resolve())
        else:
            free = shutil.disk_usage(folder).free
            if free < header.size:
                raise ModelProblem(
                    f"{str(folder)!r} has {free} bytes free and the model needs {header.size} "
                    "(use --link, or another folder: PYTEST_BRT_MODELS)"
                )
            shutil.copyfile(file, part)
            part.replace(target)
    except OSError as error:
        with suppress(OSError):
            part.unlink()
        raise ModelProblem(f"cannot write to {str(folder)!r}: {error.strerror}") from error
    _remember(target, _digest(target))
    return target


def verify_model(file: Path) -> tuple[str, bool]:
    """Return the SHA-256 of `file` and whether one was known before; reads all of it.

    Raises:
        ModelProblem: it is damaged: its digest is not the one it had when it was added.
    """
    read_header(file)
    digest = _digest(file)
    known = known_facts(file)
    if known is not None and known.sha256 != digest:
        raise ModelProblem(
            f"{str(file)!r} is damaged or was replaced: its SHA-256 is {digest} and was "
            f"{known.sha256} when it was added (copy or download it again)"
        )
    _remember(file, digest)
    return digest, known is not None


def check_unchanged(file: Path) -> str:
    """Return a remark when `file` is not what was added, by size and time, or "".

    Flipped bytes are seen by `verify_model` only: llama.cpp loads them and talks nonsense.
    """
    known = known_facts(file)
    if known is None:
        return ""
    stat = file.stat()
    if (stat.st_size, stat.st_mtime_ns) == (known.size, known.mtime_ns):
        return ""
    return f"{file.name} has changed since it was added (run 'pytest-brt models verify')"


def known_facts(file: Path) -> Known | None:
    """Return what was noted about `file`, or None when nothing was."""
    try:
        return from_json(_notes(file).read_bytes(), Known)
    except (OSError, StoreProblem):
        return None


def _notes(file: Path) -> Path:
    return file.with_name(f"{file.name}.json")


def _remember(file: Path, digest: str) -> None:
    stat = file.stat()
    facts = Known(sha256=digest, size=stat.st_size, mtime_ns=stat.st_mtime_ns)
    with suppress(OSError):  # a read-only folder: verified, but not noted
        _notes(file).write_text(to_json(facts, indent=2) + "\n", encoding="utf-8")


def _digest(file: Path) -> str:
    try:
        with file.open("rb") as data:
            return hashlib.file_digest(data, "sha256").hexdigest()
    except OSError as error:
        raise ModelProblem(f"cannot read {str(file)!r}: {error.strerror}") from error


def catalogue_path() -> Path:
    """Return the file that lists the models worth having.

    Raises:
        ModelProblem: it is missing.
    """
    for path in (
        Path(__file__).with_name("catalogue.toml"),
        Path(__file__).parents[2] / "models" / "catalogue.toml",
    ):
        if path.is_file():
            return path
    raise ModelProblem("the catalogue of models is missing (install pytest-brt again)")


def read_catalogue() -> tuple[Entry, ...]:
    """Return the models worth having, as they stand in the catalogue of this version."""
    data = tomllib.loads(catalogue_path().read_text(encoding="utf-8"))
    return tuple(Entry(**{**entry, "sources": tuple(entry["sources"])}) for entry in data["model"])
