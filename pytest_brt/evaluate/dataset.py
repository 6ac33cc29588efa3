"""The bugs of a study: a file in SWE-bench's format, or a folder of one's own bugs.

What judges (the true fix, the hidden tests) is kept apart from what the tool is given (the
report and the tree) by `study`, not here.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path

import msgspec

from pytest_brt.errors import UsageProblem
from pytest_brt.sandbox.shown import is_below, shows_too_much


@dataclass(frozen=True, slots=True, kw_only=True)
class Prediction:
    """One candidate patch."""

    #: Unique among those of the bug, as in "c03".
    name: str
    #: Who wrote it; "" for a patch that comes with the bug.
    system: str = ""
    text: str
    #: Whether it passes the hidden tests, where the file says so.
    plausible: bool | None = None


class Instance(msgspec.Struct, frozen=True, kw_only=True):
    """One bug; a line of a SWE-bench file has these fields by other names, and more."""

    id: str = msgspec.field(name="instance_id")
    #: "owner/name", or the folder's name for one's own bugs.
    repo: str
    version: str = ""
    #: Commit of the buggy tree in a clone of `repo`; "" where `tree` is given.
    base_commit: str = ""
    #: Absolute path of the buggy tree, or "".
    tree: str = ""
    #: The report.
    issue: str = msgspec.field(name="problem_statement")
    #: The true fix, and the hidden tests, as diffs.
    patch: str
    test_patch: str = ""
    #: Names of hidden tests, as pytest's node ids. Without names, the tests of `test_patch`
    #: that fail without the fix and pass with it. Published files have a JSON list in a string.
    fail_to_pass: tuple[str, ...] | str = msgspec.field(name="FAIL_TO_PASS", default=())
    pass_to_pass: tuple[str, ...] | str = msgspec.field(name="PASS_TO_PASS", default=())
    #: Candidate patches that come with the bug.
    candidates: tuple[Prediction, ...] = ()
    #: What the data set itself says of its environment.
    environment: str = msgspec.field(name="env", default="")
    pythonpath: tuple[str, ...] = ()
    env: dict[str, str] = msgspec.field(name="envvars", default_factory=dict)

    def __post_init__(self) -> None:
        """Refuse names that are no list."""
        _names(self.fail_to_pass)
        _names(self.pass_to_pass)

    @property
    def failing(self) -> tuple[str, ...]:
        """Names of the hidden tests that fail on the bug."""
        return _names(self.fail_to_pass)

    @property
    def passing(self) -> tuple[str, ...]:
        """Names of the hidden tests that pass on the bug."""
        return _names(self.pass_to_pass)


def _names(value: tuple[str, ...] | str) -> tuple[str, ...]:
    if isinstance(value, str):
        return msgspec.json.decode(value or "[]", type=tuple[str, ...])
    return value


def read_dataset(path: Path) -> tuple[Instance, ...]:
    """Return the bugs of a ``*.jsonl`` file, or of a folder that has a folder for each.

    Raises:
        UsageProblem: it cannot be read, a line is not a bug, or two have the same name.
    """
    if path.is_dir():
        found = _read_folder(path)
    elif path.is_file():
        found = _read_file(path)
    else:
        raise UsageProblem(f"study: no such file or folder: {str(path)!r}")
    folder = path if path.is_dir() else path.parent
    seen: set[str] = set()
    for instance in found:
        tree = os.path.realpath(instance.tree)
        is_inside = is_below(tree, os.path.realpath(folder))
        if instance.tree and (not is_inside or shows_too_much(tree)):
            raise UsageProblem(
                f"study: the tree of {instance.id!r} is outside of the data set's folder, or "
                f"hidden: {instance.tree!r} (copy it into that folder)"
            )
        if instance.id in seen:
            raise UsageProblem(f"study: two bugs are called {instance.id!r}")
        if not instance.id or any(mark in instance.id for mark in ("::", "[", "/")):
            raise UsageProblem(
                f"study: a bug cannot be called {instance.id!r} (pytest would read "
                "'::', '[' and '/' as parts of a test's name)"
            )
        seen.add(instance.id)
    return found


def _read_file(path: Path) -> tuple[Instance, ...]:
    found = []
    for number, line in enumerate(path.read_bytes().splitlines(), 1):
        if not line.strip():
            continue
        try:
            found.append(msgspec.json.decode(line, type=Instance))
        except msgspec.DecodeError as error:
            raise UsageProblem(
                f"study: {path.name}:{number}: {error} (expected a bug in SWE-bench's format)"
            ) from None
    if not found:
        raise UsageProblem(f"study: no bug in {str(path)!r}")
    return tuple(found)


def _read_folder(folder: Path) -> tuple[Instance, ...]:
    """Return one's own bugs: a folder each, with issue.md, tree/, fix.diff and tests.diff.

    ``candidates/*.diff`` are the patches to rank, when there are any.
    """
    places = sorted(place for place in folder.iterdir() if (place / "issue.md").is_file())
    if not places:
        raise UsageProblem(
            f"study: no bug in {str(folder)!r} (each is a folder with issue.md, tree/, "
            "fix.diff, and tests.diff for the tests that the fix mends)"
        )
    return tuple(_own(place) for place in places)


def _own(place: Path) -> Instance:
    for name in ("tree", "fix.diff"):
        if not (place / name).exists():
            raise UsageProblem(f"study: {str(place)!r} has no {name!r}")
    texts: Mapping[str, str] = {
        name: (place / name).read_text("utf-8", "surrogateescape")
        for name in ("issue.md", "fix.diff", "tests.diff")
        if (place / name).is_file()
    }
    diffs = sorted((place / "candidates").glob("*.diff"))
    return Instance(
        id=place.name,
        repo=place.parent.name,
        tree=str((place / "tree").resolve()),
        issue=texts["issue.md"],
        patch=texts["fix.diff"],
        test_patch=texts.get("tests.diff", ""),
        candidates=tuple(
            Prediction(name=path.name, text=path.read_text("utf-8", "surrogateescape"))
            for path in diffs
        ),
    )


class _Predicted(msgspec.Struct):
    """A prediction as SWE-bench's harness takes it."""

    instance_id: str = ""
    model_name_or_path: str = ""
    model_patch: str | None = ""
    plausible: bool | None = None


def read_predictions(paths: Iterable[Path]) -> dict[str, tuple[Prediction, ...]]:
    """Return the candidate patches of each instance, in the order of the files.

    A file is JSON lines (``all_preds.jsonl``), a JSON list, or a JSON object by instance
    (``preds.json``). Empty patches are no candidates: their system gave up.

    Raises:
        UsageProblem: a file cannot be read, or a row is not a prediction.
    """
    found: dict[str, list[Prediction]] = {}
    for path in paths:
        for row in _predicted(path):
            if not (row.model_patch or "").strip():
                continue
            pool = found.setdefault(row.instance_id, [])
            pool.append(
                Prediction(
                    name=f"c{len(pool):02}",
                    system=row.model_name_or_path,
                    text=row.model_patch or "",
                    plausible=row.plausible,
                )
            )
    return {name: tuple(pool) for name, pool in found.items()}


def _predicted(path: Path) -> list[_Predicted]:
    try:
        data = path.read_bytes()
        if path.suffix == ".jsonl":
            data = b"[" + b",".join(line for line in data.splitlines() if line.strip()) + b"]"
        found = msgspec.json.decode(data, type=list[_Predicted] | dict[str, _Predicted])
    except OSError as error:
        raise UsageProblem(f"predictions: {str(path)!r}: {error.strerror}") from None
    except msgspec.DecodeError as error:
        raise UsageProblem(
            f"predictions: {str(path)!r}: {error} (expected rows with instance_id and model_patch)"
        ) from None
    if isinstance(found, dict):
        return [msgspec.structs.replace(row, instance_id=name) for name, row in found.items()]
    if any(not row.instance_id for row in found):
        raise UsageProblem(f"predictions: {str(path)!r}: a row without instance_id")
    return found
