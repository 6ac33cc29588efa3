"""The bugs of a study: a file in SWE-bench's format, or a folder of one's own bugs.

What judges (the true fix, the hidden tests) is kept apart from what the tool is given (the
report and the tree) by `study`, not here.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path

import msgspec

from pytest_brt.errors import UsageProblem


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


@dataclass(frozen=True, slots=True, kw_only=True)
class Instance:
    """One bug."""

    id: str
    #: "owner/name", or the folder's name for one's own bugs.
    repo: str
    version: str = ""
    #: Commit of the buggy tree in a clone of `repo`; "" where `tree` is given.
    base_commit: str = ""
    #: Absolute path of the buggy tree, or "".
    tree: str = ""
    #: The report.
    issue: str
    #: The true fix, and the hidden tests, as diffs.
    patch: str
    test_patch: str = ""
    #: Names of hidden tests, as pytest's node ids. Without names, the tests of `test_patch`
    #: that fail without the fix and pass with it.
    fail_to_pass: tuple[str, ...] = ()
    pass_to_pass: tuple[str, ...] = ()
    #: Candidate patches that come with the bug.
    candidates: tuple[Prediction, ...] = ()
    #: What the data set itself says of its environment.
    environment: str = ""
    pythonpath: tuple[str, ...] = ()
    env: tuple[tuple[str, str], ...] = ()


class _Row(msgspec.Struct):
    """One line of a SWE-bench file; fields that it does not know are passed over."""

    instance_id: str
    repo: str
    base_commit: str
    problem_statement: str
    patch: str
    test_patch: str = ""
    version: str = ""
    # Lists, or (as the published files have them) JSON lists in a string.
    FAIL_TO_PASS: list[str] | str = ""
    PASS_TO_PASS: list[str] | str = ""
    env: str = ""
    pythonpath: list[str] = []  # msgspec copies it
    envvars: dict[str, str] = {}


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
    seen: set[str] = set()
    for instance in found:
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
            found.append(_instance(msgspec.json.decode(line, type=_Row)))
        except msgspec.DecodeError as error:
            raise UsageProblem(
                f"study: {path.name}:{number}: {error} (expected a bug in SWE-bench's format)"
            ) from None
    if not found:
        raise UsageProblem(f"study: no bug in {str(path)!r}")
    return tuple(found)


def _instance(row: _Row) -> Instance:
    return Instance(
        id=row.instance_id,
        repo=row.repo,
        version=row.version,
        base_commit=row.base_commit,
        issue=row.problem_statement,
        patch=row.patch,
        test_patch=row.test_patch,
        fail_to_pass=_names(row.FAIL_TO_PASS),
        pass_to_pass=_names(row.PASS_TO_PASS),
        environment=row.env,
        pythonpath=tuple(row.pythonpath),
        env=tuple(sorted(row.envvars.items())),
    )


def _names(value: list[str] | str) -> tuple[str, ...]:
    if not value:
        return ()
    return tuple(msgspec.json.decode(value, type=list[str]) if isinstance(value, str) else value)


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
    except OSError as error:
        raise UsageProblem(f"--brt-predictions: {str(path)!r}: {error.strerror}") from None
    try:
        if path.suffix == ".jsonl":
            lines = [line for line in data.splitlines() if line.strip()]
            rows = [msgspec.json.decode(line, type=_Predicted) for line in lines]
        elif data.lstrip().startswith(b"["):
            rows = msgspec.json.decode(data, type=list[_Predicted])
        else:
            named = msgspec.json.decode(data, type=dict[str, _Predicted])
            rows = [
                msgspec.structs.replace(row, instance_id=row.instance_id or name)
                for name, row in named.items()
            ]
    except msgspec.DecodeError as error:
        raise UsageProblem(
            f"--brt-predictions: {str(path)!r}: {error} (expected rows with instance_id and "
            "model_patch)"
        ) from None
    if any(not row.instance_id for row in rows):
        raise UsageProblem(f"--brt-predictions: {str(path)!r}: a row without instance_id")
    return rows
