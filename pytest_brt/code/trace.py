"""Pasted tracebacks → `Raised`, and their frames → files of the project.

Understood as people paste them: plain, from IPython and Jupyter (old and new form), from
pytest (long, short and ``INTERNALERROR``), exception groups, chained, quoted with ``>``,
indented, with lines left out, or cut off before the header or before the exception.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, replace
from enum import StrEnum

from pytest_brt.code.layout import TreePaths, is_test_path
from pytest_brt.types import Frame, Raised


class TraceForm(StrEnum):
    """Which program printed a traceback."""

    PLAIN = "plain"
    IPYTHON = "ipython"
    PYTEST = "pytest"


@dataclass(frozen=True, slots=True, kw_only=True)
class PastedTrace:
    """One exception with its stack, as found in a text.

    A chain of exceptions is several of them, in the order of the text: the last one is what
    the program ended with.
    """

    raised: Raised
    form: TraceForm
    #: 1-based first and last line in the text.
    line: int
    end_line: int
    #: The next one in the text was raised because of, or while handling, this one.
    chained: bool = False


_ANSI = re.compile(r"\x1b\[[0-9;]*[A-Za-z]")
_HEADER = re.compile(r"Traceback \((?:most recent call last|innermost last)\)\s*:?")
_IPYTHON_HEADER = re.compile(r"^([A-Za-z_][\w.]*)\s+Traceback \(most recent call last\)\s*:?\s*$")
_FRAME = re.compile(r"""^\s*File ["'](.+?)["'], line (\d+)(?:, in (.+?))?\s*$""")
_CHAIN = re.compile(
    r"^\W*(?:The above exception was the direct cause of|During handling of the above exception)"
)
_LEFT_OUT = re.compile(
    r"^\s*(?:\.\.\.|…|\[(?:\.\.\.|…|Previous line repeated).*|<snip>|\(\.\.\.\)|"
    r"\.\.\. \(?\d+ .*|[\s~^]+)\s*$"
)
_EXCEPTION = re.compile(r"^((?:[A-Za-z_]\w*\.)*[A-Za-z_]\w*)(?:\s*:(?:\s(.*))?)?$")
_LOWER_EXCEPTION = re.compile(r"^((?:[A-Za-z_]\w*\.)*(?!else|try|finally)[a-z_]\w*): (.+)$")
_EXCEPTION_NAME = re.compile(
    r"(?:Error|Exception|Warning|Exit|Interrupt|Iteration|Failed|Failure|Timeout|Abort|Group)\d*$"
)
_PROMPT = re.compile(r"^\s*(?:>>>|\.\.\. |In \[|Out\[|```|~~~\w*\s*$|\$ )")


def read_tracebacks(text: str) -> tuple[PastedTrace, ...]:
    """Return every traceback in `text`, in its order. Never raises; no traceback gives ()."""
    lines = [_ANSI.sub("", line) for line in text.splitlines()]
    found: list[PastedTrace] = []
    at = read = 0
    while at < len(lines):
        trace = _read_at(lines, at, read)
        if trace is None:
            at += 1
            continue
        found.append(trace)
        at = read = max(at + 1, trace.end_line)
    return tuple(_mark_chains(found, lines))


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


def _read_at(lines: Sequence[str], at: int, read: int) -> PastedTrace | None:
    """Return the traceback that starts on line `at` (0-based), if one does.

    Lines before `read` belong to an earlier one.
    """
    line = lines[at]
    bare = line.strip(" >|")
    if _IPYTHON_HEADER.match(bare):
        return _read_ipython(lines, at)
    header = _HEADER.search(line)
    if header:
        return _read_plain(lines, at, line[: header.start()])
    frame = _FRAME.match(line.lstrip(" >|"))
    if frame and _looks_cut_off(lines, at):
        return _read_plain(lines, at - 1, "")
    if _PYTEST_PLACE.match(line) or _PYTEST_ERROR.match(line):
        return _read_pytest(lines, at, read)
    return None


def _looks_cut_off(lines: Sequence[str], at: int) -> bool:
    """Return whether more of a stack follows the frame line `at`, so that it is no quotation."""
    rest = [line.lstrip(" >|") for line in lines[at + 1 : at + 6]]
    return any(_FRAME.match(line) or _exception(line) for line in rest)


def _mark_chains(found: Sequence[PastedTrace], lines: Sequence[str]) -> list[PastedTrace]:
    marked: list[PastedTrace] = []
    for at, trace in enumerate(found):
        following = found[at + 1] if at + 1 < len(found) else None
        chained = following is not None and any(
            _CHAIN.match(line) for line in lines[trace.end_line - 1 : following.line]
        )
        marked.append(replace(trace, chained=chained))
    return marked


# -- plain ------------------------------------------------------------------------------------


def _read_plain(lines: Sequence[str], at: int, prefix: str) -> PastedTrace | None:
    """Read the frames and the exception below the header on line `at`."""
    frames: list[Frame] = []
    end = at
    kind, message = "", ""
    index = at + 1
    after_frame = False
    while index < len(lines):
        line = _without(prefix, lines[index])
        frame = _FRAME.match(line)
        if frame:
            path, number, function = frame.groups()
            frames.append(Frame(path=path, line=int(number), function=function or "<module>"))
            end, after_frame = index, True
        elif not _CHAIN.match(line) and (named := _last_line(line, has_stack=bool(frames))):
            kind = named[0]
            message, end = _message(lines, index, prefix, named[1])
            break
        elif _CHAIN.match(line) or _HEADER.search(line) or _PROMPT.match(line):
            break
        elif after_frame and line.strip():
            end, after_frame = index, False  # the frame's line of code
        elif line.strip() and not line[:1].isspace() and not _LEFT_OUT.match(line):
            break
        index += 1
    if not kind and not frames:
        return None
    return PastedTrace(
        raised=Raised(type=kind, message=message, frames=tuple(frames)),
        form=TraceForm.PLAIN,
        line=at + 1 if at >= 0 and _HEADER.search(lines[at]) else at + 2,
        end_line=end + 1,
    )


def _without(prefix: str, line: str) -> str:
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


def _last_line(line: str, *, has_stack: bool) -> tuple[str, str] | None:
    """Return type and message when `line` ends the stack read so far.

    Indented lines are code unless they name an exception beyond doubt. Below a stack
    "re.error: bad escape" is an exception although nothing in its name says so.
    """
    named = _exception(line)
    if line[:1].isspace():
        return named if named and named[1] and _EXCEPTION_NAME.search(named[0]) else None
    if named is None and has_stack and (match := _LOWER_EXCEPTION.match(line)):
        return match.group(1), match.group(2).strip()
    return named


def _exception(line: str) -> tuple[str, str] | None:
    """Return type and message when `line` looks like the last line of a traceback."""
    match = _EXCEPTION.match(line.strip())
    if not match:
        return None
    name, message = match.groups()
    last = name.rpartition(".")[2]
    known = bool(_EXCEPTION_NAME.search(last))
    capital = last[:1].isupper()
    if known or (capital and (":" in line or "." in name)):
        return name, (message or "").strip()
    return None


_OPENERS = {"(": ")", "[": "]", "{": "}"}


def _message(lines: Sequence[str], at: int, prefix: str, first: str) -> tuple[str, int]:
    """Return the message that starts on line `at`, and the line it ends on.

    A message goes on when it visibly is not complete: nothing yet, an open bracket, a colon
    at the end, or more lines that are indented.
    """
    parts = [first]
    index = at + 1
    while index < len(lines):
        line = _without(prefix, lines[index])
        so_far = "\n".join(parts).strip()
        open_brackets = any(so_far.count(a) > so_far.count(b) for a, b in _OPENERS.items())
        goes_on = not so_far or so_far.endswith(":") or open_brackets or line[:1].isspace()
        if not line.strip() or _PROMPT.match(line) or _CHAIN.match(line) or not goes_on:
            break
        if _HEADER.search(line) or _FRAME.match(line) or len(parts) > 20:
            break
        parts.append(line.rstrip())
        index += 1
    return "\n".join(parts).strip(), index - 1


# -- IPython ----------------------------------------------------------------------------------

_IPYTHON_OLD = re.compile(
    r"^\s*(?P<path><ipython-input-[^>]*>|<[^<> ]+>|[^\s(]\S*(?: \S+)*?\.(?:py|pyx|pyi|pxd|ipynb))"
    r" in (?P<function>[\w.<>]+)(?P<args>\(.*)?\s*$"
)
_IPYTHON_NEW = re.compile(
    r"^\s*(?:File (?P<path>[^\"'].*?):(?P<line>\d+)|(?P<cell>(?:Cell )?In(?:put In)? ?\[\d+\])"
    r"(?:, line (?P<cell_line>\d+))?)(?:, in (?P<function>[\w.<>: ]+?)(?:\(.*)?)?\s*$"
)
#: Characters; a longer line is data, and would only cost time.
_LONGEST_FRAME = 1000
_ARROW = re.compile(r"^\s*-+> ?(\d+)\b")


def _read_ipython(lines: Sequence[str], at: int) -> PastedTrace | None:
    header = _IPYTHON_HEADER.match(lines[at].strip(" >|"))
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
        if _IPYTHON_HEADER.match(bare) or _CHAIN.match(bare) or bare.startswith(("```", "~~~")):
            break
        arrow = _ARROW.match(line)
        if arrow and frames and frames[-1].line == 0:
            frames[-1] = replace(frames[-1], line=int(arrow.group(1)))
            end = index
        elif frame := _ipython_frame(line):
            frames.append(frame)
            end = index
        elif (named := _exception(bare)) and named[0].rpartition(".")[2] == short:
            kind = named[0]
            message, end = _message(lines, index, "", named[1])
            break
        index += 1
    return PastedTrace(
        raised=Raised(type=kind, message=message, frames=tuple(frames)),
        form=TraceForm.IPYTHON,
        line=at + 1,
        end_line=end + 1,
    )


def _ipython_frame(line: str) -> Frame | None:
    if len(line) > _LONGEST_FRAME:
        return None
    old = _IPYTHON_OLD.match(line)
    if old:
        return Frame(path=old["path"], line=0, function=old["function"])
    new = _IPYTHON_NEW.match(line)
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


# -- pytest -----------------------------------------------------------------------------------

_PYTEST_PLACE = re.compile(
    r"^\s*(?P<path>[^\s:>`'\"()]+\.py):(?P<line>\d+):"
    r"(?:\s+(?:in (?P<function>\S+)|(?P<type>[\w.]+)))?\s*$"
)
_PYTEST_ERROR = re.compile(r"^\s*E( {2,}|$)(?P<text>.*)$")
_PYTEST_SEPARATOR = re.compile(r"^\s*(?:_ ){3,}_?\s*$")
_PYTEST_TITLE = re.compile(r"^\s*(?:_{3,} .* _{3,}|={3,} .* ={3,}|-{3,} .* -{3,})\s*$")
_DEFINITION = re.compile(r"^\s*(?:async )?def (\w+)\(")


def _read_pytest(lines: Sequence[str], at: int, read: int) -> PastedTrace | None:
    """Read pytest's own report of one failure, from its first recognisable line.

    In the long style the place stands below its code, in the short style above it.
    """
    start = _pytest_start(lines, at, read)
    frames: list[Frame] = []
    errors: list[str] = []
    function, kind, end = "", "", at
    for index in range(start, len(lines)):
        line = lines[index]
        if index > at and (_PYTEST_TITLE.match(line) or _PROMPT.match(line)):
            break
        if _CHAIN.match(line) or (errors and kind and _DEFINITION.match(line)):
            break
        definition = _DEFINITION.match(line)
        place = _PYTEST_PLACE.match(line)
        error = _PYTEST_ERROR.match(line)
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
    named_kind, message = _pytest_error(errors)
    return PastedTrace(
        raised=Raised(type=named_kind or kind, message=message, frames=tuple(frames)),
        form=TraceForm.PYTEST,
        line=start + 1,
        end_line=end + 1,
    )


def _pytest_start(lines: Sequence[str], at: int, read: int) -> int:
    """Return where the code above the first error line begins: at its ``def``, if it shows one."""
    for index in range(at, max(read, at - 60) - 1, -1):
        if _PYTEST_TITLE.match(lines[index]) or _PROMPT.match(lines[index]):
            return index + 1
        if _DEFINITION.match(lines[index]):
            return index
    return at


def _pytest_error(errors: Sequence[str]) -> tuple[str, str]:
    """Return type and message that pytest's ``E`` lines tell."""
    texts = [text.strip() for text in errors]
    if not texts:
        return "", ""
    named = _exception(texts[0])
    if named:
        return named[0], "\n".join([named[1], *texts[1:]]).strip()
    if texts[0].startswith("assert "):
        return "AssertionError", "\n".join(texts).strip()
    return "", "\n".join(texts).strip()
