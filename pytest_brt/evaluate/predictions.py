"""Candidate patches that other systems wrote, in the formats that they publish."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

import msgspec

from pytest_brt.errors import UsageProblem


@dataclass(frozen=True, slots=True, kw_only=True)
class Prediction:
    """One candidate patch."""

    instance: str
    #: Unique among those of the instance, as in "c03".
    name: str
    system: str
    text: str
    #: Whether it passes the hidden tests, where the file says so.
    plausible: bool | None = None


class _Row(msgspec.Struct):
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
        for row in _rows(path):
            if not (row.model_patch or "").strip():
                continue
            pool = found.setdefault(row.instance_id, [])
            pool.append(
                Prediction(
                    instance=row.instance_id,
                    name=f"c{len(pool):02}",
                    system=row.model_name_or_path,
                    text=row.model_patch or "",
                    plausible=row.plausible,
                )
            )
    return {name: tuple(pool) for name, pool in found.items()}


def _rows(path: Path) -> list[_Row]:
    try:
        data = path.read_bytes()
    except OSError as error:
        raise UsageProblem(f"--brt-predictions: {str(path)!r}: {error.strerror}") from None
    try:
        if path.suffix == ".jsonl":
            lines = [line for line in data.splitlines() if line.strip()]
            rows = [msgspec.json.decode(line, type=_Row) for line in lines]
        elif data.lstrip().startswith(b"["):
            rows = msgspec.json.decode(data, type=list[_Row])
        else:
            named = msgspec.json.decode(data, type=dict[str, _Row])
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
