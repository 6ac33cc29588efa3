"""The text of a report → its blocks, in document order, as CommonMark has them."""

from __future__ import annotations

import ast
import re
import textwrap
from collections.abc import Iterator

from markdown_it import MarkdownIt

from pytest_brt.pysource.parse import parse, parse_or_empty
from pytest_brt.report.snippets import PROMPT, SHELL, is_session
from pytest_brt.report.tracebacks import read_tracebacks
from pytest_brt.types import Block, BlockKind

#: A comment, or code in which there may be one.
_COMMENT = re.compile(r"(`[^`]+`)|<!--.*?(?:-->|\Z)", re.DOTALL)
_FENCE = r"[ \t>]*(?:```|~~~)"
_FENCED = (
    r"[ \t>]*(?:(?:[-*+]|\d+[.)])[ \t]+)?(?P<fence>`{3,}|~{3,})(?:.*\n)*?"
    r"(?:[ \t>]*(?P=fence)|\Z)"
)
#: To a blank line that no prompt follows.
_SESSION = rf"(?P<session>{PROMPT}.*(?:\n(?!{_FENCE})(?=.*\S|[ \t]*\n{PROMPT}).*)*)"
_HIDDEN = r"[ \t>]*<!--(?:.*\n)*?.*(?:-->|\Z)"
#: The first line, and lines that are bold from end to end.
_HEADING = (
    r"(?P<before>[ >]{0,3}(?:(?:[-*+]|\d+[.)])[ \t]+)?)"
    r"(?P<heading>\A(?![#<>\s]).*|(?:\*\*|__)[^*\n]+?(?:\*\*:?|__:?)[ \t]*$)"
)
_MARKED = re.compile(rf"^(?:{_FENCED}|{_HIDDEN}|{_SESSION}|{_HEADING})", re.MULTILINE)
#: Lines typed behind a bare prompt.
_TYPED = re.compile(r"^> (.*(?:\n> .*)*)", re.MULTILINE)
#: What is said of a fence that the reporter did not set.
_PASTED = "pasted"

_PYTHON = frozenset({"", "python", "py", "python3", "py3", "python2", "ipython", "pycon"})
_SHELLS = frozenset(
    {"bash", "sh", "shell", "console", "zsh", "cmd", "powershell", "terminal"}
)
#: Tags that say nothing of what stands below them.
_NOTHING = frozenset(
    {"", "text", "txt", "output", "out", "plain", "plaintext", "log", "none"}
)
#: What plain text has seldom.
_ACTS = (ast.Call, ast.Attribute, ast.Assign, ast.Import, ast.ImportFrom, ast.Return)


def split_blocks(text: str) -> Iterator[Block]:
    """Yield the blocks of a report; any text is accepted. HTML but comments counts as prose."""
    kind, added = BlockKind.PROSE, 0
    for token in (
        MarkdownIt("commonmark").disable("inline").parse(_MARKED.sub(_as_markdown, text))
    ):
        line = (token.map[0] if token.map else 0) + 1 - added
        content = _COMMENT.sub(r"\1", token.content)
        if token.type in ("inline", "html_block") and content.strip():
            yield Block(kind=kind, text=content.strip("\n"), line=line)
        elif token.info == _PASTED:
            yield _code_block(token.content, "", line)
            added += 2
        elif token.type in ("fence", "code_block") and token.content.strip():
            yield _code_block(token.content, token.info, line + (token.type == "fence"))
        kind = BlockKind.HEADING if token.type == "heading_open" else BlockKind.PROSE


def _as_markdown(part: re.Match[str]) -> str:
    """Return a session without a fence within one, and what serves as a heading as one."""
    if part["session"]:
        return f"~~~~~{_PASTED}\n{part[0]}\n~~~~~"
    return f"{part['before']}# {part['heading']}" if part["heading"] else part[0]


def _code_block(text: str, info: str, line: int) -> Block:
    """Return the block of code below a fence's `info`."""
    language = (info.split() or [""])[0].strip("{}.:,").lower()
    text = _with_prompts(textwrap.dedent(text).strip("\n"))
    return Block(kind=_kind_of(text, language), text=text, line=line, language=language)


def _with_prompts(text: str) -> str:
    """Return a session whose prompts are bare with those of Python, any other text as it is."""
    typed = text.removeprefix("> ").replace("\n> ", "\n")
    if not text.startswith("> ") or not _is_code(typed):
        return text
    return _TYPED.sub(lambda lines: ">>> " + lines[1].replace("\n> ", "\n... "), text)


def _kind_of(text: str, language: str) -> BlockKind:
    """Say what a block is, by its fence's tag in lower case."""
    if is_session(text):
        return BlockKind.REPL
    if language in _SHELLS or SHELL.match(text):
        return BlockKind.SHELL
    if language in _PYTHON and _is_code(text):
        return BlockKind.PYTHON
    if read_tracebacks(text):
        return BlockKind.TRACEBACK
    if language in _PYTHON - _NOTHING:
        return BlockKind.PYTHON
    return BlockKind.OUTPUT if language in _NOTHING else BlockKind.FILE


def _is_code(text: str) -> bool:
    """Say whether a text, or its lines above the first that is no Python, does something."""
    try:
        tree = parse(text)
    except SyntaxError as error:
        tree = parse_or_empty("\n".join(text.split("\n")[: (error.lineno or 1) - 1]))
    # Without what is output with a label before it, as "Result: Total(3)" is.
    body = [node for node in tree.body if not isinstance(node, ast.AnnAssign) or node.value]
    return any(isinstance(inner, _ACTS) for node in body for inner in ast.walk(node))
