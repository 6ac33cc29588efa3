"""``study.toml``: the bugs of a study, and all that its results depend on besides them."""

from __future__ import annotations

import tomllib
from pathlib import Path
from typing import Literal

import msgspec

from pytest_brt.errors import UsageProblem
from pytest_brt.evaluate.environments import Environment
from pytest_brt.evaluate.record import Stage

#: What of the true fix can be given away.
Given = Literal["files", "test-file", "place", "tests", "plausible-tests"]
#: A part of repairagent that can be switched off.
Part = Literal["search", "states", "memory", "place"]

#: Keys that pytest's options have too, and how the option is called.
_OPTIONS = {
    "strategies": "strategy",
    "model": "model",
    "edit_model": "edit_model",
    "samples": "samples",
    "steps": "steps",
    "agree": "agree",
    "budget": "budget",
    "seed": "seed",
    "keep": "keep",
    "repeat": "repeat",
    "guard": "guard",
    "repair_strategies": "repair_strategy",
    "variants": "variants",
    "without": "without",
}


class StudyFile(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A study, as its file has it. What is None there is left to pytest's options."""

    #: A ``*.jsonl`` file in SWE-bench's format, or a folder of bugs; paths start at the file.
    dataset: str
    #: Folder for what is found; "" is ``brt-results/`` and the name of the file.
    results: str = ""
    #: Folder of local clones, as in DIR/owner/name.
    repos: str = ""
    #: Patches of other systems, as in ``all_preds.jsonl`` or ``preds.json``.
    predictions: tuple[str, ...] = ()
    #: How bugs are run: by "default", "owner/name", "owner/name@version", or a bug's name. The file
    #: may name another one that has these tables.
    environments: dict[str, Environment] = {}  # msgspec copies it
    #: What is done with each bug; the first stage always is.
    stages: tuple[Stage, ...] = (Stage.REPRODUCE, Stage.RANK)
    #: What of the true fix is given away: the files that it changes, the file of its tests; to
    #: repairs also its lines, its tests in place of those that were made, or those of them alone
    #: that are plausible.
    given: tuple[Given, ...] = ()

    strategies: tuple[str, ...] | None = None
    model: str | None = None
    edit_model: str | None = None
    samples: int | None = None
    steps: int | None = None
    agree: int | None = None
    #: As in "15m", or seconds.
    budget: str | float | None = None
    seed: int | None = None
    keep: int | None = None
    repeat: int | None = None
    #: "auto", "no", or seconds.
    guard: str | float | None = None
    repair_strategies: tuple[str, ...] | None = None
    variants: int | None = None
    #: Parts of repairagent that are switched off, a list for each further way beside the whole.
    without: tuple[tuple[Part, ...], ...] | None = None

    @property
    def options(self) -> dict[str, object]:
        """What the file says in place of pytest's options, by their names."""
        said = {option: getattr(self, key) for key, option in _OPTIONS.items()}
        return {option: value for option, value in said.items() if value is not None}


def read_study_file(path: Path) -> StudyFile:
    """Return the study that `path` is about, with absolute paths.

    A data set in its place is a study of it with the defaults.

    Raises:
        UsageProblem: it cannot be read, lacks a key, or has one that is not known or has another
            kind of value.
    """
    if path.suffix != ".toml":
        return StudyFile(dataset=str(path.absolute()))
    value = _read_tables(path)
    tables = value.get("environments", {})
    file = path
    if isinstance(tables, str):
        file = path.absolute().parent / tables
        tables = _read_tables(file)
    try:
        study = msgspec.convert({**value, "environments": tables}, type=StudyFile)
    except msgspec.ValidationError as error:
        raise UsageProblem(f"study: {str(path)!r}: {error}") from None
    for table in study.environments.values():
        if "/" in table.python:
            # Not resolved further: an environment's interpreter is a link that must stay one.
            table.python = str(file.absolute().parent / table.python)
    here = path.absolute().parent
    return msgspec.structs.replace(
        study,
        dataset=str(here / study.dataset),
        results=str(here / study.results) if study.results else "",
        repos=str(here / study.repos) if study.repos else "",
        predictions=tuple(str(here / name) for name in study.predictions),
    )


def _read_tables(path: Path) -> dict[str, object]:
    try:
        data = path.read_bytes()
        if path.suffix == ".json":
            return msgspec.json.decode(data, type=dict[str, object])
        return tomllib.loads(data.decode("utf-8"))
    except OSError as error:
        raise UsageProblem(f"study: {str(path)!r}: {error.strerror}") from None
    except (ValueError, msgspec.MsgspecError) as error:
        raise UsageProblem(f"study: {str(path)!r}: {error}") from None
