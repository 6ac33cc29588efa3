"""Asks an interpreter what it is; in a sandbox, where that runs code of the project."""

from __future__ import annotations

import os
import re
import sys
import tempfile
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass, replace
from pathlib import Path

from pytest_brt.bounded import is_folder, read_bounded
from pytest_brt.codec import from_json
from pytest_brt.errors import StoreProblem, SubjectProblem
from pytest_brt.execute.engine import Limits
from pytest_brt.execute.launch import open_engine
from pytest_brt.execute.process import Deadlines, Ended, run_script, scrubbed
from pytest_brt.execute.protocol import CellOrder
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


def ask(subject: Subject, sandbox: str) -> SubjectAnswer:
    """Return what the interpreter of `subject` is, of which only the places are known yet.

    Raises:
        SubjectProblem: it cannot be started, does not answer, or has no pytest.
        SandboxProblem: it can only be asked in a sandbox, and there is none.
    """
    shut_in = sys.platform == "linux" and sandbox not in ("process", "none")
    if shut_in and (_is_projects(subject) or _loads_more(subject)):
        answer = _asked_inside(subject, sandbox)
    else:
        answer = _asked(subject, may_import=not shut_in)
        if shut_in and not answer.pytest:  # pytest is the project's own, or none is installed
            answer = _asked_inside(replace(subject, paths=answer.paths), sandbox)
    if answer.problem:
        raise SubjectProblem(
            f"{subject.python!r} cannot import pytest: {answer.problem}"
            " (install pytest there, or choose another: --brt-python)"
        )
    return answer


def _is_projects(subject: Subject) -> bool:
    """Return whether the interpreter lies in the project, and is not the one that runs us."""
    python = Path(subject.python)
    return python.is_relative_to(subject.root) and python.parent.parent != Path(sys.prefix)


def _loads_more(subject: Subject) -> bool:
    """Return whether variables given for the tests make any program load what they name."""
    outer = ("LD_", "DYLD_", "GLIBC_", "PYTHON")
    return any(name.startswith(outer) and name != "PYTHONPATH" for name, _ in subject.env)


def _spec(subject: Subject, *, may_import: bool) -> dict[str, object]:
    outer = dict(subject.env).get("PYTHONPATH", "").split(os.pathsep)
    roots = [os.path.normpath(f"{subject.root}/{root}") for root in subject.source_roots]
    return {"roots": [*roots, *filter(None, outer)], "import": may_import}


def _asked(subject: Subject, *, may_import: bool) -> SubjectAnswer:
    """Ask outside of any sandbox, with no folder of the project where code is started from."""
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
    return _answer(subject, ended)


def _asked_inside(subject: Subject, sandbox: str) -> SubjectAnswer:
    """Ask in a sandbox, as everything else of the project is run."""
    seen = replace(subject, paths=(*subject.paths, *likely_paths(Path(subject.python))))
    level = sandbox if sandbox in ("ns", "landlock") else "auto"
    engine = open_engine(seen, sandbox=level, limits=Limits())
    try:
        spec = _spec(subject, may_import=True)
        ended = engine.start(CellOrder(deadlines=_DEADLINES, script="ask", spec=spec))
    finally:
        engine.close()
    return _answer(subject, ended)


def _answer(subject: Subject, ended: Ended) -> SubjectAnswer:
    python = subject.python
    if ended.timed_out:
        raise SubjectProblem(
            f"{python!r} did not answer within {PATIENCE:.0f} s (choose another: --brt-python)"
        )
    told = ended.first("asked")
    try:
        return from_json(told.text if told else "", SubjectAnswer)
    except StoreProblem as error:
        tail = ended.tail.strip().splitlines()[-1:]
        raise SubjectProblem(
            f"{python!r} is not a usable Python: {' '.join(tail) or 'no answer'}"
            " (choose another: --brt-python)"
        ) from error


def likely_paths(python: Path) -> Iterator[str]:
    """Yield where an interpreter that cannot be asked yet will read its modules from."""
    prefixes = {python.parent.parent, python.resolve().parent.parent}
    for prefix in list(prefixes):
        settings = prefix / "pyvenv.cfg"
        with suppress(OSError):
            home = re.search(
                r"^home\s*=\s*(.+)$", read_bounded(settings).decode("utf-8", "replace"), re.M
            )
            prefixes |= {Path(home[1].strip()).parent} if home else set()
    yield from (str(prefix) for prefix in prefixes - {Path("/")})
    user = Path.home() / ".local"
    for site in (s for place in (*prefixes, user) for s in place.glob("lib/python*/site-packages")):
        yield str(site)
        for listed in site.glob("*.pth"):
            yield from _named_by(listed)


def _named_by(listed: Path) -> Iterator[str]:
    """Yield the folders that a ``.pth`` file names."""
    with suppress(OSError):
        for line in read_bounded(listed).decode("utf-8", "replace").splitlines():
            if line and not line.startswith(("#", "import ", "import\t")):
                path = os.path.normpath(listed.parent / line.strip())
                if is_folder(Path(path)):
                    yield path
