"""The forms of a table: text for the terminal, CSV and Markdown."""

from __future__ import annotations

import csv
import io
from collections.abc import Sequence

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
    return [
        [format_cell(cell, form) for cell, form in zip(line, table.forms, strict=True)]
        for line in table.lines
    ]


def as_text(table: Table) -> list[str]:
    """Return a table for the terminal, words to the left and numbers to the right."""
    lines = _cells(table)
    is_text = [any(isinstance(cell, str) for cell in cells) for cells in _columns(table)]
    widths = [max(map(len, column)) for column in zip(table.heads, *lines, strict=True)]
    shown = ["", table.title]
    for line in (table.heads, *lines):
        cells = (
            cell.ljust(width) if text else cell.rjust(width)
            for cell, width, text in zip(line, widths, is_text, strict=True)
        )
        shown.append(f"  {'  '.join(cells).rstrip()}")
    return shown


def _columns(table: Table) -> list[Sequence[Cell]]:
    return list(zip(*table.lines, strict=True))


def as_csv(table: Table) -> str:
    """Return a table as CSV; a mean has columns for its ends beside it."""
    wide = [any(isinstance(cell, Estimate) for cell in cells) for cells in _columns(table)]
    out = io.StringIO()
    writer = csv.writer(out, lineterminator="\n")
    heads: list[str] = []
    for head, is_wide in zip(table.heads, wide, strict=True):
        heads += [head, f"{head} low", f"{head} high"] if is_wide else [head]
    writer.writerow(heads)
    for line in table.lines:
        cells: list[Cell] = []
        for cell, is_wide in zip(line, wide, strict=True):
            if isinstance(cell, Estimate):
                cells += [cell.mean, cell.low, cell.high]
            else:
                cells += [cell, None, None] if is_wide else [cell]
        writer.writerow(round(cell, 6) if isinstance(cell, float) else cell for cell in cells)
    return out.getvalue()


def as_markdown(table: Table) -> str:
    """Return a table as Markdown."""
    lines = [list(table.heads), ["---"] * len(table.heads), *_cells(table)]
    rows = ("| " + " | ".join(_escaped(cell) for cell in line) + " |" for line in lines)
    return "\n".join((f"## {table.title}", "", *rows, ""))


def _escaped(cell: str) -> str:
    return " ".join(cell.replace("|", "\\|").replace("<", "&lt;").split())
