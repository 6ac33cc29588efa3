"""Oracles about a command: what it prints, what it writes, how it ends."""

from __future__ import annotations

import difflib
import re
from collections.abc import Iterator

from pytest_brt.observe.run_commands import Played, Stage
from pytest_brt.oracle.command_lines import FIXTURES, IMPORTS, command_lines
from pytest_brt.oracle.draft import Draft
from pytest_brt.oracle.facts import simple
from pytest_brt.oracle.rules.crashes import (
    CRASH,
    Crash,
    crash_of,
    passes_through_tool,
    raised_by,
)
from pytest_brt.oracle.rules.file_contents import CommandClaim, formatted, run_of, written
from pytest_brt.oracle.write import quoted
from pytest_brt.reading.compare import squeezed
from pytest_brt.reading.lexicon import must_work, plain
from pytest_brt.reading.reported_files import Quote
from pytest_brt.reading.steps import Role
from pytest_brt.types import BlockKind, Issue, OracleKind

_BAD = re.compile(
    r"error|warning|fail|exception|invalid|malformed|unexpected|unable|cannot|missing|unknown",
    re.IGNORECASE,
)
#: Times, addresses and folders of the moment; 13:10 behind a file's name is a place in it.
_UNSTEADY = re.compile(r"/tmp/|/brt-|\d+\.\d+ ?s\b|(?<![:\d])\d\d:\d\d|0x[0-9a-f]{4,}| in \d+\.\d+")
_SUCCEED = re.compile(
    r"\bshould\b[^.]*\b(?:succeed|pass|work|exit (?:with )?(?:code )?0)\b"
    r"|\bno (?:errors?|crash|traceback)\b",
    re.IGNORECASE,
)
_WORD = re.compile(r"[a-z_]{4,}")
#: Words that tell nothing.
_PLAIN = frozenset(
    {
        "that", "this", "with", "from", "when", "have", "been", "will", "should", "would",
        "could", "which", "there", "their", "about", "into", "also", "only", "then", "than",
        "both", "test", "tests", "file", "files", "line", "lines", "output", "result", "expected",
        "actual", "running", "using", "used", "some", "same", "does", "like", "just", "more",
        "after", "before", "where", "what", "them", "they", "were",
    }
)  # fmt: skip


def tool_drafts(issue: Issue, stage: Stage) -> tuple[Draft, ...]:
    """Return drafts for every command that was run."""
    found: list[Draft] = []
    for place, played in enumerate(stage.played):
        if not played.given and not _is_confirmed(issue, stage, played):
            continue
        for claim in _claims(issue, stage, played):
            score = claim.score if played.given else claim.score - 0.05
            score -= 0.1 * place
            found.append(_draft(played, claim, score))
    return tuple(found)


def tool_notes(issue: Issue, stage: Stage) -> tuple[str, ...]:
    """Return a note for every command of the report that crashed otherwise than reported."""
    return tuple(
        f"`{run_of(played)}` ends in {_crash_name(played)} on this tree, "
        "of which the report does not speak"
        for played in stage.played
        if played.given and crash_of(issue, stage, played) is Crash.OTHER
    )


def _is_confirmed(issue: Issue, stage: Stage, played: Played) -> bool:
    """Say whether a command that the report does not give did what the report shows.

    Most code in reports is for no command at all, so a command that was worked out counts only
    when the report has its message, its crash or the file that it writes.
    """
    if CRASH.search(played.output):
        crash = crash_of(issue, stage, played)
        return crash is Crash.SHOWN and passes_through_tool(stage, played)
    told = [Quote(text=b.text, role=Role.SHOWN) for b in issue.blocks if b.kind is BlockKind.PROSE]
    quotes = [*(quote for quote in stage.world.quotes if not quote.path), *told]
    return any(_is_shown(quote, played) for quote in quotes) or any(_of_files(stage, played))


def _of_files(stage: Stage, played: Played) -> Iterator[CommandClaim]:
    yield from written(stage, played)
    yield from formatted(stage, played)


def _claims(issue: Issue, stage: Stage, played: Played) -> Iterator[CommandClaim]:
    crash = crash_of(issue, stage, played)
    if crash is Crash.OTHER:
        return  # whatever fails then fails of that crash, not of what is reported
    files = tuple(_of_files(stage, played))
    if crash is Crash.NONE:
        yield from _quoted(issue, stage, played, least=0.5 if files else 0.0)
    else:
        yield _no_crash(played, crash)
    yield from _status(stage, played)
    yield from files
    yield from _complained(stage, played)


def _no_crash(played: Played, crash: Crash) -> CommandClaim:
    """A crash of the tool must not happen."""
    base = OracleKind.NO_RAISE.prior
    found = CRASH.search(played.output)
    return CommandClaim(
        OracleKind.NO_PRINT,
        (f"assert {quoted(found[0] if found else '')} not in done.stdout + done.stderr",),
        f"`{run_of(played)}` must not end in {_crash_name(played)}.",
        base + {Crash.SHOWN: 0.05, Crash.NAMED: -0.15}.get(crash, -0.25),
        crash.value,
    )


def _crash_name(played: Played) -> str:
    raised = raised_by(played)
    return simple(raised.type) if raised else "a traceback"


def _status(stage: Stage, played: Played) -> Iterator[CommandClaim]:
    """A command that should succeed must end with 0."""
    words = [text for text in stage.world.expected if _asks_for_success(text)]
    if played.status != 0 and words:
        yield CommandClaim(
            OracleKind.EXIT_STATUS,
            ("assert done.returncode == 0, done.stdout + done.stderr",),
            f'`{run_of(played)}` should succeed. Report: "{words[0]}"',
            OracleKind.EXIT_STATUS.prior + (0.05 if played.given else -0.1),
            "the report says that it should succeed",
        )


def _asks_for_success(text: str) -> bool:
    return must_work(text) or bool(_SUCCEED.search(plain(text)))


def _quoted(issue: Issue, stage: Stage, played: Played, least: float) -> Iterator[CommandClaim]:
    """Lines that the report quotes, and that still come out, must be gone.

    Lines of less than the `least` weight only say that the command ran.
    """
    wanted = {
        squeezed(line)
        for quote in stage.world.quotes
        if quote.role in (Role.EXPECTED, Role.CONTRAST)
        for line in quote.text.split("\n")
    }
    title = set(_WORD.findall(issue.title.lower())) - _PLAIN
    found: dict[str, float] = {}
    for quote in stage.world.quotes:
        if quote.role in (Role.EXPECTED, Role.CONTRAST) or quote.path:
            continue
        for fragment in _common(quote, played):
            if squeezed(fragment) in wanted or not _is_telling(fragment):
                continue
            if fragment in played.control:
                continue  # it comes out whatever the files hold
            weight = 1.0 if _BAD.search(fragment) else 0.0
            weight += 0.2 * len(title & set(_WORD.findall(fragment.lower())))
            found[fragment] = max(found.get(fragment, 0.0), weight)
    heavy = [pair for pair in found.items() if pair[1] >= least]
    best = sorted(heavy, key=lambda pair: (-pair[1], -len(pair[0])))[:3]
    for place, (fragment, weight) in enumerate(best):
        yield CommandClaim(
            OracleKind.NO_PRINT,
            (f"assert {quoted(fragment)} not in done.stdout + done.stderr",),
            f'`{run_of(played)}` must not print "{fragment}" any more.',
            OracleKind.NO_PRINT.prior + min(weight, 1.2) * 0.1 - 0.1 * place - 0.1,
            "the report shows this line",
        )


def _common(quote: Quote, played: Played) -> Iterator[str]:
    """Yield what lines of a quotation and of the output have in common."""
    lines = [line.strip() for line in quote.text.split("\n") if len(line.strip()) >= 6][:80]
    for line in played.output.split("\n"):
        line = line.strip()  # noqa: PLW2901
        if len(line) < 6:
            continue
        for other in lines:
            if line == other and not _UNSTEADY.search(line):
                yield line
                continue
            match = difflib.SequenceMatcher(None, line, other, autojunk=False)
            part = match.find_longest_match()
            fragment = line[part.a : part.a + part.size].strip(" :,-")
            if len(fragment) >= 20 and len(fragment) * 2 >= len(other):
                yield fragment


def _is_telling(fragment: str) -> bool:
    return (
        bool(re.search(r"[A-Za-z]{3,}", fragment))
        and not re.fullmatch(r"[\W_]*(?:\w+[\W_]*){1,2}", fragment)
        and not _UNSTEADY.search(fragment)
        and "Python" not in fragment
    )


def _is_shown(quote: Quote, played: Played) -> bool:
    """Say whether the command printed a telling line of the quotation."""
    return any(_is_telling(fragment) for fragment in _common(quote, played))


def _complained(stage: Stage, played: Played) -> Iterator[CommandClaim]:
    """A line of the output that the complaint speaks of must change."""
    words = {w for text in stage.world.observed for w in _WORD.findall(text.lower())} - _PLAIN
    best: tuple[int, str] = (0, "")
    for line in played.output.split("\n"):
        text = re.sub(r"\s+in \d+\.\d+.*$|^[=\s-]+|[=\s-]+$", "", line).strip()
        if (
            text in played.control
            or len(text) < 6
            or _UNSTEADY.search(text)
            or not re.search(r"\d+ [a-z]", text)
        ):
            continue
        score = len(words & set(_WORD.findall(text.lower())))
        best = max(best, (score, text))
    if best[0]:
        yield CommandClaim(
            OracleKind.NO_PRINT,
            (f"assert {quoted(best[1])} not in done.stdout",),
            f'`{run_of(played)}` must not end with "{best[1]}" any more.',
            OracleKind.NO_PRINT.prior - 0.15,
            "the report complains of what this line says",
        )


def _draft(played: Played, claim: CommandClaim, score: float) -> Draft:
    return Draft(
        kind=claim.kind,
        index=None,
        body=(*command_lines(played), *claim.lines),
        sentence=claim.sentence,
        score=max(score, 0.05),
        reasons=(claim.reason,),
        fixtures=FIXTURES,
        imports=IMPORTS,
        about=played.command.name,
    )
