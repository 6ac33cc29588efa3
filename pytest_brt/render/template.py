"""Pages from templates."""

from __future__ import annotations

import re
from pathlib import Path

from jinja2 import Environment
from markupsafe import Markup, escape

from pytest_brt.shown import plain


def filled(template: Path, **values: object) -> str:
    """Return a page that every parser takes: no undecoded bytes, no control characters."""
    jinja = Environment(autoescape=True, trim_blocks=True, lstrip_blocks=True)
    text = jinja.from_string(template.read_text("utf-8")).render(values)
    return plain(text.encode("utf-8", "replace").decode("utf-8"))


def coded(sentence: str) -> Markup:
    """Return a sentence in which what stands between backticks is code.

    >>> coded("`f(1)` < 2")
    Markup('<code>f(1)</code> &lt; 2')
    """
    parts = re.split("`([^`]+)`", sentence)
    code = Markup("<code>{}</code>")
    return Markup().join(
        code.format(part) if at % 2 else escape(part) for at, part in enumerate(parts)
    )
