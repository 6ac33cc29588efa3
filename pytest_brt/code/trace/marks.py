"""The lines that mark where a traceback begins and ends, and what stands before them."""

from __future__ import annotations

import re

#: Colours.
ANSI = re.compile(r"\x1b\[[0-9;]*[A-Za-z]")
HEADER = re.compile(r"Traceback \((?:most recent call last|innermost last)\)\s*:?")
#: Path, line and, where it is told, function.
FRAME = re.compile(r"""^\s*File ["'](.+?)["'], line (\d+)(?:, in (.+?))?\s*$""")
#: Between two exceptions of a chain.
CHAIN = re.compile(
    r"^\W*(?:The above exception was the direct cause of|During handling of the above exception)"
)
#: The reporter goes on with something else.
PROMPT = re.compile(r"^\s*(?:>>>|\.\.\. |In \[|Out\[|```|~~~\w*\s*$|\$ )")


def without_margin(prefix: str, line: str) -> str:
    """Return `line` without what stood in front of the header: indentation, quote, margin."""
    margin = re.match(r"[\s>|+-]*", prefix)
    if prefix and line.startswith(prefix):
        return line[len(prefix) :]
    if margin and margin.group() == prefix:
        # "  + Exception Group Traceback" is followed by "  | ..." lines.
        other = re.match(rf"[\s>|+-]{{{len(prefix)}}}", line)
        if other:
            return line[len(prefix) :]
        return line.lstrip() if not line.strip(" >|+-") else line
    group = re.match(r"\s*[|+] ", line)
    return line[group.end() :] if group and "Group" in prefix else line
