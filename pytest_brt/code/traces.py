"""Pasted tracebacks → `Raised`.

Understood as people paste them: plain, from IPython and Jupyter (old and new form), from
pytest (long, short and ``INTERNALERROR``), exception groups, chained, quoted with ``>``,
indented, with lines left out, or cut off before the header or before the exception.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import replace

from pytest_brt.code.layout import TreePaths, is_test_path
from pytest_brt.code.trace_lines import (
    ANSI,
    CHAIN,
    FRAME,
    HEADER,
    PROMPT,
    PastedTrace,
    last_line,
    message_from,
    named_exception,
    without_margin,
)
from pytest_brt.types import Frame, Raised


def read_tracebacks(text: str) -> tuple[PastedTrace, ...]:
    """Return every traceback in `text`, in its order. Never raises; no traceback gives ()."""
    lines = [ANSI.sub("", line) for line in text.splitlines()]
    found: list[PastedTrace] = []
    at = read = 0
    while at < len(lines):
        trace = _read_at(lines, at, read)
        if trace is None:
            at += 1
            continue
        found.append(trace)
        at = read = max(at + 1, trace.end_line)
    return tuple(found)


def _read_at(lines: Sequence[str], at: int, read: int) -> PastedTrace | None:
    """Return the traceback that starts on line `at` (0-based), if one does.

    Lines before `read` belong to an earlier one.
    """
    trace = read_ipython(lines, at)
    if trace is not None:
        return trace
    if is_plain_start(lines, at):
        return read_plain(lines, at)
    if is_pytest_start(lines[at]):
        return read_pytest(lines, at, read)
    return None


def place_frames(raised: Raised, paths: TreePaths) -> Raised:
    """Return `raised` with the frames that lie in the project named by its own paths.

    Frames of tests are renamed too, but are not `project` frames.
    """
    placed: list[Frame] = []
    for frame in raised.frames:
        path = paths.find(frame.path)
        if path is None:
            placed.append(replace(frame, project=False))
        else:
            placed.append(replace(frame, path=path, project=not is_test_path(path)))
    return replace(raised, frames=tuple(placed))


_LEFT_OUT = re.compile(
    r"^\s*(?:\.\.\.|…|\[(?:\.\.\.|…|Previous line repeated).*|<snip>|\(\.\.\.\)|"
    r"\.\.\. \(?\d+ .*|[\s~^]+)\s*$"
)


def is_plain_start(lines: Sequence[str], at: int) -> bool:
    """Return whether a traceback starts on line `at` (0-based), with its header or without it."""
    if HEADER.search(lines[at]):
        return True
    return bool(FRAME.match(lines[at].lstrip(" >|"))) and _is_stack(lines, at)


def _is_stack(lines: Sequence[str], at: int) -> bool:
    """Return whether more of a stack follows the frame line `at`, so that it is no quotation."""
    rest = [line.lstrip(" >|") for line in lines[at + 1 : at + 6]]
    return any(FRAME.match(line) or named_exception(line) for line in rest)


def read_plain(lines: Sequence[str], at: int) -> PastedTrace | None:
    """Read the frames and the exception from line `at` (0-based) on; None when there are none."""
    header = HEADER.search(lines[at])
    prefix = lines[at][: header.start()] if header else ""
    frames: list[Frame] = []
    end = at
    kind, message = "", ""
    index = at + 1 if header else at
    after_frame = False
    while index < len(lines):
        line = without_margin(prefix, lines[index])
        frame = FRAME.match(line)
        if frame:
            path, number, function = frame.groups()
            frames.append(Frame(path=path, line=int(number), function=function or "<module>"))
            end, after_frame = index, True
        elif not CHAIN.match(line) and (named := last_line(line, has_stack=bool(frames))):
            kind = named[0]
            message, end = message_from(lines, index, prefix, named[1])
            break
        elif CHAIN.match(line) or HEADER.search(line) or PROMPT.match(line):
            break
        elif after_frame and line.strip():
            end, after_frame = index, False  # the frame's line of code
        elif line.strip() and not line[:1].isspace() and not _LEFT_OUT.match(line):
            break
        index += 1
    if not kind and not frames:
        return None
    raised = Raised(type=kind, message=message, frames=tuple(frames))
    return PastedTrace(raised=raised, line=at + 1, end_line=end + 1)


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


_PLACE = re.compile(
    r"^\s*(?P<path>[^\s:>`'\"()]+\.py):(?P<line>\d+):"
    r"(?:\s+(?:in (?P<function>\S+)|(?P<type>[\w.]+)))?\s*$"
)
_ERROR = re.compile(r"^\s*E( {2,}|$)(?P<text>.*)$")
_TITLE = re.compile(r"^\s*(?:_{3,} .* _{3,}|={3,} .* ={3,}|-{3,} .* -{3,})\s*$")
_DEFINITION = re.compile(r"^\s*(?:async )?def (\w+)\(")


def is_pytest_start(line: str) -> bool:
    """Return whether `line` is one that only pytest prints: an error, or a place."""
    return bool(_PLACE.match(line) or _ERROR.match(line))


def read_pytest(lines: Sequence[str], at: int, read: int) -> PastedTrace | None:
    """Read pytest's own report of one failure, from its first recognisable line.

    In the long style the place stands below its code, in the short style above it.
    """
    start = _start(lines, at, read)
    frames: list[Frame] = []
    errors: list[str] = []
    function, kind, end = "", "", at
    for index in range(start, len(lines)):
        line = lines[index]
        if index > at and (_TITLE.match(line) or PROMPT.match(line)):
            break
        if CHAIN.match(line) or (errors and kind and _DEFINITION.match(line)):
            break
        definition = _DEFINITION.match(line)
        place = _PLACE.match(line)
        error = _ERROR.match(line)
        if definition:
            function = definition.group(1)
        elif error:
            errors.append(error["text"])
            end = index
        elif place:
            name = place["function"] or function or "<module>"
            frames.append(Frame(path=place["path"], line=int(place["line"]), function=name))
            kind, end = place["type"] or kind, index
            if place["type"]:
                break
    if not frames or not (kind or errors):
        return None
    named_kind, message = _error(errors)
    raised = Raised(type=named_kind or kind, message=message, frames=tuple(frames))
    return PastedTrace(raised=raised, line=start + 1, end_line=end + 1)


def _start(lines: Sequence[str], at: int, read: int) -> int:
    """Return where the code above the first error line begins: at its ``def``, if it shows one."""
    for index in range(at, max(read, at - 60) - 1, -1):
        if _TITLE.match(lines[index]) or PROMPT.match(lines[index]):
            return index + 1
        if _DEFINITION.match(lines[index]):
            return index
    return at


def _error(errors: Sequence[str]) -> tuple[str, str]:
    """Return type and message that pytest's ``E`` lines tell."""
    texts = [text.strip() for text in errors]
    if not texts:
        return "", ""
    named = named_exception(texts[0])
    if named:
        return named[0], "\n".join([named[1], *texts[1:]]).strip()
    if texts[0].startswith("assert "):
        return "AssertionError", "\n".join(texts).strip()
    return "", "\n".join(texts).strip()
