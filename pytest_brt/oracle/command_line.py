"""Oracle about a command line of the project that the report shows ending in a traceback."""

from __future__ import annotations

import shlex
from collections.abc import Iterator
from itertools import islice
from pathlib import Path

from pytest_brt.observe.run_snippets import ObservedReport
from pytest_brt.oracle.comparison import quoted
from pytest_brt.oracle.draft import Draft
from pytest_brt.project.pytest_config import scripts_of
from pytest_brt.report.match import messages_agree
from pytest_brt.report.sessions import shell_commands
from pytest_brt.report.tracebacks import final_exception
from pytest_brt.sandbox.run_tests import Runner
from pytest_brt.sandbox.statements import Script, run_statements
from pytest_brt.types import BlockKind, OracleKind, Raised
from pytest_brt.types.subject import Subject

#: Command lines of one report that are run.
_MOST = 3
_RUN = """\
done = subprocess.run(
    command, cwd=tmp_path, capture_output=True, encoding="utf-8", check=False
)"""


def no_traceback(observed: ObservedReport) -> Iterator[Draft]:
    """A command line must not end in the exception of the project that the report shows."""
    engine = observed.imports.engine
    for line, words in islice(_command_lines(observed, engine.subject), _MOST):
        command = f"[sys.executable, {', '.join(map(quoted, words))}]"
        raised = _ends_in(command, engine)
        if raised is None or not _is_reported(raised, observed, engine.subject):
            continue
        yield Draft(
            kind=OracleKind.NO_TRACEBACK,
            body=(f"command = {command}", _RUN, 'assert "Traceback" not in done.stderr'),
            sentence=f"`{line[:100]}` must not end in {raised.name}.",
        )


def _command_lines(observed: ObservedReport, subject: Subject) -> Iterator[tuple[str, list[str]]]:
    """Yield the command lines of the project, each with what stands behind the interpreter."""
    scripts = scripts_of(Path(subject.root))
    blocks = observed.reading.issue.blocks
    shells = [block.text for block in blocks if block.kind is BlockKind.SHELL]
    for line in (command for text in shells for command in shell_commands(text)):
        match _words(line):
            case [_, "-m", package, *arguments] if package in subject.packages:
                yield line, ["-m", package, *arguments]
            case [name, *arguments] if name in scripts:
                module, _, function = scripts[name].partition(":")
                code = f"import sys, {module}; sys.exit({module}.{function}())"
                yield line, ["-c", code, *arguments]


def _words(line: str) -> list[str]:
    try:
        return shlex.split(line)
    except ValueError:  # it is no whole command
        return []


def _ends_in(command: str, engine: Runner) -> Raised | None:
    """Return the exception in which a command ends on the unpatched tree."""
    run = f"run({command}, stdin=DEVNULL, capture_output=True, encoding='utf-8', errors='replace')"
    statements = ("import sys", "from subprocess import DEVNULL, run", f"{run}.stderr[-6000:]")
    results = run_statements(engine, Script(statements=statements, statement_share=2 / 3)).observed
    value = results[-1].value if results else None
    return final_exception(value.text) if value else None


def _is_reported(raised: Raised, observed: ObservedReport, subject: Subject) -> bool:
    """Say whether an exception is the project's, and one that the report shows."""
    parts = (part for frame in raised.frames for part in Path(frame.path).parts)
    shown = observed.reading.exceptions
    return not set(subject.packages).isdisjoint(parts) and any(
        known.name == raised.name
        and (not known.message or messages_agree(known.message, raised.message))
        for known in shown
    )
