"""Oracle about a command line of the project that the report shows ending in a traceback."""

from __future__ import annotations

import shlex
from collections.abc import Iterator
from itertools import islice
from pathlib import Path

from pytest_brt.execute.engine import Engine, Program
from pytest_brt.issue.sessions import read_shell
from pytest_brt.issue.tracebacks import final_exception
from pytest_brt.oracle.assertion import quoted
from pytest_brt.oracle.facts import simple
from pytest_brt.oracle.rules.report_run import ReportRun, messages_agree
from pytest_brt.oracle.write import Draft
from pytest_brt.project.pytest_config import scripts_of
from pytest_brt.types import BlockKind, OracleKind, Raised
from pytest_brt.types.subject import Subject

#: Command lines of one report that are run.
_MOST = 3
_RUN = """\
done = subprocess.run(
    command, cwd=tmp_path, capture_output=True, encoding="utf-8", check=False
)"""


def no_traceback(view: ReportRun) -> Iterator[Draft]:
    """A command line must not end in the exception of the project that the report shows."""
    engine = view.replayed.resolver.engine
    for line, words in islice(_command_lines(view, engine.subject), _MOST):
        command = f"[sys.executable, {', '.join(map(quoted, words))}]"
        raised = _ends_in(command, engine)
        if raised is None or not _is_reported(raised, view, engine.subject):
            continue
        yield Draft(
            kind=OracleKind.NO_TRACEBACK,
            index=None,
            body=(f"command = {command}", _RUN, 'assert "Traceback" not in done.stderr'),
            sentence=f"`{line[:100]}` must not end in {simple(raised.type)}.",
            fixtures=("tmp_path",),
            imports=("import subprocess", "import sys"),
        )


def _command_lines(view: ReportRun, subject: Subject) -> Iterator[tuple[str, list[str]]]:
    """Yield the command lines of the project, each with what stands behind the interpreter."""
    scripts = scripts_of(Path(subject.root))
    shells = [block.text for block in view.issue.blocks if block.kind is BlockKind.SHELL]
    for line in (exchange.source for text in shells for exchange in read_shell(text)):
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


def _ends_in(command: str, engine: Engine) -> Raised | None:
    """Return the exception in which a command ends on the unpatched tree."""
    run = f"run({command}, stdin=DEVNULL, capture_output=True, encoding='utf-8', errors='replace')"
    statements = ("import sys", "from subprocess import DEVNULL, run", f"{run}.stderr[-6000:]")
    observed = engine.observe(Program(statements=statements, statement_share=2 / 3)).observed
    value = observed[-1].value if observed else None
    return final_exception(value.text) if value else None


def _is_reported(raised: Raised, view: ReportRun, subject: Subject) -> bool:
    """Say whether an exception is the project's, and one that the report shows."""
    parts = (part for frame in raised.frames for part in Path(frame.path).parts)
    named = view.is_named(raised)
    if named is None or set(subject.packages).isdisjoint(parts):
        return False
    return not named.message or messages_agree(named.message, raised.message)
