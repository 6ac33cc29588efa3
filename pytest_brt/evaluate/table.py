"""A table, and its forms: text and CSV."""

from __future__ import annotations

import csv
import io
from collections.abc import Sequence
from dataclasses import dataclass

from pytest_brt.evaluate.metrics import Gap

Cell = str | int | float | Gap | None
Row = tuple[Cell, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Table:
    """Rows under a heading."""

    #: For the names of files.
    name: str
    title: str
    columns: tuple[str, ...]
    rows: Sequence[Row]
    #: How numbers are written: "share" as percent, "number" with two digits.
    kind: str = "number"


def shown(cell: Cell, kind: str) -> str:
    """Return a cell as text; a mean comes with where it lies with 95 %."""
    if cell is None:
        return "–"
    if isinstance(cell, Gap):
        if not cell.n:
            return "–"
        if kind == "share":
            return f"{cell.mean:.0%} [{cell.low:.0%}, {cell.high:.0%}]"
        return f"{cell.mean:.2f} [{cell.low:.2f}, {cell.high:.2f}]"
    if isinstance(cell, float):
        return f"{cell:.0%}" if kind == "share" else f"{cell:.2f}"
    return str(cell)


def text_of(table: Table) -> list[str]:
    """Return a table for the terminal."""
    lines = [[shown(cell, table.kind) for cell in row] for row in table.rows]
    texts = [any(isinstance(row[at], str) for row in table.rows) for at in range(len(lines[0]))]
    widths = [max(map(len, column)) for column in zip(table.columns, *lines, strict=True)]

    def line(cells: Sequence[str]) -> str:
        first, *rest = (
            cell.ljust(width) if is_text else cell.rjust(width)
            for cell, width, is_text in zip(cells, widths, texts, strict=True)
        )
        return "  ".join((first, *rest)).rstrip()

    return ["", table.title, f"  {line(table.columns)}", *(f"  {line(cells)}" for cells in lines)]


def csv_of(table: Table) -> str:
    """Return a table as CSV; a mean has columns for its ends beside it."""
    wide = [any(isinstance(row[at], Gap) for row in table.rows) for at in range(len(table.columns))]
    head: list[str] = []
    for name, is_wide in zip(table.columns, wide, strict=True):
        head += [name, f"{name} low", f"{name} high"] if is_wide else [name]
    out = io.StringIO()
    writer = csv.writer(out, lineterminator="\n")
    writer.writerow(head)
    for row in table.rows:
        cells: list[object] = []
        for cell, is_wide in zip(row, wide, strict=True):
            if isinstance(cell, Gap):
                ends = (cell.mean, cell.low, cell.high) if cell.n else (None,) * 3
                cells += [None if end is None else round(end, 6) for end in ends]
            else:
                value = round(cell, 6) if isinstance(cell, float) else cell
                cells += [value, "", ""] if is_wide else [value]
        writer.writerow(cells)
    return out.getvalue()
