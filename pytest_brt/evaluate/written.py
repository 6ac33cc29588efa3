"""The files of a finished study, and the lines for the terminal."""

from __future__ import annotations

from pathlib import Path

from pytest_brt.codec import from_json, to_json
from pytest_brt.errors import StoreProblem, UsageProblem
from pytest_brt.evaluate.record import StudyResult
from pytest_brt.evaluate.tables import tables_of, text_of
from pytest_brt.store import write_text

NAME = "result.json"


def write_study(result: StudyResult, folder: Path) -> list[str]:
    """Write ``result.json`` and return what is shown of it.

    Raises:
        StoreProblem: the folder cannot be written.
    """
    write_text(folder / NAME, to_json(result, indent=1) + "\n")
    lines = [line for table in tables_of(result) for line in text_of(table)]
    return [*lines, f"result: {folder / NAME}"]


def read_study(folder: Path) -> StudyResult:
    """Return the study whose results are in `folder`.

    Raises:
        UsageProblem: there is none, or another version wrote it.
    """
    path = folder / NAME
    try:
        return from_json(path.read_bytes(), StudyResult)
    except OSError as error:
        raise UsageProblem(f"no study in {str(folder)!r}: {error.strerror}") from None
    except StoreProblem as error:
        raise UsageProblem(f"cannot read {str(path)!r}: {error}") from None
