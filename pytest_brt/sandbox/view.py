"""What processes see of a project: what is shown of it, its variables, its paths."""

from __future__ import annotations

import os
import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from pytest_brt.project.layout import is_test_path
from pytest_brt.sandbox.events import ExceptionInfo
from pytest_brt.sandbox.placing import ALIAS
from pytest_brt.sandbox.sandbox import Sandbox, View
from pytest_brt.sandbox.shown import interpreter_folders, own_import_folders, shows_too_much
from pytest_brt.sandbox.workspace import Scratch, Workspace
from pytest_brt.types import Frame, Raised, Subject

#: What is passed on of our own variables; everything else (tokens, keys, sockets) is not.
_PASSED_ON = (
    "PATH", "LANG", "LANGUAGE", "TZ", "LD_LIBRARY_PATH", "PYTHONUTF8", "PYTHONCOERCECLOCALE",
)  # fmt: skip
#: Where our scripts lie in a root of its own.
_TOOLS = "/run/brt"


def make_view(
    subject: Subject,
    sandbox: Sandbox,
    scratch: Scratch,
    workspace: Workspace,
    *,
    seed: int = 0,
    compiles: bool = False,
) -> View:
    """Return what processes see of a project whose copy is a workspace.

    With `compiles` they write bytecode to the copy.
    """
    own = sandbox.has_own_root
    tree = subject.root if own else str(workspace.copy)
    folder = "/tmp" if own else str(workspace.temporary)
    env = {"PATH": os.defpath, "LANG": "C.UTF-8"}
    for name, value in os.environ.items():
        if name in _PASSED_ON or name.startswith("LC_"):
            env[name] = value
    env |= {"HOME": folder, "TMPDIR": folder, "USER": "nobody", "LOGNAME": "nobody"}
    env |= dict(subject.env)
    # The tests' own subprocesses find the same interpreter.
    env["PATH"] = os.pathsep.join([str(Path(subject.python).parent), env["PATH"]])
    env["PYTHONPATH"] = os.pathsep.join(subject.import_path(tree))
    env["PYTHONHASHSEED"] = str(seed)
    env["PYTEST_DISABLE_PLUGIN_AUTOLOAD"] = "1"
    if not compiles:
        env["PYTHONDONTWRITEBYTECODE"] = "1"
    return View(
        root=subject.root,
        copy=str(workspace.copy),
        tree=tree,
        env=env,
        shown=tuple(dict.fromkeys(_shown_folders(subject, sandbox, env))),
        environments=tuple((path, path) for path in workspace.environments),
        temporary=folder,
        tools=str(scratch.tools),
        tools_inside=_TOOLS if own else str(scratch.tools),
    )


def _shown_folders(
    subject: Subject, sandbox: Sandbox, env: dict[str, str]
) -> Iterator[tuple[str, str]]:
    """Yield the folders outside of the project that its processes see: real path, and name."""
    yield from interpreter_folders(subject.python, subject.root)
    named = (*subject.users_path, *env.get("LD_LIBRARY_PATH", "").split(os.pathsep))
    libraries = [path for path in named if os.path.isdir(path) and not shows_too_much(path)]
    for path in (*own_import_folders(subject.python, subject.root), *libraries, *sandbox.shown):
        yield os.path.realpath(path), path


@dataclass(frozen=True, slots=True, kw_only=True)
class PathMap:
    """Maps paths as processes name them to the project's own."""

    view: View

    def relative(self, path: str) -> str | None:
        """Return a path relative to the project, or None when it lies elsewhere."""
        plain = self.text(path)
        libraries = tuple(f"{folder}/" for folder, _ in self.view.environments)
        if not plain.startswith(f"{self.view.root}/") or plain.startswith(libraries):
            return None
        if "/site-packages/" in plain:  # of an environment that is a link in the project
            return None
        return plain[len(self.view.root) + 1 :]

    def text(self, text: str) -> str:
        """Return a text with the project's own path for the copy, and as tests call their files."""
        return re.sub(f"{ALIAS}[0-9]+", "", text).replace(self.view.tree, self.view.root)

    def raised(self, info: ExceptionInfo) -> Raised:
        """Return an exception with its paths made the project's."""
        return Raised(
            type=self.text(info.type),
            message=self.text(info.message),
            bases=info.bases,
            frames=tuple(self._frame(*frame) for frame in info.frames),
            values=info.values,
        )

    def _frame(self, path: str, line: int, function: str) -> Frame:
        name = self.relative(path)
        return Frame(
            path=path if name is None else name,
            line=line,
            function=function,
            project=name is not None and not is_test_path(name),
        )
