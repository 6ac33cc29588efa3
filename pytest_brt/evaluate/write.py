"""The files of a study: what it is of, its rows, tables and plots, and how they are read again."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

from pytest_brt.codec import from_json, to_json
from pytest_brt.errors import StoreProblem, UsageProblem
from pytest_brt.evaluate.forms import as_csv, as_markdown, as_text
from pytest_brt.evaluate.plots import draw
from pytest_brt.evaluate.record import About, StudyResult
from pytest_brt.evaluate.rows.row import Row
from pytest_brt.evaluate.rows.study import FILES, Rows, rows_of
from pytest_brt.evaluate.specs import TABLES
from pytest_brt.evaluate.tables import Table, group, make_table
from pytest_brt.store import write_bytes, write_text

NAME = "study.json"


def write_study(result: StudyResult, folder: Path) -> list[str]:
    """Write a study to `folder`, and return what is shown of it.

    Raises:
        StoreProblem: the folder cannot be written.
    """
    rows = write_rows(result, folder)
    tables = tables_of(rows)
    for table in tables:
        write_text(folder / "tables" / f"{table.name}.csv", as_csv(table))
    shown = [line for table in tables for line in as_text(table)]
    plots: dict[str, bytes] = {}
    try:
        plots = draw(rows)
    except UsageProblem as problem:
        shown.append(str(problem))
    for name, data in plots.items():
        write_bytes(folder / "plots" / name, data)
    write_text(folder / "report.md", _page(result.about, tables, plots))
    return [*shown, f"result: {folder / NAME}, report.md, rows, tables and plots beside it"]


def write_rows(result: StudyResult, folder: Path) -> dict[str, list[Row]]:
    """Write what a study is of, its rows, which are returned, and the fixes that its repairs kept.

    Raises:
        StoreProblem: the folder cannot be written.
    """
    rows = rows_of(result)
    write_text(folder / NAME, to_json(result.about, indent=1) + "\n")
    for name, some in rows.items():
        lines = (to_json(row) + "\n" for row in some)
        write_text(folder / "rows" / f"{name}.jsonl", "".join(lines))
    for (given,), fixes in group(rows["fixes"], ("given",)).items():
        kept = (_as_prediction(row) for row in fixes if row["kept"] and row["whole"])
        write_text(folder / "fixes" / f"{given}.jsonl", "".join(kept))
    return rows


def _as_prediction(fix: Row) -> str:
    """Return a fix as a line of predictions: paper 001 ranks what its repairs wrote."""
    prediction = {
        "instance_id": fix["bug"],
        "model_name_or_path": fix["strategy"],
        "model_patch": fix["diff"],
        "plausible": bool(fix["right"]),
    }
    return to_json(prediction) + "\n"


def tables_of(rows: Rows) -> list[Table]:
    """Return all tables that there is something for."""
    tables = [make_table(rows[spec.rows], spec) for spec in TABLES]
    return [table for table in tables if table.lines]


def _page(about: About, tables: Iterable[Table], plots: Iterable[str]) -> str:
    settings = about.settings
    facts = (
        f"- pytest-brt {about.version}",
        f"- strategies: {', '.join(settings.strategies)}; model: {settings.model}",
        f"- seed {settings.seed}, {settings.repeat} runs must agree",
    )
    sources = {spec.name: spec.source for spec in TABLES}
    parts = [f"# Study of {about.dataset}\n", "\n".join(facts) + "\n"]
    for table in tables:
        parts.append(as_markdown(table))
        if sources[table.name]:
            parts.append(f"As in {sources[table.name]}.\n")
    parts += [f"![{name}](plots/{name})\n" for name in plots if name.endswith(".svg")]
    return "\n".join(parts)


def read_study(folder: Path) -> tuple[About, dict[str, list[Row]]]:
    """Return what the study in `folder` is of, and its rows.

    Raises:
        UsageProblem: there is none, or another version wrote it.
    """
    path = folder / NAME
    try:
        about = from_json(path.read_bytes(), About)
        rows: dict[str, list[Row]] = {}
        for name in FILES:
            path = folder / "rows" / f"{name}.jsonl"
            rows[name] = [from_json(line, Row) for line in path.read_bytes().splitlines()]
    except OSError as error:
        raise UsageProblem(f"no study in {str(folder)!r}: {error.strerror}") from None
    except StoreProblem as error:
        raise UsageProblem(f"cannot read {str(path)!r}: {error}") from None
    return about, rows
