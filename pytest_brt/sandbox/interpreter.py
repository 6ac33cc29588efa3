"""What the interpreter of a project is: asked in the sandbox that its tests are run in."""

from __future__ import annotations

from contextlib import closing

from pytest_brt.errors import SubjectProblem
from pytest_brt.sandbox.process import Interpreter, Limits
from pytest_brt.sandbox.run_tests import Runner
from pytest_brt.sandbox.sandbox import Sandbox
from pytest_brt.types import Subject


def ask_interpreter(subject: Subject, sandbox: Sandbox) -> Interpreter:
    """Return what the interpreter of `subject` is, of which only the places are known yet.

    Raises:
        SubjectProblem: it cannot be started, does not answer, or has no pytest.
    """
    with closing(Runner(subject, sandbox, Limits(memory_mb=1 << 20))) as runner:
        result, _ = runner.run_script("interpreter", runner.limits, {})
    event = result.first("interpreter")
    if event is None or event.interpreter is None:
        output = result.output.strip().splitlines() or ["no answer"]
        raise SubjectProblem(
            f"{subject.python!r} in the sandbox '{sandbox.isolation}' is not a usable Python: "
            f"{output[-1]} (choose another: --brt-python; a folder that it needs and does not see: "
            "--brt-show)"
        )
    if problem := event.interpreter.problem:
        raise SubjectProblem(
            f"{subject.python!r} cannot import pytest: {problem}"
            " (install pytest there, or choose another: --brt-python)"
        )
    return event.interpreter
