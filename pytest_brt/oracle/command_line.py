"""Oracle about a command line of the project that the report shows ending in a traceback."""

from __future__ import annotations

import shlex
from collections.abc import Iterator
from itertools import islice, product
from pathlib import Path

from pytest_brt.observe.run_snippets import ObservedReport
from pytest_brt.oracle.draft import Draft, literal
from pytest_brt.project.pytest_config import scripts_of
from pytest_brt.report.snippets import shell_commands
from pytest_brt.types import BlockKind, OracleKind

#: Tests of the command lines of one report.
_MOST = 3
_RUN = """\
done = subprocess.run(
    command, cwd=tmp_path, capture_output=True, encoding="utf-8", check=False
)"""


def no_traceback(observed: ObservedReport) -> Iterator[Draft]:
    """A command line of the project must not end in the exception that the report shows."""
    shown = dict.fromkeys(raised.name for raised in observed.reading.exceptions)
    for (line, command), name in islice(product(_command_lines(observed), shown), _MOST):
        yield Draft(
            kind=OracleKind.NO_TRACEBACK,
            body=(f"command = {command}", _RUN, f'assert "{name}" not in done.stderr'),
            sentence=f"`{line[:100]}` must not end in {name}.",
        )


def _command_lines(observed: ObservedReport) -> Iterator[tuple[str, str]]:
    """Yield the command lines of the project, each as the list that a test runs."""
    subject = observed.imports.engine.subject
    scripts = scripts_of(Path(subject.root))
    shells = [block for block in observed.reading.issue.blocks if block.kind is BlockKind.SHELL]
    for line in (command for block in shells for command in shell_commands(block.text)):
        try:
            program, *arguments = shlex.split(line)
        except ValueError:
            continue  # it is no whole command
        if program in scripts:
            module, _, function = scripts[program].partition(":")
            arguments = ["-c", f"import sys, {module}; sys.exit({module}.{function}())", *arguments]
        elif arguments[:1] != ["-m"] or not {*arguments[1:2]} & {*subject.packages}:
            continue
        yield line, f"[sys.executable, {', '.join(map(literal, arguments))}]"
