"""What a test claims of the files that a command writes, or prints anew, whole or as a diff."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass

from pytest_brt.errors import PatchProblem
from pytest_brt.observe.run_commands import HUNK, Played, Stage
from pytest_brt.oracle.write import literal, quoted
from pytest_brt.patches.scan import scan_diff
from pytest_brt.reading.compare import squeezed
from pytest_brt.reading.steps import Role
from pytest_brt.types import OracleKind

_UNSTEADY = re.compile(r"/tmp/|/brt-|\d\d:\d\d:\d\d|0x[0-9a-f]{4,}")
#: Fewer lines are no document.
_LEAST = 2


@dataclass(frozen=True, slots=True)
class CommandClaim:
    """What a test asserts after a command has run."""

    kind: OracleKind
    lines: tuple[str, ...]
    sentence: str
    score: float
    reason: str


def written(stage: Stage, played: Played) -> Iterator[CommandClaim]:
    """Yield what must become of files: not what the report shows, and what it expects."""
    before = {file.path: file.content for file in played.files}
    for path, content in played.written:
        if path not in before:
            yield from _made(stage, played, path, content)
        elif shown_lines(before[path]) != shown_lines(content):
            yield from _became(stage, played, path, content)


def run_of(played: Played) -> str:
    """Return the command as one types it, not too long."""
    return " ".join((played.command.name, *played.command.arguments))[:100]


def _made(stage: Stage, played: Played, path: str, content: str) -> Iterator[CommandClaim]:
    """A new file must not look as reported."""
    for quote in stage.world.quotes:
        if quote.path != path or quote.role is Role.EXPECTED:
            continue
        lines = {squeezed(line) for line in quote.text.split("\n") if line.strip()}
        seen = {squeezed(line) for line in content.split("\n") if line.strip()}
        if lines and len(lines & seen) * 2 >= len(lines):
            yield _not_so(played, path, content, 0.0, "the report shows this file")


def _became(stage: Stage, played: Played, path: str, content: str) -> Iterator[CommandClaim]:
    """A file that the command writes anew must not become what the report shows.

    What it should become is believed where it did become, line for line, what is shown.
    """
    alike = {
        quote.role
        for quote in stage.world.documents
        if shown_lines(quote.text) == shown_lines(content)
    }
    if not alike or alike & {Role.EXPECTED, Role.CONTRAST}:
        return
    for quote in stage.world.documents:
        if quote.role is Role.EXPECTED:
            text = quote.text.strip("\n") + "\n"
            yield CommandClaim(
                OracleKind.EQUALS,
                (_reading(path), f"assert written == {literal(text)}"),
                f"`{run_of(played)}` should make of {path} what the report expects.",
                OracleKind.EQUALS.prior + 0.1,
                "the report shows what this file should become",
            )
    yield _not_so(played, path, content, 0.1, "the report shows what this file becomes")


def _not_so(played: Played, path: str, content: str, more: float, reason: str) -> CommandClaim:
    return CommandClaim(
        OracleKind.NO_PRINT,
        (_reading(path), f"assert written != {literal(content)}"),
        f"`{run_of(played)}` must not write {path} as reported.",
        OracleKind.NO_PRINT.prior + more,
        reason,
    )


def _reading(path: str) -> str:
    return f'written = (tmp_path / {quoted(path)}).read_text(encoding="utf-8")'


def shown_lines(text: str) -> list[str]:
    """Return the lines of `text` as a report can show them."""
    return [line.rstrip() for line in text[:4000].strip("\n").split("\n")]


def formatted(stage: Stage, played: Played) -> Iterator[CommandClaim]:
    """Yield what must be printed: not what the report shows, and what it expects.

    It is believed where, line for line, what is shown did come out.
    """
    out = played.printed
    before = _read_by(played)
    if len(shown_lines(out)) < _LEAST or _UNSTEADY.search(out):
        return
    results = _results(out, before)
    if any(shown_lines(content) in results for content in before):
        return  # nothing is made of it
    shown = (*stage.world.documents, *(q for q in stage.world.quotes if not q.path))
    roles = {
        quote.role
        for quote in shown
        if any(lines in results for lines in _results(quote.text, before))
    }
    if not roles or roles & {Role.EXPECTED, Role.CONTRAST}:
        return
    for quote in () if HUNK.search(out) else stage.world.documents:
        if quote.role is Role.EXPECTED and len(shown_lines(quote.text)) >= _LEAST:
            text = quote.text.strip("\n") + "\n"
            yield CommandClaim(
                OracleKind.EQUALS,
                (f"assert done.stdout == {literal(text)}",),
                f"`{run_of(played)}` should print what the report expects.",
                OracleKind.EQUALS.prior + 0.1,
                "the report shows what should be made of this file",
            )
    yield CommandClaim(
        OracleKind.NO_PRINT,
        (f"assert done.stdout != {literal(out)}",),
        f"`{run_of(played)}` must not print what the report shows.",
        OracleKind.NO_PRINT.prior + 0.1,
        "the report shows what is made of this file, line for line",
    )


def _read_by(played: Played) -> list[str]:
    """Return what a command was given: the files that it names, or all, and its input."""
    command = played.command
    named = [file.content for file in played.files if file.path in command.arguments]
    given = [command.stdin] if command.stdin else []
    return given + (named or [file.content for file in played.files])


def _results(text: str, before: list[str]) -> list[list[str]]:
    """Return the documents that a text stands for: itself, or what it makes of a file as a diff."""
    if not HUNK.search(text):
        return [shown_lines(text)]
    return [shown_lines(made) for content in before if (made := applied(text, content))]


def applied(diff: str, content: str) -> str:
    r"""Return what a unified diff makes of `content`, "" when it is not of it.

    >>> applied("@@ -1,2 +1,2 @@\n a\n-b\n+c\n", "a\nb\n")
    'a\nc'
    """
    start = HUNK.search(diff)
    if start is None:
        return ""
    try:
        files = scan_diff(f"--- a/file\n+++ b/file\n{diff[start.start() :].rstrip()}\n")
    except PatchProblem:
        return ""
    lines, moved = content.rstrip("\n").split("\n"), 0
    for hunk in (hunk for file in files for hunk in file.hunks):
        at = max(hunk.old_start - 1, 0) + moved
        found = [line.rstrip() for line in lines[at : at + len(hunk.olds)]]
        if found != [line.rstrip() for line in hunk.olds]:
            return ""
        lines[at : at + len(hunk.olds)] = hunk.news
        moved += len(hunk.news) - len(hunk.olds)
    return "\n".join(lines)
