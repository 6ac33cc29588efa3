"""What is kept between runs; only things that may vanish live here."""

from __future__ import annotations

import hashlib
import os
import tempfile
from dataclasses import dataclass, replace
from pathlib import Path

from pytest_brt.codec import from_json, to_json
from pytest_brt.errors import StoreProblem
from pytest_brt.types import Cost, JudgedTest, Rank

#: Files of what was kept: the tests that were written last, and the last ranking.
WRITTEN = "last-run.json"
RANKED = "last-ranking.json"
_SCHEMA = 2


@dataclass(frozen=True, slots=True, kw_only=True)
class LastRun:
    """The tests of the last run, so that patches can be ranked by them later; or a ranking."""

    schema: int = _SCHEMA
    tests: tuple[JudgedTest, ...]
    #: Of patches by these tests, best first.
    ranks: tuple[Rank, ...] = ()
    #: What they were made from, and when, as in "issue.md, 2026-01-31 12:00".
    about: str = ""
    #: SHA-256 of the rest, as `to_json` writes it.
    digest: str = ""


def save_last_run(folder: Path, last: LastRun, name: str = WRITTEN) -> None:
    """Keep `last` in `folder` as `name`, in place of that of the run before.

    Raises:
        StoreProblem: the folder cannot be written.
    """
    write_text(folder / name, to_json(replace(last, digest=_digest(last))))


def load_last_run(folder: Path, name: str = WRITTEN) -> LastRun:
    """Return what `save_last_run` kept; no tests when there is none of this version.

    Raises:
        StoreProblem: the file is damaged, or was changed since it was written; it says which,
            so that it can be deleted.
    """
    path = folder / name
    if not path.exists():
        return LastRun(tests=())
    try:
        last = from_json(path.read_bytes(), LastRun)
    except (OSError, StoreProblem) as error:
        raise StoreProblem(f"cannot read {str(path)!r}: {error} (delete it)") from error
    if last.schema != _SCHEMA:
        return LastRun(tests=())
    if last.digest != _digest(last):
        raise StoreProblem(f"{str(path)!r} is not what was written: it is not used (delete it)")
    return last


def _digest(last: LastRun) -> str:
    text = to_json(replace(last, digest=""))
    return hashlib.sha256(text.encode("utf-8", "surrogateescape")).hexdigest()


@dataclass(frozen=True, slots=True, kw_only=True)
class Spent:
    """What was spent on each model in earlier runs, by the model's name."""

    schema: int = 1
    models: dict[str, Cost]


def add_spent(folder: Path, model: str, cost: Cost) -> None:
    """Add what one run spent on a model, so that the next one knows how fast it is here.

    Raises:
        StoreProblem: the folder cannot be written.
    """
    models = {**_read_spent(folder), model: load_spent(folder, model) + cost}
    write_text(folder / "spent.json", to_json(Spent(models=models)))


def load_spent(folder: Path, model: str) -> Cost:
    """Return what earlier runs spent on a model; nothing when that is not known."""
    return _read_spent(folder).get(model, Cost())


def _read_spent(folder: Path) -> dict[str, Cost]:
    try:
        return from_json((folder / "spent.json").read_bytes(), Spent).models
    except (OSError, StoreProblem):
        return {}  # it may vanish, and is only for an estimate


def write_text(path: Path, text: str) -> None:
    """Write `text` to `path`; see `write_bytes`."""
    write_bytes(path, text.encode("utf-8", "surrogateescape"))


def write_bytes(path: Path, data: bytes) -> None:
    """Write `data` to `path` whole or not at all, so that a full disk loses nothing.

    Raises:
        StoreProblem: it cannot be written; an earlier file at `path` is as it was.
    """
    name = None
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        mode = path.stat().st_mode if path.exists() else 0o644
        handle, name = tempfile.mkstemp(dir=path.parent, prefix=f".{path.name}.")
        with os.fdopen(handle, "wb") as file:
            file.write(data)
        Path(name).chmod(mode)
        Path(name).replace(path)
    except OSError as error:
        if name:
            Path(name).unlink(missing_ok=True)
        raise StoreProblem(f"cannot write {str(path)!r}: {error.strerror}") from error
