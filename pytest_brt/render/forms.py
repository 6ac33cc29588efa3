"""What is said on a terminal, one HTML page, and short Markdown for a comment: a template each.

The page has no script, and loads nothing from elsewhere; nothing in the Markdown is obeyed.
"""

from __future__ import annotations

import re
import shlex
from collections.abc import Sequence
from hashlib import sha256
from typing import Any

from jinja2 import Environment, PackageLoader
from markupsafe import Markup, escape
from pygments import highlight  # type: ignore[import-untyped]  # comes with pytest, untyped
from pygments.formatters import HtmlFormatter  # type: ignore[import-untyped]
from pygments.lexers import PythonLexer  # type: ignore[import-untyped]

from pytest_brt.render.answer import WARNINGS, how_sure, reviewed
from pytest_brt.render.report import Report
from pytest_brt.render.words import count, cut
from pytest_brt.shown import on_a_line, plain, show

#: What Markdown or HTML would take for more than text, and what would notify somebody.
_SPECIAL = re.compile(r"[\\`*_{}\[\]<>()#|~@!&]")
#: Code in a sentence; within a table a "|" would end its cell.
_SPAN = re.compile(r"(`[^`|]+`)")
#: A block of code between fences, or code in a sentence.
_CODE = re.compile(
    r"^ {0,3}(?P<fence>```+|~~~+)[^\n]*\n(?P<block>.*?)^ {0,3}(?P=fence)[^\n]*$"
    r"|(?P<tick>`+)(?P<inline>[^`\n]+)(?P=tick)",
    re.MULTILINE | re.DOTALL,
)


def show_summary(reporter: Any, report: Report, write: str = "diff") -> None:
    """Show a sentence per report and ranking, the best bug test or a table, and what to do next.

    ``-v`` shows the rest, ``-q`` the sentences alone. `write` is what `--brt-write` says.
    """
    reporter.ensure_newline()
    most = max(reporter.config.get_verbosity(), -1)
    for line in filled("summary.txt.jinja", report=report, write=write).splitlines():
        level, style, text = line.split("|", 2)
        if int(level) > most:
            continue
        if style in ("=", "-"):
            reporter.section(text, sep=style)
        else:
            show(reporter, text, **dict.fromkeys(style.split(), True))


def html(report: Report) -> str:
    """Return the page, which every parser takes: no undecoded bytes, no control characters."""
    return plain(filled("page.html.jinja", report=report))


def markdown(report: Report) -> str:
    """Return the answers, the best bug test, the table of patches, and a proof, for each report.

    The proof needs none of us: commands that show the bug, and what the first patch does.
    """
    return filled("short.md.jinja", report=report)


def filled(name: str, **values: object) -> str:
    """Return a template filled in; on a terminal each value stays on its line."""
    jinja = Environment(
        loader=PackageLoader("pytest_brt", "render"),
        autoescape=name.endswith(".html.jinja"),
        finalize=(lambda it: on_a_line(str(it))) if name.endswith(".txt.jinja") else None,
        trim_blocks=True,
        lstrip_blocks=True,
        keep_trailing_newline=True,
    )
    jinja.filters |= {
        "coded": coded,
        "counted": count,
        "cut": cut,
        "fenced": _fenced,
        "highlighted": highlighted,
        "line": on_a_line,
        "padded": _padded,
        "quote": shlex.quote,
        "reviewed": reviewed,
        "sha256": lambda text: sha256(text.encode("utf-8", "surrogateescape")).hexdigest(),
        "sure": how_sure,
        "text": _text,
    }
    return jinja.get_template(name).render(warnings=WARNINGS, **values)


def _padded(rows: Sequence[Sequence[str]]) -> list[list[str]]:
    """Return the rows of a table, each cell as wide as its column."""
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    return [
        [cell.ljust(width) for cell, width in zip(row, widths, strict=True)] for row in rows
    ]


def _fenced(text: str, language: str) -> str:
    """Return code between fences that nothing in it can close."""
    fence = max(["``", *re.findall("`+", text)], key=len) + "`"
    lines = map(on_a_line, text.strip("\n").split("\n"))
    return "\n".join([fence + language, *lines, fence])


def _text(text: str) -> str:
    r"""Return text of strangers that Markdown shows as it is.

    >>> _text("<b> @all [x](y) `f(1)`")
    '\\<b\\> \\@all \\[x\\]\\(y\\) `f(1)`'
    """
    parts = _SPAN.split(on_a_line(" ".join(text.split())))
    parts[::2] = [_SPECIAL.sub(r"\\\g<0>", part) for part in parts[::2]]
    return "".join(parts)


def coded(text: str) -> Markup:
    """Return a text in which what stands between backticks, or fences, is code.

    >>> coded("`f(1)` < 2")
    Markup('<code>f(1)</code> &lt; 2')
    """
    return Markup(_CODE.sub(_tagged, escape(text)))


def _tagged(code: re.Match[str]) -> str:
    if code["fence"]:
        return f'<pre tabindex="0">{code["block"]}</pre>'
    return f"<code>{code['inline']}</code>"


def highlighted(source: str) -> Markup:
    """Return Python code in colours."""
    formatter = HtmlFormatter(nowrap=True, classprefix="py-")
    # It escapes the text.
    return Markup(highlight(source, PythonLexer(stripnl=False), formatter))
