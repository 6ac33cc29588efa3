"""The text of a report → its blocks, in document order.

CommonMark, with the sessions and tracebacks that people paste without a fence put into one.
"""

from __future__ import annotations

import html
import re
import textwrap
from collections.abc import Iterator

from markdown_it import MarkdownIt
from markdown_it.token import Token

from pytest_brt.report.block_kind import code_strength, kind_of, with_prompts
from pytest_brt.report.sessions import is_prompt
from pytest_brt.report.tracebacks import HEADER
from pytest_brt.types import Block, BlockKind

_TAG = re.compile(
    r"</?(?:details|summary|p|br|div|span|b|i|em|strong|tt|code|hr|ul|ol|li|sub|sup"
    r"|h[1-6]|table|tr|td|th|tbody|thead|a|img)\b[^<>\n]*>",
    re.IGNORECASE,
)
#: Code in a line of prose, its ticks included; one group, so that it splits a line.
_INLINE = re.compile(r"((?<!`)(?:`[^`\n]+`|``.+?``)(?!`))")
_COMMENT = re.compile(r"<!--.*?-->", re.DOTALL)
_FENCE = re.compile(r"^[\s>]*(?:[-*+] |\d+[.)] )?\s*(`{3,}|~{3,})")
_BOLD_LINE = re.compile(r"^(\*\*|__)(?P<text>[^*\n]+?)(?:\1:?|:\1)$")
#: The line in which a traceback ends.
_RAISED = re.compile(r"^\s*[A-Za-z_][\w.]*(?:Error|Exception|Warning|Exit|Interrupt)\b")
#: What a traceback says before it goes on with the next of its chain.
_CHAINED = ("During handling", "The above exception")


def split_blocks(text: str) -> tuple[Block, ...]:
    """Split a report into blocks. Any text is accepted."""
    lines = without_comments(text).split("\n")
    numbered = [*_with_fences(lines)]
    # HTML around code is no block of its own: what stands in it counts.
    markdown = MarkdownIt("commonmark").disable("html_block")
    tokens: list[Token] = []
    markdown.block.parse("\n".join(line for line, _ in numbered) + "\n", markdown, {}, tokens)
    numbers = [number for _, number in numbered] + [len(lines)] * 2
    blocks: list[Block] = []
    heading = False
    for token in tokens:
        heading = heading or token.type == "heading_open"
        start = token.map[0] if token.map else 0
        if token.type == "inline":
            blocks += _read_prose(token.content, numbers[start], is_heading=heading)
            heading = False
        elif token.type in ("fence", "code_block") and token.content.strip():
            first = start + 1 if token.type == "fence" else start
            above = blocks[-1].text if blocks and blocks[-1].kind is BlockKind.PROSE else ""
            blocks += _read_code(token, numbers[first], above)
    return _with_title(blocks)


def _with_fences(lines: list[str]) -> Iterator[tuple[str, int]]:
    """Yield the lines with their 1-based numbers, and fences around what is pasted bare."""
    fence, at = "", 0
    while at < len(lines):
        end = at + 1
        marker = _FENCE.match(lines[at])
        if marker:
            closes = fence and marker[1].startswith(fence)
            fence = "" if closes else fence or marker[1]
        pasted = not fence and not marker
        if pasted and is_prompt(lines[at]):
            end = _end_of_session(lines, at)
        elif pasted and lines[at].lstrip().startswith(HEADER):
            end = _end_of_traceback(lines, at)
        else:
            pasted = False
        mark = [("```", at + 1)] if pasted else []
        yield from (*mark, *((lines[n], n + 1) for n in range(at, end)), *mark)
        at = end


def _end_of_session(lines: list[str], start: int) -> int:
    """Return where a session ends: at a blank line that no prompt follows, or at a fence."""
    end = start + 1
    while end < len(lines) and not _FENCE.match(lines[end]):
        following = next((n for n in range(end, min(end + 2, len(lines))) if lines[n].strip()), 0)
        if not lines[end].strip() and not (following and is_prompt(lines[following])):
            break
        end += 1
    return end


def _end_of_traceback(lines: list[str], start: int) -> int:
    """Return where a traceback ends: behind its last exception, or at a fence."""
    end = start + 1
    while end < len(lines) and not _FENCE.match(lines[end]):
        end += 1
        rest = " ".join(lines[end : end + 2]).strip()
        if _RAISED.match(lines[end - 1]) and not rest.startswith(_CHAINED):
            break
    return end


def _read_code(token: Token, line: int, above: str) -> Iterator[Block]:
    """Yield the block of code below the prose `above`; its traceback is a block of its own."""
    language = (token.info.split() or [""])[0].strip("{}.:,").lower()
    text = with_prompts(textwrap.dedent(token.content.expandtabs(4)).strip("\n"))
    kind = kind_of(text, language, above)
    lines = text.split("\n")
    start = next((at for at, one in enumerate(lines) if one.startswith(HEADER)), 0)
    head = "\n".join(lines[:start]).rstrip()
    if kind in (BlockKind.TRACEBACK, BlockKind.PYTHON) and code_strength(head):
        yield Block(kind=BlockKind.PYTHON, text=head, line=line, language=language)
        kind, text, line = BlockKind.TRACEBACK, "\n".join(lines[start:]), line + start
    yield Block(kind=kind, text=text, line=line, language=language)


def _read_prose(content: str, first: int, *, is_heading: bool) -> Iterator[Block]:
    """Yield a paragraph; a line of it that is bold from end to end is a heading."""
    paragraph: list[str] = []
    for number, line in enumerate([*_without_tags(content).split("\n"), ""], first):
        bold = _BOLD_LINE.match(line.strip())
        if line.strip() and not bold:
            paragraph.append(line)
            continue
        if paragraph:
            kind = BlockKind.HEADING if is_heading else BlockKind.PROSE
            text = "\n".join(paragraph)
            yield Block(kind=kind, text=text, line=number - len(paragraph))
            paragraph = []
        if bold:
            yield Block(kind=BlockKind.HEADING, text=bold["text"].strip(), line=number)


def _without_tags(text: str) -> str:
    """Return prose without HTML; what stands between backticks is code, and stays."""
    return "".join(
        part if number % 2 else html.unescape(_TAG.sub("", part))
        for number, part in enumerate(_INLINE.split(text))
    )


def _with_title(blocks: list[Block]) -> tuple[Block, ...]:
    """Make a heading of a report's first line where it is prose and more text follows."""
    if not blocks or blocks[0].kind is not BlockKind.PROSE:
        return tuple(blocks)
    first, _, rest = blocks[0].text.partition("\n")
    if len(first) > 250 or not (rest or blocks[1:]):
        return tuple(blocks)
    line = blocks[0].line
    title = Block(kind=BlockKind.HEADING, text=first.strip(), line=line)
    body = [Block(kind=BlockKind.PROSE, text=rest, line=line + 1)] if rest else []
    return (title, *body, *blocks[1:])


def without_comments(text: str) -> str:
    """Return `text` without HTML comments; the lines keep their numbers."""
    end = text.rfind("-->") + 3  # past it no comment ends, and each look for that takes long
    return _COMMENT.sub(lambda match: "\n" * match[0].count("\n"), text[:end]) + text[end:]
