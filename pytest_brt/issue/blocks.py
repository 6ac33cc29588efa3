"""The text of a report → its blocks, in document order.

Markdown, and what people paste into it without a fence: sessions, tracebacks, indented code.
"""

from __future__ import annotations

import html
import re
import textwrap
from collections.abc import Callable, Iterable, Iterator
from dataclasses import replace

from markdown_it import MarkdownIt
from markdown_it.ruler import RuleOptionsType
from markdown_it.rules_block import StateBlock, fence
from markdown_it.token import Token

from pytest_brt.issue.kinds import code_strength, kind_of, opens_traceback, with_prompts
from pytest_brt.issue.sessions import is_prompt
from pytest_brt.types import Block, BlockKind

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
_TRACEBACK = "Traceback (most recent call last)"
_TRACE_END = re.compile(r"^[A-Za-z_][\w.]*(?:Error|Exception|Warning|Exit|Interrupt)\b")
#: What a traceback says before it goes on with the next of its chain.
_CHAINED = ("During handling", "The above exception")

#: Characters of one paragraph, and of all prose of a report, that are read; and blocks of code.
_MOST_IN_ONE, _MOST_PROSE, _MOST_CODES = 10_000, 100_000, 300


def split_blocks(text: str) -> tuple[Block, ...]:
    """Split a report into blocks. Any text is accepted; code outside of fences is found too."""
    markdown = _markdown()
    tokens: list[Token] = []
    markdown.block.parse(f"{without_comments(text)}\n", markdown, {}, tokens)
    blocks: list[Block] = []
    codes = 0
    for token in tokens:
        if token.type == "inline":
            blocks += _read_prose(token)
        elif token.type in _CODES and token.content.strip():
            codes += 1
            above = blocks[-1].text if blocks and blocks[-1].kind is BlockKind.PROSE else ""
            if codes <= _MOST_CODES:
                blocks += _read_code(token, above)
            else:
                blocks.append(Block(kind=BlockKind.OUTPUT, text=token.content, line=1))
    return _with_title(blocks)


def _markdown() -> MarkdownIt:
    """Return a parser of paragraphs, quotations and code, fenced or not."""
    markdown = MarkdownIt("zero").enable(["fence", "blockquote"])
    ruler = markdown.block.ruler
    ends: RuleOptionsType = {"alt": ["paragraph", "blockquote"]}
    for name, rule in (("traceback", _traceback), ("session", _session)):
        ruler.before("fence", name, rule, ends)
    ruler.after("fence", "indented", _indented, ends)
    ruler.at("fence", _fence, ends)
    ruler.at("paragraph", _paragraph)
    return markdown


#: The tokens of code; those with a kind need no guess.
_CODES = {
    "fence": None,
    "indented": None,
    "session": BlockKind.REPL,
    "traceback": BlockKind.TRACEBACK,
}


def _line(state: StateBlock, number: int) -> str:
    """Return a line without the indentation and the marks of quotations before it."""
    return state.src[state.bMarks[number] + state.tShift[number] : state.eMarks[number]]


def _next_line(state: StateBlock, number: int, end: int) -> int:
    """Return which of two lines is the first that is not empty, `end` when none is."""
    lines = range(number, min(number + 2, end))
    return next((line for line in lines if not state.isEmpty(line)), end)


def _is_indented(state: StateBlock, number: int) -> bool:
    return bool(state.sCount[number] - state.blkIndent >= 4)


def _opens_fence(state: StateBlock, number: int) -> bool:
    return _line(state, number).startswith(("```", "~~~"))


def _push(state: StateBlock, kind: str, start: int, end: int) -> bool:
    """Make a token of lines, and say that they are read."""
    token = state.push(kind, "", 0)
    token.map = [start, end]
    token.content = state.getLines(start, end, state.blkIndent, False)
    state.line = end
    return True


def _fence(state: StateBlock, start: int, end: int, silent: bool) -> bool:
    """Read a fence; code in it that is less deep than the fence keeps its own indentation."""
    if not fence(state, start, end, silent):
        return False
    if not silent:
        token = state.tokens[-1]
        stop = start + 1 + token.content.count("\n")
        token.content = state.getLines(start + 1, stop, state.blkIndent, False)
    return True


def _session(state: StateBlock, start: int, end: int, silent: bool) -> bool:
    """Read a session: to the first blank line that no prompt follows, or a fence."""
    if not is_prompt(_line(state, start)):
        return False
    stop = start + 1
    while not silent and stop < end and not _opens_fence(state, stop):
        if state.isEmpty(stop):
            after = _next_line(state, stop + 1, end)
            goes_on = after < end and (is_prompt(_line(state, after)) or _is_indented(state, after))
            if not goes_on:
                break
        stop += 1
    return silent or _push(state, "session", start, stop)


def _traceback(state: StateBlock, start: int, end: int, silent: bool) -> bool:
    """Read a traceback: to the line with its exception, or a fence."""
    if not _line(state, start).startswith(_TRACEBACK):
        return False
    stop, ended = start + 1, silent
    while stop < end and not ended and not _opens_fence(state, stop):
        line = _line(state, stop)
        stop += 1
        after = _next_line(state, stop, end)
        chained = after < end and _line(state, after).startswith(_CHAINED)
        ended = bool(_TRACE_END.match(line)) and "Traceback (" not in line and not chained
    return silent or _push(state, "traceback", start, stop)


def _indented(state: StateBlock, start: int, end: int, silent: bool) -> bool:
    """Read code four columns deep, below a blank line or a colon; nothing of a list."""
    above = _line(state, start - 1).rstrip() if start else ""
    if not _is_indented(state, start) or _LIST.match(_line(state, start)):
        return False
    if above and not above.endswith(":"):
        return False
    stop = start + 1
    while stop < end and (state.isEmpty(stop) or _is_indented(state, stop)):
        stop += 1
    return silent or _push(state, "indented", start, stop)


def _paragraph(state: StateBlock, start: int, end: int, silent: bool) -> bool:
    """Read prose: to a blank line or one that is something else, however deep it is."""
    others: list[Callable[..., bool]] = state.md.block.ruler.getRules("paragraph")
    stop = start + 1
    while stop < end and not state.isEmpty(stop):
        # Below zero is the line of a quotation that has no mark.
        if state.sCount[stop] >= 0 and any(other(state, stop, end, True) for other in others):
            break
        stop += 1
    return _push(state, "inline", start, stop)


def _read_code(token: Token, above: str) -> Iterator[Block]:
    """Yield the block of code below the prose `above`; its traceback is a block of its own."""
    first, _ = token.map or (0, 0)
    line = first + 2 if token.type == "fence" else first + 1
    language = (token.info.split() or [""])[0].strip("{}.:,").lower()
    text = token.content if token.type == "fence" else token.content.expandtabs(4)
    text = with_prompts(_dedented(text).strip("\n"))
    kind = _CODES[token.type] or kind_of(text, language, above)
    lines = text.split("\n")
    start = next((at for at, one in enumerate(lines) if opens_traceback(one)), 0)
    head = "\n".join(lines[:start]).rstrip()
    if kind in (BlockKind.TRACEBACK, BlockKind.PYTHON) and code_strength(head):
        yield Block(kind=BlockKind.PYTHON, text=head, line=line, language=language)
        kind, text = BlockKind.TRACEBACK, "\n".join(lines[start:])
        line += start
    yield Block(kind=kind, text=text, line=line, language=language)


def _dedented(text: str) -> str:
    """Return `text` without common indentation; blanks in empty lines are a document's own."""
    plain = textwrap.dedent(text)
    first = next((line for line in text.split("\n") if line.strip()), "")
    margin = len(first) - len(next((line for line in plain.split("\n") if line.strip()), ""))
    return "\n".join(line[margin:] for line in text.split("\n"))


def _read_prose(token: Token) -> Iterator[Block]:
    """Yield the paragraphs and headings in lines of prose; lines of tags alone part them."""
    first, _ = token.map or (0, 0)
    paragraph: list[str] = []
    for number, line in enumerate([*_without_tags(token.content).split("\n"), ""], first + 1):
        heading = _HEADING.match(line)
        if line.strip() and not heading:
            paragraph.append(line)
            continue
        if paragraph:
            text = "\n".join(paragraph)
            yield Block(kind=BlockKind.PROSE, text=text, line=number - len(paragraph))
            paragraph = []
        if heading:
            text = (heading["hash"] or heading["bold"]).strip()
            yield Block(kind=BlockKind.HEADING, text=text, line=number)


def _without_tags(text: str) -> str:
    """Return prose without HTML; what stands between backticks is code, and stays."""
    return "".join(
        part if number % 2 else html.unescape(_TAG.sub("", part))
        for number, part in enumerate(_INLINE.split(text))
    )


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
