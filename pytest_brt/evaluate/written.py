"""The files of a finished study, and the lines for the terminal."""

from __future__ import annotations

import base64
from collections.abc import Mapping, Sequence
from pathlib import Path

from pytest_brt.codec import from_json, to_json
from pytest_brt.errors import StoreProblem, UsageProblem
from pytest_brt.evaluate.plots import draw
from pytest_brt.evaluate.record import StudyResult
from pytest_brt.evaluate.repair_tables import per_run
from pytest_brt.evaluate.table import Table, csv_of, shown, text_of
from pytest_brt.evaluate.tables import per_bug, tables_of
from pytest_brt.render.template import filled
from pytest_brt.store import write_bytes, write_text

_TEMPLATE = Path(__file__).parent / "study.html.jinja"
NAME = "result.json"


def write_study(result: StudyResult, folder: Path) -> list[str]:
    """Write the result with its tables, plots and page, and return what is shown of it.

    Raises:
        StoreProblem: the folder cannot be written.
    """
    write_text(folder / NAME, to_json(result, indent=1) + "\n")
    tables = tables_of(result)
    lists = tuple(table for table in (per_bug(result), per_run(result)) if table.rows)
    everything = (*tables, *lists)
    for table in everything:
        write_text(folder / "tables" / f"{table.name}.csv", csv_of(table))
    lines = [line for table in tables for line in text_of(table)]
    plots: dict[str, bytes] = {}
    try:
        plots = draw(result)
    except UsageProblem as problem:
        lines.append(str(problem))
    for name, data in plots.items():
        write_bytes(folder / "plots" / name, data)
    write_text(folder / "report.html", page_of(result, everything, plots))
    return [*lines, f"result: {folder / NAME}, report.html, tables and plots beside it"]


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


def page_of(result: StudyResult, tables: Sequence[Table], plots: Mapping[str, bytes]) -> str:
    """Return the page: facts, the plots that are SVG, and the tables in their order."""
    settings = result.settings
    facts = [
        f"pytest-brt {result.version}",
        f"strategies: {', '.join(settings.strategies)}; model: {settings.model}",
        f"seed {settings.seed}, {settings.repeat} runs must agree, {settings.keep} tests kept",
    ]
    pictures = [
        (name, base64.b64encode(data).decode())
        for name, data in plots.items()
        if name.endswith(".svg")
    ]
    title = f"Study of {result.dataset}"
    values = {"facts": facts, "pictures": pictures, "tables": tables, "shown": shown}
    return filled(_TEMPLATE, title=title, **values)
