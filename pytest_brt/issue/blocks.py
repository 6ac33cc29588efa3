"""The text of a report → its blocks, in document order, and what each is."""

from __future__ import annotations

import ast
import html
import re
import textwrap
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace

from pytest_brt.issue.sessions import is_prompt
from pytest_brt.issue.tracebacks import read_tracebacks
from pytest_brt.syntax.parse import parse_or_empty, tree_of
from pytest_brt.types import Block, BlockKind

_FENCE = re.compile(r"^(?P<indent>[ \t>]*)(?P<mark>`{3,}|~{3,})[ \t]*(?P<info>[^`\n]*)$")
_TAG = re.compile(
    r"</?(?:details|summary|p|br|div|span|b|i|em|strong|tt|code|hr|ul|ol|li|sub|sup"
    r"|h[1-6]|table|tr|td|th|tbody|thead|a|img)\b[^<>\n]*>",
    re.IGNORECASE,
)
#: Code in a line of prose, its ticks included; one group, so that it splits a line.
_INLINE = re.compile(r"((?<!`)(?:`[^`\n]+`|``.+?``)(?!`))")
_COMMENT = re.compile(r"<!--.*?-->", re.DOTALL)
_HEADING = re.compile(
    r"^ {0,3}(?:#{1,6}[ \t]*(?P<hash>\S.*?)[ \t#]*"
    r"|(?P<stars>\*\*|__)(?P<bold>[^*\n]+?)(?P=stars):?)$"
)
_LIST = re.compile(r"^\s*(?:[-*+•]|\d{1,3}[.)])\s+\S")
_TRACEBACK = re.compile(r"^\s*Traceback \(most recent call last\)")
_TRACE_END = re.compile(r"^[A-Za-z_][\w.]*(?:Error|Exception|Warning|Exit|Interrupt)\b")

#: Characters of one paragraph, and of all prose of a report, that are read; and blocks of code.
_MOST_IN_ONE, _MOST_PROSE, _MOST_CODES = 10_000, 100_000, 300


def split_blocks(text: str) -> tuple[Block, ...]:
    """Split a report into blocks. Any text is accepted; code outside of fences is found too."""
    text = without_comments(text)
    lines = text.split("\n")
    blocks: list[Block] = []
    #: The lines of the paragraphs that are being read.
    prose: list[str] = []
    position = 0

    def flush() -> None:
        _add_prose(blocks, prose, position - len(prose) + 1)
        prose.clear()

    while position < len(lines):
        line = lines[position]
        fence = _FENCE.match(line)
        if fence:
            flush()
            position = _read_fence(lines, position, fence, blocks)
        elif is_prompt(line):
            flush()
            position = _read_session(lines, position, blocks)
        elif _TRACEBACK.match(line):
            flush()
            position = _read_traceback(lines, position, blocks)
        elif _starts_indented(lines, position, prose):
            end = _indented_end(lines, position)
            body = "\n".join(lines[position:end]).expandtabs(4)
            flush()
            _add_code(blocks, textwrap.dedent(body).strip("\n"), position + 1, "")
            position = end
        else:
            prose.append(line)
            position += 1
    flush()
    return _with_title(blocks)


def readable(blocks: Iterable[Block]) -> Iterator[Block]:
    """Yield the blocks, with no more than people write: the rest of it is a log."""
    left, codes = _MOST_PROSE, 0
    for block in blocks:
        if block.kind not in (BlockKind.PROSE, BlockKind.HEADING):
            codes += 1
            if codes <= _MOST_CODES:
                yield block
            continue
        most = min(left, _MOST_IN_ONE)
        # A line that is not there to its end may say something else.
        whole = len(block.text) <= most
        text = block.text if whole else block.text[:most].rpartition("\n")[0]
        left -= len(text)
        if text:
            yield block if whole else replace(block, text=text)


def _with_title(blocks: list[Block]) -> tuple[Block, ...]:
    """Make a heading of the report's first line when more text follows right below it."""
    if not blocks or blocks[0].kind is not BlockKind.PROSE:
        return tuple(blocks)
    first, newline, rest = blocks[0].text.partition("\n")
    if len(first) > 250 or (not newline and len(blocks) == 1):
        return tuple(blocks)
    title = Block(kind=BlockKind.HEADING, text=first.strip(), line=blocks[0].line)
    if not newline:
        return (title, *blocks[1:])
    body = Block(kind=BlockKind.PROSE, text=rest, line=blocks[0].line + 1)
    return (title, body, *blocks[1:])


def without_comments(text: str) -> str:
    """Return `text` without HTML comments, which no reader sees; the lines keep their numbers."""
    end = text.rfind("-->") + 3  # past it no comment ends, and each look for that takes long
    return _COMMENT.sub(lambda match: "\n" * match[0].count("\n"), text[:end]) + text[end:]


def _read_fence(lines: list[str], position: int, fence: re.Match[str], blocks: list[Block]) -> int:
    mark = fence["mark"]
    end = position + 1
    while end < len(lines):
        closing = lines[end].lstrip(" \t>").rstrip()
        if closing and set(closing) == {mark[0]} and len(closing) >= len(mark):
            break
        end += 1
    quoted = ">" in fence["indent"]
    body = [
        line.lstrip(" ").removeprefix(">").removeprefix(" ") if quoted else line
        for line in lines[position + 1 : end]
    ]
    language = (fence["info"].strip().split() or [""])[0].strip("{}.:,").lower()
    text = _dedented("\n".join(body)).strip("\n")
    if text.strip():
        _add_code(blocks, text, position + 2, language)
    return end + 1


def _dedented(text: str) -> str:
    """Return `text` without common indentation; blanks in empty lines are a document's own."""
    plain = textwrap.dedent(text)
    first = next((line for line in text.split("\n") if line.strip()), "")
    margin = len(first) - len(next((line for line in plain.split("\n") if line.strip()), ""))
    return "\n".join(line[margin:] for line in text.split("\n"))


def _read_session(lines: list[str], position: int, blocks: list[Block]) -> int:
    """A session outside of fences: to the first blank line that no prompt follows."""
    end = position
    while end < len(lines):
        if not lines[end].strip():
            following = next((line for line in lines[end + 1 : end + 3] if line.strip()), "")
            if not is_prompt(following) and not following.startswith(("    ", "\t")):
                break
        if _FENCE.match(lines[end]):
            break
        end += 1
    body = textwrap.dedent("\n".join(lines[position:end]).expandtabs(4)).strip("\n")
    blocks.append(Block(kind=BlockKind.REPL, text=body, line=position + 1))
    return end


def _read_traceback(lines: list[str], position: int, blocks: list[Block]) -> int:
    end = position + 1
    while end < len(lines) and not _FENCE.match(lines[end]):
        line = lines[end]
        end += 1
        following = next((other for other in lines[end : end + 3] if other.strip()), "")
        chained = following.startswith(("During handling", "The above exception"))
        if _TRACE_END.match(line.strip()) and "Traceback (" not in line and not chained:
            break
    body = "\n".join(lines[position:end]).strip("\n")
    blocks.append(Block(kind=BlockKind.TRACEBACK, text=body, line=position + 1))
    return end


def _starts_indented(lines: list[str], position: int, prose: list[str]) -> bool:
    """Say whether an indented code block starts here, and not a list item's second line."""
    line = lines[position]
    if not line.startswith(("    ", "\t")) or not line.strip() or _LIST.match(line):
        return False
    above = prose[-1].rstrip() if prose else ""
    return not above or above.endswith(":")


def _indented_end(lines: list[str], position: int) -> int:
    end = position
    while end < len(lines) and (not lines[end].strip() or lines[end].startswith(("    ", "\t"))):
        end += 1
    while end > position and not lines[end - 1].strip():
        end -= 1
    return max(end, position + 1)


def _add_code(blocks: list[Block], text: str, line: int, language: str) -> None:
    """Add a block; code that its traceback follows is a block of its own."""
    before = blocks[-1].text if blocks and blocks[-1].kind is BlockKind.PROSE else ""
    kind = classify(text, language, before)
    lines = text.split("\n")
    start = next((at for at, one in enumerate(lines) if _opens_traceback(one)), 0)
    head = "\n".join(lines[:start]).rstrip()
    if kind in (BlockKind.TRACEBACK, BlockKind.PYTHON) and code_strength(head):
        blocks.append(Block(kind=BlockKind.PYTHON, text=head, line=line, language=language))
        kind, text = BlockKind.TRACEBACK, "\n".join(lines[start:])
        line += start
    blocks.append(Block(kind=kind, text=text, line=line, language=language))


def _without_tags(line: str) -> str:
    """Return a line of prose without HTML; what stands between backticks is code, and stays."""
    return "".join(
        part if number % 2 else html.unescape(_TAG.sub("", part))
        for number, part in enumerate(_INLINE.split(line))
    )


def _add_prose(blocks: list[Block], prose: Sequence[str], first: int) -> None:
    """Add the paragraphs and headings in lines of prose, the first of which has that number."""
    paragraph: list[str] = []
    number = first

    def close() -> None:
        text = "\n".join(paragraph).strip("\n")
        if text.strip():
            blocks.append(Block(kind=BlockKind.PROSE, text=text, line=number - len(paragraph)))
        paragraph.clear()

    for number, raw in enumerate(prose, first):
        line = _without_tags(raw)
        heading = _HEADING.match(line)
        if heading:
            close()
            text = (heading["hash"] or heading["bold"] or "").strip()
            blocks.append(Block(kind=BlockKind.HEADING, text=text, line=number))
        elif not line.strip():
            close()
        else:
            paragraph.append(line)
    number += 1
    close()


_PYTHON = frozenset({"python", "py", "python3", "py3", "python2", "ipython", "ipython3"})
_SESSIONS = frozenset({"pycon", "python-repl", "python-console", "pyconsole", "doctest"})
_SHELLS = frozenset(
    {"bash", "sh", "shell", "console", "zsh", "fish", "cmd", "bat", "powershell", "ps1"}
    | {"shell-session", "shellsession", "terminal", "batch"}
)
_FILES = frozenset(
    {"ini", "cfg", "toml", "yaml", "yml", "json", "rst", "rest", "restructuredtext", "xml", "html"}
    | {"jinja", "jinja2", "diff", "patch", "css", "js", "javascript", "csv", "md", "markdown"}
    | {"tex", "latex", "dockerfile", "makefile", "c", "c++", "cpp", "sql", "conf", "cython"}
)
_OUTPUTS = frozenset({"text", "txt", "output", "out", "plain", "plaintext", "log", "none"})
_COMMAND = re.compile(r"^\s*(?:\([\w.-]+\) ?)?(?:[\w.-]+@[\w.-]+[^$#%\n]*)?[$%❯→➜λ] \S")
_DIFF = re.compile(r"^(?:diff --git |--- \S+.*\n\+\+\+ \S+|@@ -\d+)", re.MULTILINE)
_RST = re.compile(r"^\s*(?:\.\. [\w:-]+::|:[\w-]+:`|=+ =+\s*$)", re.MULTILINE)
_OUTPUT_CUE = re.compile(
    r"\b(?:returns?|returned|outputs?|gives?|gave|prints?|printed|produces?|produced|results?"
    r"|yields?|get|got|see|shows?|displays?|renders?|raises?|fails?|error|message|traceback)\b"
    r"[^.]*:?\s*$",
    re.IGNORECASE,
)


def classify(text: str, language: str, before: str) -> BlockKind:
    """Say what a block is, by its fence's tag in lower case and the prose right above it."""
    lines = [line for line in text.split("\n") if line.strip()]
    if not lines:
        return BlockKind.OUTPUT
    if any(is_prompt(line) for line in lines) and language not in ("diff", "patch"):
        return BlockKind.REPL
    if language in _FILES or (_DIFF.search(text) and language not in _PYTHON):
        return BlockKind.FILE
    if _COMMAND.match(lines[0]):
        return BlockKind.SHELL
    if language in _SHELLS and not _opens_traceback(lines[0]):
        return BlockKind.SHELL
    if language == "pytb" or _is_traceback(text):
        return BlockKind.TRACEBACK
    if language in _PYTHON | _SESSIONS:
        return BlockKind.PYTHON
    if language in _OUTPUTS:
        return BlockKind.OUTPUT
    return _guess(text, before)


def _guess(text: str, before: str) -> BlockKind:
    announced = bool(_OUTPUT_CUE.search(before.rstrip()))
    strength = code_strength(text) or min(code_strength(_start(text)), 1)
    if strength >= 2 or (strength == 1 and not announced):
        return BlockKind.PYTHON
    return BlockKind.FILE if _RST.search(text) else BlockKind.OUTPUT


def _start(text: str) -> str:
    """Return what stands above the line that is not Python, if that calls or imports, else ""."""
    start = ""
    try:
        tree_of(text)
    except SyntaxError as error:
        start = "\n".join(text.split("\n")[: (error.lineno or 1) - 1])
    acts = (ast.Call, ast.Import, ast.ImportFrom)
    return start if any(isinstance(n, acts) for n in ast.walk(parse_or_empty(start))) else ""


def code_strength(text: str) -> int:
    """Say how surely `text` is Python: 2 surely, 1 an expression to run, 0 not or a bare value."""
    body = parse_or_empty(text).body
    strength = 0
    for statement in body:
        if not isinstance(statement, ast.Expr):
            if isinstance(statement, ast.AnnAssign) and statement.value is None:
                continue  # "word: word" in plain text
            return 2
        if any(isinstance(node, ast.Call | ast.Attribute) for node in ast.walk(statement)):
            strength = max(strength, 1)
    return strength if strength == 0 or len(body) == 1 else 2


def _opens_traceback(line: str) -> bool:
    return "Traceback (most recent call last)" in line


def _is_traceback(text: str) -> bool:
    found = read_tracebacks(text)
    if not found:
        return False
    if any(raised.frames for raised in found) or _opens_traceback(text):
        return True
    return len([line for line in text.split("\n") if line.strip()]) <= 2
