"""Oracles about a command: what it prints, what it writes, how it ends, and whose crash that is."""

from __future__ import annotations

import difflib
import re
from collections.abc import Iterator
from dataclasses import replace

from pytest_brt.issue.alike import squeezed
from pytest_brt.issue.files import Quote
from pytest_brt.issue.tracebacks import final_exception
from pytest_brt.issue.words import must_work, plain
from pytest_brt.observe.run_commands import CommandRun, CommandRuns
from pytest_brt.oracle.assertion import literal, pieces, quoted
from pytest_brt.oracle.facts import simple
from pytest_brt.oracle.rules.report_run import messages_agree
from pytest_brt.oracle.write import Draft
from pytest_brt.types import BlockKind, Issue, Miss, OracleKind, Raised
from pytest_brt.types.miss import CommandCrashes
from pytest_brt.types.reading import ClaimRole

CRASH = re.compile(r"^Traceback \(most recent call last\):|^INTERNAL ?ERROR", re.MULTILINE)
_SAYS = re.compile(
    r"(?<!no )(?<!without )\b(?:crash(?:es|ed|ing)?|traceback|stack ?trace|internal ?error"
    r"|(?:uncaught|unhandled) (?:error|exception)|blows? up|dies|rais(?:es|ed))\b",
    re.IGNORECASE,
)
#: Words that a crash is one way of, where the report does not show another.
_FAILS = re.compile(
    r"(?<!no )(?<!without )\b(?:fail(?:s|ed|ing|ure)?|errors?|breaks?|broken|does(?:n['’]t| not)"
    r" work)\b",
    re.IGNORECASE,
)


def _crash_of_report(issue: Issue, stage: CommandRuns, played: CommandRun) -> tuple[float, str]:
    """Return how much surer than usual it is that a command's crash is the reported one, and why.

    The words are "" for another crash than the report's.
    """
    raised = _raised_in(played.output)
    crash = _crash_in(played)
    shown = [_raised_in(quote.text) for quote in stage.reported.quotes if crash in quote.text]
    if shown and (raised is None or any(_says_the_same(one, raised) for one in shown)):
        return 0.05, "the report shows this exception"
    named = stage.reading.named
    if any(_same(one, raised) for one in named):
        return -0.15, "the report names this exception"
    others = any(quote.role is not ClaimRole.EXPECTED for quote in stage.reported.quotes)
    text = plain(issue.text)
    if shown or named or not (_SAYS.search(text) or (not others and _FAILS.search(text))):
        return 0.0, ""
    return -0.25, "the report says that this fails, but not how"


def _crash_in(played: CommandRun) -> str:
    """Return the words in which a command's output begins to tell of a crash, "" for none."""
    found = CRASH.search(played.output)
    return found[0] if found else ""


def _raised_in(output: str) -> Raised | None:
    """Return the last exception in an output, also where a tool marks each of its lines."""
    return final_exception(re.sub(r"^INTERNAL ?ERROR> ?", "", output, flags=re.MULTILINE))


def _says_the_same(one: Raised | None, other: Raised) -> bool:
    """Say whether two exceptions are of one type, with messages that do not differ."""
    if one is None or not _same(one, other):
        return False
    return not one.message or messages_agree(one.message, other.message)


def _same(one: Raised | None, other: Raised | None) -> bool:
    return bool(one and other and simple(one.type) == simple(other.type))


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


def run_of(played: CommandRun) -> str:
    """Return the command as one types it, not too long."""
    return " ".join((played.command.name, *played.command.arguments))[:100]


def tool_drafts(issue: Issue, stage: CommandRuns) -> tuple[Draft, ...]:
    """Return drafts for every command that was run."""
    found: list[Draft] = []
    for place, played in enumerate(stage.played):
        if not played.given and not _is_confirmed(issue, stage, played):
            continue
        for draft in _drafts(issue, stage, played):
            score = draft.score - 0.1 * place - (0.0 if played.given else 0.05)
            found.append(replace(draft, score=max(score, 0.05)))
    return tuple(found)


def tool_misses(issue: Issue, stage: CommandRuns) -> tuple[Miss, ...]:
    """Return every command of the report that crashed otherwise than reported."""
    return tuple(
        CommandCrashes(command=run_of(played), exception=_crash_name(played))
        for played in stage.played
        if played.given and _crash_in(played) and not _crash_of_report(issue, stage, played)[1]
    )


def _is_confirmed(issue: Issue, stage: CommandRuns, played: CommandRun) -> bool:
    """Say whether a command that the report does not give did what the report shows.

    Most code in reports is for no command at all, so a command that was worked out counts only
    when the report has its message, its crash or the file that it writes.
    """
    if _crash_in(played):
        return False  # the same exception may come of a call in the report's own code
    told = [
        Quote(text=b.text, role=ClaimRole.SHOWN) for b in issue.blocks if b.kind is BlockKind.PROSE
    ]
    quotes = [*(quote for quote in stage.reported.quotes if not quote.path), *told]
    shown = (fragment for quote in quotes for fragment in _common(quote, played))
    return any(map(_is_telling, shown)) or any(_of_files(stage, played))


def _of_files(stage: CommandRuns, played: CommandRun) -> Iterator[Draft]:
    """A new file must not look as reported."""
    before = {file.path for file in played.files}
    for path, content in played.written:
        for quote in stage.reported.quotes:
            if path in before or quote.path != path or quote.role is ClaimRole.EXPECTED:
                continue
            lines = {squeezed(line) for line in quote.text.split("\n") if line.strip()}
            seen = {squeezed(line) for line in content.split("\n") if line.strip()}
            if lines and len(lines & seen) * 2 >= len(lines):
                yield _draft(
                    played,
                    OracleKind.NO_PRINT,
                    (
                        f'written = (tmp_path / {quoted(path)}).read_text(encoding="utf-8")',
                        f"assert written != {literal(content)}",
                    ),
                    f"`{run_of(played)}` must not write {path} as reported.",
                    OracleKind.NO_PRINT.prior,
                    "the report shows this file",
                )


def _drafts(issue: Issue, stage: CommandRuns, played: CommandRun) -> Iterator[Draft]:
    crash = _crash_in(played)
    sure, why = _crash_of_report(issue, stage, played) if crash else (0.0, "")
    if crash and not why:
        return  # whatever fails then fails of that crash, not of what is reported
    files = tuple(_of_files(stage, played))
    if crash:
        yield _draft(
            played,
            OracleKind.NO_PRINT,
            (f"assert {quoted(crash)} not in done.stdout + done.stderr",),
            f"`{run_of(played)}` must not end in {_crash_name(played)}.",
            OracleKind.NO_RAISE.prior + sure,
            why,
        )
    else:
        yield from _quoted(issue, stage, played, least=0.5 if files else 0.0)
    yield from _status(stage, played)
    yield from files
    yield from _complained(stage, played)


def _crash_name(played: CommandRun) -> str:
    raised = _raised_in(played.output)
    return simple(raised.type) if raised else "a traceback"


def _status(stage: CommandRuns, played: CommandRun) -> Iterator[Draft]:
    words = [
        text for text in stage.reported.expected if must_work(text) or _SUCCEED.search(plain(text))
    ]
    if played.status != 0 and words:
        yield _draft(
            played,
            OracleKind.EXIT_STATUS,
            ("assert done.returncode == 0, done.stdout + done.stderr",),
            f"`{run_of(played)}` should succeed.",
            OracleKind.EXIT_STATUS.prior + (0.05 if played.given else -0.1),
            "the report says that the command should succeed",
            quote=words[0],
        )


def _quoted(issue: Issue, stage: CommandRuns, played: CommandRun, least: float) -> Iterator[Draft]:
    """Lines that the report quotes, and that still come out, must be gone.

    Lines of less than the `least` weight only say that the command ran.
    """
    wanted = {
        squeezed(line)
        for quote in stage.reported.quotes
        if quote.role in (ClaimRole.EXPECTED, ClaimRole.CONTRAST)
        for line in quote.text.split("\n")
    }
    title = set(_WORD.findall(issue.title.lower())) - _PLAIN
    found: dict[str, float] = {}
    for quote in stage.reported.quotes:
        if quote.role in (ClaimRole.EXPECTED, ClaimRole.CONTRAST) or quote.path:
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
        yield _draft(
            played,
            OracleKind.NO_PRINT,
            (f"assert {quoted(fragment)} not in done.stdout + done.stderr",),
            f'`{run_of(played)}` must no longer print "{fragment}".',
            OracleKind.NO_PRINT.prior + min(weight, 1.2) * 0.1 - 0.1 * place - 0.1,
            "the report shows this line",
        )


def _common(quote: Quote, played: CommandRun) -> Iterator[str]:
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


def _complained(stage: CommandRuns, played: CommandRun) -> Iterator[Draft]:
    """A line of the output that the complaint speaks of must change."""
    words = {w for text in stage.reported.observed for w in _WORD.findall(text.lower())} - _PLAIN
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
        yield _draft(
            played,
            OracleKind.NO_PRINT,
            (f"assert {quoted(best[1])} not in done.stdout",),
            f'`{run_of(played)}` must no longer end with "{best[1]}".',
            OracleKind.NO_PRINT.prior - 0.15,
            "the report complains about what this line says",
        )


def _draft(
    played: CommandRun,
    kind: OracleKind,
    lines: tuple[str, ...],
    sentence: str,
    score: float,
    why: str,
    quote: str = "",
) -> Draft:
    return Draft(
        kind=kind,
        index=None,
        body=(*command_lines(played), *lines),
        sentence=sentence,
        quote=quote,
        score=score,
        reasons=(why,),
        fixtures=("tmp_path",),
        imports=("import subprocess", "import sys"),
    )


def command_lines(played: CommandRun) -> tuple[str, ...]:
    """Return statements that write the files, run the command and bind `done` to its result."""
    words = [quoted(word) for word in (*played.start, *played.command.arguments)]
    command = f"command = [sys.executable, {', '.join(words)}]"
    run = (
        "done = subprocess.run(\n"
        '    command, cwd=tmp_path, capture_output=True, encoding="utf-8", check=False\n'
        ")"
    )
    return (*_files(played), command, run)


def _files(played: CommandRun) -> Iterator[str]:
    made: set[str] = set()
    for file in played.files:
        folder = file.path.rpartition("/")[0]
        if folder and folder not in made:
            made.add(folder)
            deep = "parents=True, exist_ok=True" if "/" in folder or len(made) > 1 else ""
            yield f"(tmp_path / {quoted(folder)}).mkdir({deep})"
        text = literal(file.content)
        target = f"(tmp_path / {quoted(file.path)}).write_text"
        if text.startswith("(") or len(text) + len(target) > 70:
            lines = "\n".join(f"    {part}" for part in pieces(file.content))
            yield f'{target}(\n{lines},\n    encoding="utf-8",\n)'
        else:
            yield f'{target}({text}, encoding="utf-8")'
