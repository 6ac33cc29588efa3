"""Pages from templates."""

from __future__ import annotations

from pathlib import Path

from jinja2 import Environment

from pytest_brt.shown import plain


def filled(template: Path, **values: object) -> str:
    """Return a page that every parser takes: no undecoded bytes, no control characters."""
    jinja = Environment(autoescape=True, trim_blocks=True, lstrip_blocks=True)
    text = jinja.from_string(template.read_text("utf-8")).render(values)
    return plain(text.encode("utf-8", "replace").decode("utf-8"))
