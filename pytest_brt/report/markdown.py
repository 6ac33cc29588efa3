"""The text of a report → its blocks, in document order.

CommonMark, with the sessions and tracebacks that people paste without a fence put into one.
"""

from __future__ import annotations

import ast
import re
import textwrap
from collections.abc import Iterator
from dataclasses import replace

from markdown_it import MarkdownIt
from markdown_it.token import Token

from pytest_brt.pysource.parse import parse_or_empty, tree_of
from pytest_brt.report.sessions import PROMPT, is_prompt
from pytest_brt.report.tracebacks import HEADER, read_tracebacks
from pytest_brt.types import Block, BlockKind

#: Code in a line of prose, which stays, or a tag around it.
_TAG = re.compile(
    r"(`[^`\n]+`)|</?(?:details|summary|p|br|div|span|b|i|em|strong|tt|code|hr|ul|ol|li|sub|sup"
    r"|h[1-6]|table|tr|td|th|tbody|thead|a|img)\b[^<>\n]*>",
    re.IGNORECASE,
)
_COMMENT = re.compile(r"<!--.*?-->", re.DOTALL)
#: A line that is bold from end to end; one group, so that it splits a paragraph.
_BOLD_LINE = re.compile(r"^[ \t]*((?:\*\*|__)[^*\n]+?(?:\*\*:?|__:?))[ \t]*$", re.MULTILINE)
_FENCE = r"[ \t>]*(?:```|~~~)"
_FENCED = (
    r"[ \t>]*(?:(?:[-*+]|\d+[.)])[ \t]+)?(?P<fence>`{3,}|~{3,})(?:.*\n)*?(?:[ \t>]*(?P=fence)|\Z)"
)
#: To a blank line that no prompt follows.
_SESSION = rf"{PROMPT}.*(?:\n(?!{_FENCE})(?=.*\S|[ \t]*\n{PROMPT}).*)*"
#: To its last exception.
_TRACEBACK = (
    rf"[ \t]*{re.escape(HEADER)}(?:.*\n)*?(?:.*(?=\n{_FENCE}|\Z)|[ \t]*[A-Za-z_][\w.]*"
    r"(?:Error|Exception|Warning|Exit|Interrupt)\b.*"
    r"(?!\n[ \t]*\n?[ \t]*(?:During handling|The above exception)))"
)
#: Sessions and tracebacks outside of fences.
_PASTED = re.compile(rf"^(?:{_FENCED}|{_SESSION}|{_TRACEBACK})", re.MULTILINE)

_PYTHON = frozenset({"python", "py", "python3", "py3", "python2", "ipython", "pycon", "doctest"})
_SHELLS = frozenset({"bash", "sh", "shell", "console", "zsh", "cmd", "powershell", "terminal"})
#: Tags that say nothing of what stands below them.
_NOTHING = frozenset({"", "text", "txt", "output", "out", "plain", "plaintext", "log", "none"})
_COMMAND = re.compile(r"^\s*(?:\([\w.-]+\) ?)?(?:[\w.-]+@[\w.-]+[^$#%\n]*)?[$%❯→➜λ] \S")
_DIFF = re.compile(r"^(?:diff --git |--- \S+.*\n\+\+\+ \S+|@@ -\d+)", re.MULTILINE)
#: What plain text has seldom.
_ACTS = (ast.Call, ast.Attribute, ast.Assign, ast.Import, ast.ImportFrom, ast.Return)
#: Characters of the first line of a report that may be its title.
_TITLE = 250


def split_blocks(text: str) -> tuple[Block, ...]:
    """Split a report into blocks. Any text is accepted."""
    text = without_comments(text)
    # HTML around code is no block of its own: what stands in it counts.
    markdown = MarkdownIt("commonmark").disable("html_block")
    blocks: list[Block] = []
    start = 0
    for match in [*_PASTED.finditer(text), None]:
        if match and match["fence"]:
            continue
        end = match.start() if match else len(text)
        line = text.count("\n", 0, start) + 1
        blocks += _read_markdown(markdown, text[start:end], line)
        if match:
            blocks.append(_read_code(match[0], "", line + text.count("\n", start, end)))
            start = match.end()
    if blocks and blocks[0].kind is BlockKind.PROSE and "\n" in text.strip():
        blocks[:1] = _with_title(blocks[0])
    return tuple(blocks)


def _read_markdown(markdown: MarkdownIt, text: str, line: int) -> Iterator[Block]:
    """Yield the blocks of Markdown that begins in a line of the report."""
    tokens: list[Token] = []
    markdown.block.parse(text, markdown, {}, tokens)
    kind = BlockKind.PROSE
    for token in tokens:
        start = line + (token.map[0] if token.map else 0)
        if token.type == "inline":
            yield from _read_prose(token.content, start, kind)
        elif token.type in ("fence", "code_block") and token.content.strip():
            yield _read_code(token.content, token.info, start + (token.type == "fence"))
        kind = BlockKind.HEADING if token.type == "heading_open" else BlockKind.PROSE


def _read_prose(content: str, line: int, kind: BlockKind) -> Iterator[Block]:
    """Yield a paragraph; a line of it that is bold from end to end is a heading."""
    for number, part in enumerate(_BOLD_LINE.split(_TAG.sub(r"\1", content))):
        if number % 2:
            yield Block(kind=BlockKind.HEADING, text=part.strip("*_: "), line=line)
        elif part.strip():
            blank = len(part) - len(part.lstrip("\n"))
            yield Block(kind=kind, text=part.strip("\n"), line=line + blank)
        line += part.count("\n")


def _read_code(text: str, info: str, line: int) -> Block:
    """Return the block of code below a fence's `info`."""
    language = (info.split() or [""])[0].strip("{}.:,").lower()
    text = _with_prompts(textwrap.dedent(text.expandtabs(4)).strip("\n"))
    return Block(kind=_kind_of(text, language), text=text, line=line, language=language)


def _with_prompts(text: str) -> str:
    """Return a text in which ``> `` stands before each line of code as a session."""
    typed = "\n".join(re.findall(r"^> (.*)$", text, re.MULTILINE))
    if not text.startswith("> ") or not _is_code(typed):
        return text
    return re.sub(r"^> (?=(\s)?)", lambda more: "... " if more[1] else ">>> ", text, flags=re.M)


def _kind_of(text: str, language: str) -> BlockKind:
    """Say what a block is, by its fence's tag in lower case."""
    if any(map(is_prompt, text.split("\n"))) and language not in ("diff", "patch"):
        return BlockKind.REPL
    if language not in _PYTHON:
        if _DIFF.search(text):
            return BlockKind.FILE
        if language in _SHELLS or _COMMAND.match(text):
            return BlockKind.SHELL
    shown = read_tracebacks(text)
    is_long = HEADER in text or any(raised.frames for raised in shown)
    if shown and (is_long or len(text.split("\n")) <= 2):
        return BlockKind.TRACEBACK
    if language in _PYTHON or (not language and _is_code(text)):
        return BlockKind.PYTHON
    return BlockKind.OUTPUT if language in _NOTHING else BlockKind.FILE


def _is_code(text: str) -> bool:
    """Say whether a text, or its lines above the first that is no Python, does something."""
    try:
        body = tree_of(text).body
    except SyntaxError as error:
        body = parse_or_empty("\n".join(text.split("\n")[: (error.lineno or 1) - 1])).body
    labels = [node for node in body if isinstance(node, ast.AnnAssign) and node.value is None]
    nodes = (inner for node in body if node not in labels for inner in ast.walk(node))
    return any(isinstance(node, _ACTS) for node in nodes)


def _with_title(block: Block) -> list[Block]:
    """Return the first paragraph of a report with its first line as a heading."""
    title, _, rest = block.text.partition("\n")
    if len(title) > _TITLE:
        return [block]
    body = [replace(block, text=rest, line=block.line + 1)] if rest else []
    return [replace(block, kind=BlockKind.HEADING, text=title.strip()), *body]


def without_comments(text: str) -> str:
    """Return `text` without HTML comments; the lines keep their numbers."""
    end = text.rfind("-->") + 3  # past it no comment ends, and each look for that takes long
    return _COMMENT.sub(lambda match: "\n" * match[0].count("\n"), text[:end]) + text[end:]
