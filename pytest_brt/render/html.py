"""A report as one HTML page: no script, and nothing loaded from elsewhere."""

from __future__ import annotations

import re
from pathlib import Path

from jinja2 import Environment
from markupsafe import Markup, escape
from pygments import highlight  # type: ignore[import-untyped]  # comes with pytest, untyped
from pygments.formatters import HtmlFormatter  # type: ignore[import-untyped]
from pygments.lexers import PythonLexer  # type: ignore[import-untyped]

from pytest_brt.render.report import PatchEntry, Report, TestEntry
from pytest_brt.render.words import listed
from pytest_brt.shown import plain
from pytest_brt.types import Author, Verdict

_TEMPLATE = Path(__file__).parent / "page.html.jinja"
#: How what a test did on a patch is marked.
_GLYPHS = {"pass": "✓", "fail": "✗", "other": "!", "own": "○", "none": "·"}
_KINDS = {Verdict.PASS: "pass", Verdict.FAIL: "fail", Verdict.INVALID: "none"}
#: A block of code between fences, or code in a sentence.
_CODE = re.compile(
    r"^ {0,3}(?P<fence>```+|~~~+)[^\n]*\n(?P<block>.*?)^ {0,3}(?P=fence)[^\n]*$"
    r"|(?P<tick>`+)(?P<inline>[^`\n]+)(?P=tick)",
    re.MULTILINE | re.DOTALL,
)


def html(report: Report) -> str:
    """Return the page, which every parser takes: no undecoded bytes, no control characters."""
    jinja = Environment(autoescape=True, trim_blocks=True, lstrip_blocks=True)
    text = jinja.from_string(_TEMPLATE.read_text("utf-8")).render(
        title=report.issues[0].title if len(report.issues) == 1 else "Bug reproduction tests",
        sections=list(report.sections()),
        facts=report.setting.facts,
        coded=coded,
        glyphs=_GLYPHS,
        highlighted=highlighted,
        line_kind=line_kind,
        mark=mark,
        origin=origin,
    )
    return plain(text.encode("utf-8", "replace").decode("utf-8"))


def mark(patch: PatchEntry, test: TestEntry) -> tuple[str, str]:
    """Return what a bug test did on a patch, pass, fail, other, own or none, and in words."""
    if patch.name in test.brought_by:
        return "own", f"{test.full_name} came with it"
    for cell in patch.cells:
        if cell.test == test.id:
            words = f"{test.full_name}: {cell.verdict} {cell.reason}"
            return _KINDS.get(cell.verdict, "other"), words
    return "none", f"{test.full_name} did not run"


def origin(test: TestEntry) -> str:
    """Return whose test it is, as in "from a.diff"."""
    return {
        Author.REPORT: "made from the report",
        Author.MODEL: "written by the model",
        Author.PATCH: f"from {listed(test.brought_by)}",
        Author.PERSON: "yours",
    }[test.author]


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


def line_kind(line: str) -> str:
    """Return what a line of a diff is: added, removed or neither."""
    if line.startswith("+") and not line.startswith("+++"):
        return "add"
    return "del" if line.startswith("-") and not line.startswith("---") else "ctx"
