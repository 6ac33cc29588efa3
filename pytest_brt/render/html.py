"""A report as one HTML page: no script, and nothing loaded from elsewhere."""

from __future__ import annotations

import re
from pathlib import Path

from jinja2 import Environment
from markupsafe import Markup, escape
from pygments import highlight  # type: ignore[import-untyped]  # comes with pytest, untyped
from pygments.formatters import HtmlFormatter  # type: ignore[import-untyped]
from pygments.lexers import PythonLexer  # type: ignore[import-untyped]

from pytest_brt.render.report import Report
from pytest_brt.shown import plain

_TEMPLATE = Path(__file__).parent / "page.html.jinja"
#: A block of code between fences, or code in a sentence.
_CODE = re.compile(
    r"^ {0,3}(?P<fence>```+|~~~+)[^\n]*\n(?P<block>.*?)^ {0,3}(?P=fence)[^\n]*$"
    r"|(?P<tick>`+)(?P<inline>[^`\n]+)(?P=tick)",
    re.MULTILINE | re.DOTALL,
)


def html(report: Report) -> str:
    """Return the page, which every parser takes: no undecoded bytes, no control characters."""
    jinja = Environment(autoescape=True, trim_blocks=True, lstrip_blocks=True)
    page = jinja.from_string(_TEMPLATE.read_text("utf-8"))
    text = page.render(report=report, coded=coded, highlighted=highlighted)
    return plain(text.encode("utf-8", "replace").decode("utf-8"))


def coded(text: str) -> Markup:
    """Return a text in which what stands between backticks, or fences, is code.

    >>> coded("`f(1)` < 2")
    Markup('<code>f(1)</code> &lt; 2')
    """
    parts, at = [], 0
    for code in _CODE.finditer(text):
        tag = '<pre tabindex="0">{}</pre>' if code["fence"] else "<code>{}</code>"
        inner = Markup(tag).format(code["block"] if code["fence"] else code["inline"])
        parts += [escape(text[at : code.start()]), inner]
        at = code.end()
    return Markup().join([*parts, escape(text[at:])])


def highlighted(source: str) -> Markup:
    """Return Python code in colours."""
    formatter = HtmlFormatter(nowrap=True, classprefix="py-")
    return Markup(highlight(source, PythonLexer(stripnl=False), formatter))  # it escapes the text
