"""Asks an interpreter what it is, in the sandbox that its tests are run in."""

from __future__ import annotations

import os
import site
import sys
import tempfile
from collections.abc import Sequence
from contextlib import closing
from dataclasses import dataclass, replace
from pathlib import Path

from pytest_brt.codec import from_json
from pytest_brt.errors import StoreProblem, SubjectProblem
from pytest_brt.execute.alone import run_script
from pytest_brt.execute.engine import Limits
from pytest_brt.execute.import_folders import editable_folders, likely_folders
from pytest_brt.execute.inside.tree import is_below
from pytest_brt.execute.local import LocalEngine
from pytest_brt.execute.process import Deadlines, Ended, scrubbed
from pytest_brt.execute.protocol import CellOrder
from pytest_brt.execute.sandbox import Sandbox, may_be_named, shown_paths
from pytest_brt.types.subject import Subject

#: Seconds within which an interpreter must have said what it is.
PATIENCE = 60.0
_DEADLINES = Deadlines(start=PATIENCE, total=PATIENCE)


@dataclass(frozen=True, slots=True, kw_only=True)
class SubjectAnswer:
    """What `inside/ask.py` tells."""

    version: tuple[int, int]
    pytest: str
    problem: str
    plugins: tuple[tuple[str, str], ...]
    paths: tuple[str, ...]
    user_base: str
    #: Folders elsewhere that the project's own environment names, and that are not shown.
    left_out: tuple[str, ...] = ()


def ask(subject: Subject, sandbox: Sandbox) -> SubjectAnswer:
    """Return what the interpreter of `subject` is, of which only the places are known yet.

    It is asked in the sandbox, and never in a weaker one. Only the running interpreter is asked
    outside: whoever started us has started it so, and in the sandbox it would take longer.

    Raises:
        SubjectProblem: it cannot be started, does not answer, or has no pytest.
        SandboxProblem: no process of it can be had in the sandbox.
    """
    if not sandbox.keeps_files:
        answer = _ask_outside(subject, sandbox, may_import=True)
    elif _is_running(subject):
        answer = _ask_outside(subject, sandbox, may_import=False)
        if not answer.pytest:  # pytest is the project's own, or none is installed
            answer = _ask_inside(replace(subject, paths=answer.paths), sandbox)
    else:
        answer = _ask_inside(subject, sandbox)
    if answer.problem:
        raise SubjectProblem(
            f"{subject.python!r} cannot import pytest: {answer.problem}"
            " (install pytest there, or choose another: --brt-python)"
        )
    editable = tuple(editable_folders(answer.paths, subject.root, subject.python))
    shown = tuple(path for path in editable if may_be_named(path, apart=_is_projects(subject)))
    left_out = tuple(path for path in editable if path not in shown)
    return replace(answer, paths=(*answer.paths, *shown), left_out=left_out)


def _is_projects(subject: Subject) -> bool:
    """Return whether an interpreter came with the project, as far as we know.

    It is its user's where they have started, or activated, its environment.
    """
    environment = str(Path(subject.python).parent.parent)
    is_users = environment in (sys.prefix, os.environ.get("VIRTUAL_ENV"))
    return is_below(subject.python, subject.root) and not is_users


def _is_running(subject: Subject) -> bool:
    """Return whether the interpreter is the one that runs us, and starts nothing else than that.

    Where its file really lies proves nothing: an environment in the project may link to the same,
    and runs code of its own. So may what variables for the tests name.
    """
    outer = ("LD_", "DYLD_", "GLIBC_", "PYTHON")
    loads_more = any(name.startswith(outer) and name != "PYTHONPATH" for name, _ in subject.env)
    return subject.python == sys.executable and not loads_more


def _spec(subject: Subject, *, may_import: bool) -> dict[str, object]:
    return {"roots": subject.import_path(subject.root), "import": may_import}


def _ask_outside(subject: Subject, sandbox: Sandbox, *, may_import: bool) -> SubjectAnswer:
    """Ask an ordinary process, with no folder of the project where code is started from."""
    env = scrubbed(dict(subject.env))
    env["HOME"] = os.environ.get("HOME", "/")  # where the user's own site-packages are
    with tempfile.TemporaryDirectory(prefix="brt-ask-") as folder:
        ended = run_script(
            [subject.python, "-B"],
            "ask",
            _spec(subject, may_import=may_import),
            Path(folder),
            env=env,
            cwd=folder,
            deadlines=_DEADLINES,
        )
    return _read_answer(subject, sandbox, ended)


def _ask_inside(subject: Subject, sandbox: Sandbox) -> SubjectAnswer:
    """Ask in the sandbox, as everything else of the project is run.

    The tests see no more for the answer than what the interpreter was shown when it was asked.
    """
    # By itself it would look below the HOME of the sandbox.
    env = {"PYTHONUSERBASE": site.getuserbase(), **dict(subject.env)}
    python, user_base = Path(subject.python), Path(env["PYTHONUSERBASE"])
    likely = likely_folders(python, user_base, is_projects=_is_projects(subject))
    paths = (*subject.paths, *likely)
    seen = replace(subject, paths=paths, env=tuple(sorted(env.items())))
    spec = _spec(subject, may_import=True)
    order = CellOrder(deadlines=_DEADLINES, script="ask", spec=spec)
    with closing(LocalEngine(seen, sandbox, limits=Limits())) as engine:
        ended = engine.start(order)
    answer = _read_answer(subject, sandbox, ended)
    shown = shown_paths(seen, seen.root, sandbox.shown)
    return replace(answer, paths=tuple(path for path in answer.paths if _was_shown(path, shown)))


def _was_shown(path: str, shown: Sequence[str]) -> bool:
    """Return whether a path that an interpreter names was shown to it: it can name any."""
    return all(
        any(is_below(name, folder) for folder in shown)
        for name in (os.path.normpath(path), os.path.realpath(path))
    )


def _read_answer(subject: Subject, sandbox: Sandbox, ended: Ended) -> SubjectAnswer:
    where = f"{subject.python!r} at the level {sandbox.level!r}"
    if ended.timed_out:
        raise SubjectProblem(
            f"{where} did not answer within {PATIENCE:.0f} s (choose another: --brt-python)"
        )
    told = ended.first("asked")
    try:
        return from_json(told.text if told else "", SubjectAnswer)
    except StoreProblem as error:
        fault = ended.first("sandbox_error")
        said = (fault.text if fault else ended.tail).strip().splitlines() or ["no answer"]
        raise SubjectProblem(
            f"{where} is not a usable Python: {said[-1]} (choose another: --brt-python)"
        ) from error
