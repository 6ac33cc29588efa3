"""The forms of a table: text for the terminal, CSV and Markdown."""

from __future__ import annotations

import csv
import io

from pytest_brt.evaluate.columns import Cell
from pytest_brt.evaluate.estimates import Estimate
from pytest_brt.evaluate.tables import Table


def format_cell(cell: Cell, form: str) -> str:
    """Return a cell as text; a mean comes with where it lies with 95 %."""
    if cell is None:
        return "–"
    if isinstance(cell, Estimate):
        return f"{cell.mean:{form}} [{cell.low:{form}}, {cell.high:{form}}]"
    if isinstance(cell, float):
        return f"{cell:{form}}"
    return str(cell)


def _cells(table: Table) -> list[list[str]]:
    forms = table.forms
    return [
        [format_cell(cell, form) for cell, form in zip(line, forms, strict=True)]
        for line in table.lines
    ]


def as_text(table: Table) -> list[str]:
    """Return a table for the terminal, words to the left and numbers to the right."""
    lines = [table.heads, *_cells(table)]
    columns = []
    for cells, texts in zip(zip(*table.lines, strict=True), zip(*lines, strict=True), strict=True):
        is_text = any(isinstance(cell, str) for cell in cells)
        width = max(map(len, texts))
        columns.append([text.ljust(width) if is_text else text.rjust(width) for text in texts])
    shown = [f"  {'  '.join(texts).rstrip()}" for texts in zip(*columns, strict=True)]
    return ["", table.title, *shown]


def as_csv(table: Table) -> str:
    """Return a table as CSV; a mean has columns for its ends beside it."""
    columns: list[list[Cell]] = []
    for head, cells in zip(table.heads, zip(*table.lines, strict=True), strict=True):
        means = [cell.mean if isinstance(cell, Estimate) else cell for cell in cells]
        columns.append([head, *means])
        if any(isinstance(cell, Estimate) for cell in cells):
            for end in ("low", "high"):
                columns.append([f"{head} {end}", *(getattr(cell, end, None) for cell in cells)])
    out = io.StringIO()
    writer = csv.writer(out, lineterminator="\n")
    for line in zip(*columns, strict=True):
        writer.writerow(round(cell, 6) if isinstance(cell, float) else cell for cell in line)
    return out.getvalue()


def as_markdown(table: Table) -> str:
    """Return a table as Markdown."""
    lines = [table.heads, ["---"] * len(table.heads), *_cells(table)]
    rows = [f"| {' | '.join(map(_escaped, cells))} |" for cells in lines]
    return "\n".join((f"## {table.title}", "", *rows, ""))


def _escaped(cell: str) -> str:
    return " ".join(cell.replace("|", "\\|").replace("<", "&lt;").split())
