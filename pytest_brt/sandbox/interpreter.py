"""What the interpreter of a project is: asked in the sandbox that its tests are run in."""

from __future__ import annotations

from contextlib import closing
from dataclasses import dataclass

from pytest_brt.codec import from_json
from pytest_brt.errors import StoreProblem, SubjectProblem
from pytest_brt.sandbox.process import Deadlines, Limits
from pytest_brt.sandbox.run_tests import Runner
from pytest_brt.sandbox.sandbox import Sandbox
from pytest_brt.types import Subject

#: Seconds within which an interpreter must have said what it is.
_PATIENCE = 60.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Interpreter:
    """What `inside/start.py` reports of it."""

    version: tuple[int, int]
    #: Why pytest cannot be imported.
    problem: str
    #: Name and distribution of each plugin of pytest.
    plugins: tuple[tuple[str, str], ...]
    #: Folders that it imports from.
    paths: tuple[str, ...]


def ask_interpreter(subject: Subject, sandbox: Sandbox) -> Interpreter:
    """Return what the interpreter of `subject` is, of which only the places are known yet.

    Raises:
        SubjectProblem: it cannot be started, does not answer, or has no pytest.
    """
    deadlines = Deadlines(start=_PATIENCE, each=_PATIENCE, total=_PATIENCE)
    with closing(Runner(subject, sandbox, Limits(memory_mb=1 << 20))) as runner:
        result, _ = runner.run_script("interpreter", deadlines, {})
    try:
        event = result.first("interpreter")
        answer = from_json(event.text if event else "", Interpreter)
    except StoreProblem as error:
        output = result.output.strip().splitlines() or ["no answer"]
        raise SubjectProblem(
            f"{subject.python!r} in the sandbox '{sandbox.isolation}' is not a usable Python: "
            f"{output[-1]} (choose another: --brt-python; a folder that it needs and does not see: "
            "--brt-show)"
        ) from error
    if answer.problem:
        raise SubjectProblem(
            f"{subject.python!r} cannot import pytest: {answer.problem}"
            " (install pytest there, or choose another: --brt-python)"
        )
    return answer
