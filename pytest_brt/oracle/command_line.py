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
from pytest_brt.report.snippets import shell_commands
from pytest_brt.report.tracebacks import final_exception
from pytest_brt.sandbox.statements import Script, run_statements
from pytest_brt.types import BlockKind, OracleKind

#: Command lines of one report that are run.
_MOST = 3
_RUN = """\
done = subprocess.run(
    command, cwd=tmp_path, capture_output=True, encoding="utf-8", check=False
)"""
#: The same where it is only looked at.
_TRIED = (
    "run({}, stdin=DEVNULL, capture_output=True, encoding='utf-8', errors='replace').stderr[-6000:]"
)
_IMPORTS = ("import sys", "from subprocess import DEVNULL, run")


def no_traceback(observed: ObservedReport) -> Iterator[Draft]:
    """A command line must not end in the exception of the project that the report shows."""
    engine = observed.imports.engine
    for line, command in islice(_command_lines(observed), _MOST):
        tried = Script(statements=(*_IMPORTS, _TRIED.format(command)))
        values = [one.value.text for one in run_statements(engine, tried).observed if one.value]
        raised = final_exception(values[-1]) if values else None
        if raised is None:
            continue
        parts = {part for frame in raised.frames for part in Path(frame.path).parts}
        same = [known for known in observed.reading.exceptions if known.name == raised.name]
        is_shown = any(not k.message or messages_agree(k.message, raised.message) for k in same)
        if is_shown and parts & {*engine.subject.packages}:
            yield Draft(
                kind=OracleKind.NO_TRACEBACK,
                body=(f"command = {command}", _RUN, 'assert "Traceback" not in done.stderr'),
                sentence=f"`{line[:100]}` must not end in {raised.name}.",
            )


def _command_lines(observed: ObservedReport) -> Iterator[tuple[str, str]]:
    """Yield the command lines of the project, each as the list that a test runs."""
    subject = observed.imports.engine.subject
    scripts = scripts_of(Path(subject.root))
    shells = [block for block in observed.reading.issue.blocks if block.kind is BlockKind.SHELL]
    for line in (command for block in shells for command in shell_commands(block.text)):
        try:
            words = shlex.split(line)
        except ValueError:
            continue  # it is no whole command
        match words:
            case [_, "-m", package, *_] if package in subject.packages:
                arguments = words[1:]
            case [name, *_] if name in scripts:
                module, _, function = scripts[name].partition(":")
                code = f"import sys, {module}; sys.exit({module}.{function}())"
                arguments = ["-c", code, *words[1:]]
            case _:
                continue
        yield line, f"[sys.executable, {', '.join(map(quoted, arguments))}]"
