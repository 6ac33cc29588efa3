"""Asks an interpreter what it is, in the sandbox that its tests are run in."""

from __future__ import annotations

import os
import re
import site
import sys
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import closing, suppress
from dataclasses import dataclass, replace
from pathlib import Path
from urllib.parse import unquote, urlsplit

from pytest_brt.bounded import is_folder, read_bounded
from pytest_brt.codec import from_json
from pytest_brt.errors import StoreProblem, SubjectProblem
from pytest_brt.execute.engine import Limits
from pytest_brt.execute.layout import is_environment
from pytest_brt.execute.local import LocalEngine
from pytest_brt.execute.process import Deadlines, Ended, run_script, scrubbed
from pytest_brt.execute.protocol import CellOrder
from pytest_brt.execute.sandbox import Sandbox, is_below, shown_paths, shows_too_much
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


@dataclass(frozen=True, slots=True, kw_only=True)
class _Install:
    """How a distribution was installed from a folder."""

    editable: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class _Origin:
    """Where a distribution was installed from: what ``direct_url.json`` holds (PEP 610)."""

    url: str
    dir_info: _Install = _Install()


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
    elsewhere = _worked_on_elsewhere(answer.paths, subject.root)
    return replace(answer, paths=(*answer.paths, *elsewhere))


def _worked_on_elsewhere(paths: Sequence[str], root: str) -> Iterator[str]:
    """Yield the folders of libraries that are installed to be edited, but for the project's own."""
    for packages in map(Path, paths):
        if packages.name in ("site-packages", "dist-packages"):
            for path in _named_in(packages):
                if path not in paths and not is_below(path, root) and not is_below(root, path):
                    yield path


def _is_running(subject: Subject) -> bool:
    """Return whether the interpreter is the one that runs us, and starts nothing else than that.

    Where its file really lies proves nothing: an environment in the project may link to the same,
    and runs code of its own. So may what variables for the tests name.
    """
    outer = ("LD_", "DYLD_", "GLIBC_", "PYTHON")
    loads_more = any(name.startswith(outer) and name != "PYTHONPATH" for name, _ in subject.env)
    return subject.python == sys.executable and not loads_more


def _spec(subject: Subject, *, may_import: bool) -> dict[str, object]:
    outer = dict(subject.env).get("PYTHONPATH", "").split(os.pathsep)
    roots = [os.path.normpath(f"{subject.root}/{root}") for root in subject.source_roots]
    return {"roots": [*roots, *filter(None, outer)], "import": may_import}


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
    likely = likely_paths(Path(subject.python), Path(env["PYTHONUSERBASE"]))
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


def likely_paths(python: Path, user_base: Path) -> Iterator[str]:
    """Yield where an interpreter that cannot be asked yet will read its modules from."""
    prefixes = {python.parent.parent, python.resolve().parent.parent}
    for environment in list(prefixes):
        prefixes |= _read_base_prefixes(environment)
    prefixes = {prefix for prefix in prefixes if _is_prefix(prefix)}
    yield from (str(prefix) for prefix in prefixes)
    for place in (*prefixes, user_base):
        for packages in _glob_folders(place, "lib/python*/site-packages"):
            if packages.resolve().name == packages.name:  # not a link to something else
                yield str(packages)
                yield from _named_in(packages)


def _read_base_prefixes(environment: Path) -> set[Path]:
    """Return the prefix of the interpreter that an environment says it was made of, if it does."""
    with suppress(OSError):
        text = read_bounded(environment / "pyvenv.cfg").decode("utf-8", "replace")
        home = re.search(r"^home\s*=\s*(.+)$", text, re.M)
        return {Path(home[1].strip()).parent} if home else set()
    return set()


def _is_prefix(folder: Path) -> bool:
    """Return whether a folder is that of an interpreter or an environment: any can be named."""
    is_root = folder == Path("/")
    return not is_root and (
        is_environment(folder) or bool(_glob_folders(folder, "lib*/py*/encodings"))
    )


def _glob_folders(folder: Path, pattern: str) -> list[Path]:
    """Return the folders that match a pattern; none where that may not be looked at."""
    try:
        return [path for path in folder.glob(pattern) if is_folder(path)]
    except (OSError, ValueError):  # no folder has a null character in its name
        return []


def _named_in(packages: Path) -> Iterator[str]:
    """Yield the folders elsewhere that a folder of installed packages takes modules from.

    Any can be named there. A library is worked on in none of those that are hidden in a home.
    """
    named = [path for listed in packages.glob("*.pth") for path in _read_listed(listed)]
    for path in packages.glob("*.dist-info/direct_url.json"):
        root = _read_editable(path)
        # Where modules are found by a finder, no line names their folder.
        if root and not any(is_below(path, root) for path in named):
            named.append(root)
    yield from filter(_holds_modules, named)


def _read_listed(listed: Path) -> list[str]:
    """Return the folders that the lines of a ``.pth`` file name."""
    with suppress(OSError):
        lines = read_bounded(listed).decode("utf-8", "replace").splitlines()
        names = [
            line.strip() for line in lines if not line.startswith(("#", "import ", "import\t"))
        ]
        return [os.path.normpath(listed.parent / name) for name in names if name]
    return []


def _read_editable(path: Path) -> str:
    """Return the folder of the project that was installed to be edited, or ""."""
    with suppress(OSError, StoreProblem, ValueError):
        origin = from_json(read_bounded(path), _Origin)
        if origin.dir_info.editable and origin.url.startswith("file:///"):
            return os.path.normpath(unquote(urlsplit(origin.url).path))
    return ""


def _holds_modules(path: str) -> bool:
    """Return whether a folder is one of modules, and not one of those that a home hides."""
    folder = Path(path).resolve()
    hidden = any(part.startswith(".") for part in folder.parts)
    if hidden and not any(_is_prefix(parent) for parent in folder.parents):
        return False
    if shows_too_much(path) or not is_folder(folder):
        return False
    return any(any(folder.glob(f"{depth}*.py")) for depth in ("", "*/", "*/*/"))
