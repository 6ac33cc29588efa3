"""What the interpreter of a project is: asked in the sandbox that its tests are run in."""

from __future__ import annotations

import os
from contextlib import closing
from dataclasses import dataclass, replace
from pathlib import Path

from pytest_brt.codec import from_json
from pytest_brt.errors import StoreProblem, SubjectProblem
from pytest_brt.sandbox.limits import Limits
from pytest_brt.sandbox.process import Deadlines
from pytest_brt.sandbox.run_tests import Runner
from pytest_brt.sandbox.sandbox import Sandbox, View
from pytest_brt.sandbox.shown import SYSTEM, is_below
from pytest_brt.sandbox.view import PathMap
from pytest_brt.types import Subject

#: Seconds within which an interpreter must have said what it is.
_PATIENCE = 60.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Interpreter:
    """What `inside/interpreter.py` reports."""

    version: tuple[int, int]
    #: Why pytest cannot be imported.
    problem: str
    #: Name and distribution of each plugin of pytest.
    plugins: tuple[tuple[str, str], ...]
    #: Folders that it imports from.
    paths: tuple[str, ...]
    #: Folders among them that are there, and that tests do not see.
    hidden: tuple[str, ...]


def ask_interpreter(subject: Subject, sandbox: Sandbox) -> Interpreter:
    """Return what the interpreter of `subject` is, of which only the places are known yet.

    Raises:
        SubjectProblem: it cannot be started, does not answer, or has no pytest.
    """
    python = f"{subject.python!r} in the sandbox '{sandbox.isolation}'"
    deadlines = Deadlines(start=_PATIENCE, each=_PATIENCE, total=_PATIENCE)
    with closing(Runner(subject, sandbox, Limits(memory_mb=1 << 20))) as runner:
        result, view = runner.run_script("interpreter", deadlines, {})
    if result.timed_out:
        raise SubjectProblem(
            f"{python} did not answer within {_PATIENCE:.0f} s (choose another: --brt-python)"
        )
    event = result.first("interpreter")
    try:
        answer = from_json(event.text if event else "", Interpreter)
    except StoreProblem as error:
        output = result.output.strip().splitlines() or ["no answer"]
        if runner.sandbox.user is not None and "PermissionError" in output[-1]:
            raise SubjectProblem(
                f"{python} cannot be reached: root's tests run as nobody, who may not enter all"
                " folders on the way (install bubblewrap, or put the interpreter elsewhere)"
            ) from error
        raise SubjectProblem(
            f"{python} is not a usable Python: {output[-1]} (choose another: --brt-python; a folder"
            " that it needs and does not see: --brt-show)"
        ) from error
    if answer.problem:
        raise SubjectProblem(
            f"{subject.python!r} cannot import pytest: {answer.problem}"
            " (install pytest there, or choose another: --brt-python)"
        )
    hidden = tuple(path for path in answer.hidden if _is_hidden(path, view))
    return replace(answer, paths=tuple(map(PathMap(view=view).text, answer.paths)), hidden=hidden)


def _is_hidden(path: str, view: View) -> bool:
    """Return whether a folder is there, and not shown."""
    shown = (*SYSTEM, view.root, view.tree, *(real for real, _ in view.shown))
    real = os.path.realpath(path)
    return Path(real).is_dir() and not any(is_below(real, folder) for folder in shown)
