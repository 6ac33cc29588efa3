"""The text of a bug report as HTML: code as code, and what bug tests quote of it marked."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

from markupsafe import Markup, escape

#: A block of code between fences, or code in a sentence.
_CODE = re.compile(
    r"^ {0,3}(?P<fence>```+|~~~+)[^\n]*\n(?P<block>.*?)^ {0,3}(?P=fence)[^\n]*$"
    r"|(?P<tick>`+)(?P<inline>[^`\n]+)(?P=tick)",
    re.MULTILINE | re.DOTALL,
)


def marked_report(text: str, quotes: Sequence[str]) -> Markup:
    """Return a report, with each of `quotes` marked where it stands."""
    marked = [*_found(text, quotes)]
    parts = []
    at = 0
    for code in _CODE.finditer(text):
        group = "block" if code["fence"] else "inline"
        tag = '<pre tabindex="0">{}</pre>' if code["fence"] else "<code>{}</code>"
        parts.append(_stretch(text, at, code.start(), marked))
        parts.append(Markup(tag).format(_stretch(text, *code.span(group), marked)))
        at = code.end()
    parts.append(_stretch(text, at, len(text), marked))
    return Markup().join(parts)


def _found(text: str, quotes: Sequence[str]) -> Iterator[tuple[int, int]]:
    """Yield where quotes stand, in order; where one is wrapped, only the blanks differ."""
    patterns = [r"\s+".join(map(re.escape, quote.split())) for quote in dict.fromkeys(quotes)]
    if patterns:
        yield from (found.span() for found in re.finditer("|".join(patterns), text))


def _stretch(text: str, start: int, end: int, marked: Sequence[tuple[int, int]]) -> Markup:
    """Return a part of the text that lies in one element, so that marks end where it does."""
    parts = []
    at = start
    for first, last in marked:
        inner, outer = max(first, at), min(last, end)
        if inner < outer:
            parts += [escape(text[at:inner]), Markup("<mark>{}</mark>").format(text[inner:outer])]
            at = outer
    parts.append(escape(text[at:end]))
    return Markup().join(parts)
