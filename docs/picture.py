"""Draws what a command prints as an SVG picture of a terminal.

    some-command --color=yes | python docs/picture.py > docs/demo.svg

Reads text with ANSI colours from standard input. The picture has no script, no font of its own
and nothing that is fetched.
"""

from __future__ import annotations

import re
import sys
from collections.abc import Iterator
from html import escape

COLOURS = {"31": "#ff7b72", "32": "#7ee787", "33": "#e3b341", "36": "#79c0ff", "35": "#d2a8ff"}
PLAIN, BACKGROUND = "#d1d7e0", "#151b23"
WIDTH, HEIGHT, MARGIN = 7.8, 18, 16
ESCAPE = re.compile(r"\x1b\[([\d;]*)m")


def runs(line: str) -> Iterator[tuple[str, str, bool]]:
    """Yield the stretches of a line with the colour and weight they are shown in."""
    colour, bold, position = PLAIN, False, 0
    for match in ESCAPE.finditer(line):
        yield line[position : match.start()], colour, bold
        for code in match[1].split(";"):
            if code in {"", "0"}:
                colour, bold = PLAIN, False
            elif code == "1":
                bold = True
            else:
                colour = COLOURS.get(code, colour)
        position = match.end()
    yield line[position:], colour, bold


def _kept(part: str) -> str:
    """Return text as XML; spaces that do not break, since viewers join the others."""
    return escape(part).replace(" ", "\N{NO-BREAK SPACE}")


def draw(text: str) -> str:
    """Return the picture of `text`."""
    lines = text.rstrip("\n").split("\n")
    columns = max(len(ESCAPE.sub("", line)) for line in lines)
    width, height = columns * WIDTH + 2 * MARGIN, len(lines) * HEIGHT + 2 * MARGIN
    rows = []
    for number, line in enumerate(lines):
        spans = "".join(
            f'<tspan fill="{colour}"{weight}>{_kept(part)}</tspan>'
            for part, colour, bold in runs(line)
            if part
            for weight in (' font-weight="bold"' if bold else "",)
        )
        rows.append(f'<text x="{MARGIN}" y="{MARGIN + (number + 0.75) * HEIGHT:g}">{spans}</text>')
    return "\n".join(
        [
            f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width:g} {height:g}" '
            f'width="{width:g}" font-family="ui-monospace, Menlo, Consolas, monospace" '
            'font-size="13">',
            f'<rect width="100%" height="100%" rx="8" fill="{BACKGROUND}"/>',
            *rows,
            "</svg>\n",
        ]
    )


if __name__ == "__main__":
    sys.stdout.write(draw(sys.stdin.read()))
