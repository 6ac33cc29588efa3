"""A study as one HTML page: no script, and nothing loaded from elsewhere."""

from __future__ import annotations

import base64
from collections.abc import Mapping, Sequence
from pathlib import Path

from jinja2 import Environment

from pytest_brt.evaluate.record import StudyResult
from pytest_brt.evaluate.table import Table, shown

_TEMPLATE = Path(__file__).parent / "study.html.jinja"


def page_of(result: StudyResult, tables: Sequence[Table], plots: Mapping[str, bytes]) -> str:
    """Return the page.

    Args:
        result: the study.
        tables: its tables, in the order in which they are shown.
        plots: files of its plots by their names; the SVG ones are shown.
    """
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
    template = Environment(autoescape=True, trim_blocks=True).from_string(
        _TEMPLATE.read_text(encoding="utf-8")
    )
    shown_tables = [
        {
            "title": table.title,
            "columns": table.columns,
            "rows": [
                [(shown(cell, table.kind), isinstance(cell, str)) for cell in row]
                for row in table.rows
            ],
        }
        for table in tables
    ]
    text = template.render(
        title=f"Study of {result.dataset}", facts=facts, pictures=pictures, tables=shown_tables
    )
    return text + "\n"
