"""What a test claims of the files that a command writes, or writes anew."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from pytest_brt.observe.run_commands import Played, Stage
from pytest_brt.oracle.write import literal, quoted
from pytest_brt.reading.compare import squeezed
from pytest_brt.reading.steps import Role
from pytest_brt.types import OracleKind


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
