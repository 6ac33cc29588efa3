"""Tracebacks from IPython and Jupyter, of old versions and new ones."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import replace

from pytest_brt.code.trace.ending import message_from, named_exception
from pytest_brt.code.trace.marks import CHAIN
from pytest_brt.code.trace.pasted import PastedTrace
from pytest_brt.types import Frame, Raised

_HEADER = re.compile(r"^([A-Za-z_][\w.]*)\s+Traceback \(most recent call last\)\s*:?\s*$")
_OLD = re.compile(
    r"^\s*(?P<path><ipython-input-[^>]*>|<[^<> ]+>|[^\s(]\S*(?: \S+)*?\.(?:py|pyx|pyi|pxd|ipynb))"
    r" in (?P<function>[\w.<>]+)(?P<args>\(.*)?\s*$"
)
_NEW = re.compile(
    r"^\s*(?:File (?P<path>[^\"'].*?):(?P<line>\d+)|(?P<cell>(?:Cell )?In(?:put In)? ?\[\d+\])"
    r"(?:, line (?P<cell_line>\d+))?)(?:, in (?P<function>[\w.<>: ]+?)(?:\(.*)?)?\s*$"
)
#: Characters; a longer line is data, and would only cost time.
_LONGEST_FRAME = 1000
_ARROW = re.compile(r"^\s*-+> ?(\d+)\b")


def read_ipython(lines: Sequence[str], at: int) -> PastedTrace | None:
    """Read the traceback whose header is line `at` (0-based); None when it is none."""
    header = _HEADER.match(lines[at].strip(" >|"))
    if header is None:
        return None
    kind, message = header.group(1), ""
    frames: list[Frame] = []
    end = at
    index = at + 1
    short = kind.rpartition(".")[2]
    while index < len(lines):
        line = lines[index]
        bare = line.strip(" >|") if line.lstrip().startswith((">", "|")) else line.strip()
        if _HEADER.match(bare) or CHAIN.match(bare) or bare.startswith(("```", "~~~")):
            break
        arrow = _ARROW.match(line)
        if arrow and frames and frames[-1].line == 0:
            frames[-1] = replace(frames[-1], line=int(arrow.group(1)))
            end = index
        elif frame := _frame(line):
            frames.append(frame)
            end = index
        elif (named := named_exception(bare)) and named[0].rpartition(".")[2] == short:
            kind = named[0]
            message, end = message_from(lines, index, "", named[1])
            break
        index += 1
    raised = Raised(type=kind, message=message, frames=tuple(frames))
    return PastedTrace(raised=raised, line=at + 1, end_line=end + 1)


def _frame(line: str) -> Frame | None:
    if len(line) > _LONGEST_FRAME:
        return None
    old = _OLD.match(line)
    if old:
        return Frame(path=old["path"], line=0, function=old["function"])
    new = _NEW.match(line)
    if not new:
        return None
    function = (new["function"] or "<module>").strip()
    if function.startswith("<cell line"):
        function = "<module>"
    number = new["line"] or new["cell_line"] or "0"
    return Frame(
        path=(new["path"] or new["cell"]).strip(),
        line=int(number),
        function=function.rpartition(".")[2],
    )
