"""What processes see of a project: what is shown of it, its variables, its paths."""

from __future__ import annotations

import json
import os
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from pytest_brt.project.layout import is_test_path
from pytest_brt.sandbox.events import ExceptionInfo
from pytest_brt.sandbox.placing import ALIAS
from pytest_brt.sandbox.shown import (
    SYSTEM,
    interpreter_folders,
    is_below,
    own_import_folders,
    shows_too_much,
)
from pytest_brt.sandbox.workspace import Workspace
from pytest_brt.types import Frame, Raised, Subject

#: Our scripts of the project's interpreter, and where they lie in a root of its own.
_INSIDE, _TOOLS = str(Path(__file__).with_name("inside")), "/run/brt"
#: What is passed on of our own variables; everything else (tokens, keys, sockets) is not.
_PASSED_ON = (
    "PATH", "LANG", "LANGUAGE", "TZ", "LD_LIBRARY_PATH", "PYTHONUTF8", "PYTHONCOERCECLOCALE",
)  # fmt: skip


@dataclass(frozen=True, slots=True, kw_only=True)
class View:
    """The folders and variables of one process, and what the paths mean that it names."""

    #: The project's own path, the private copy of it, and where the process finds it.
    root: str
    copy: str
    tree: str
    env: Mapping[str, str]
    #: Where it finds our scripts.
    tools: str = ""
    #: What it may read besides: the real path of each folder or file, and its name.
    shown: tuple[tuple[str, str], ...]
    #: Virtual environments of the project among them, of which no copy is made.
    environments: tuple[str, ...] = ()

    def own_paths(self, text: bytes) -> bytes:
        """Return what a process prints or reports with the project's own path for the copy."""
        tree, root = (json.dumps(path)[1:-1].encode("ascii") for path in (self.tree, self.root))
        return text.replace(tree, root)

    def name(self, text: str) -> str:
        """Return a text with the names of test files as their tests call them."""
        return re.sub(f"{ALIAS}[0-9]+", "", text)

    def relative(self, path: str) -> str | None:
        """Return a path relative to the project, or None when it lies elsewhere."""
        plain = self.name(path)
        is_library = any(is_below(plain, folder) for folder in self.environments)
        # The other environments are links in the project.
        if is_library or "/site-packages/" in plain or not plain.startswith(f"{self.root}/"):
            return None
        return plain[len(self.root) + 1 :]

    def raised(self, info: ExceptionInfo) -> Raised:
        """Return an exception with its paths made the project's."""
        frames: list[Frame] = []
        for path, line, function in info.frames:
            name = self.relative(path)
            is_project = name is not None and not is_test_path(name)
            frames.append(
                Frame(path=name or path, line=line, function=function, project=is_project)
            )
        return Raised(
            type=self.name(info.type),
            message=self.name(info.message),
            bases=info.bases,
            frames=tuple(frames),
        )


def make_view(
    subject: Subject, workspace: Workspace, shown: Sequence[str], *, own_root: bool, **env: str
) -> View:
    """Return what processes see of a project whose copy is a workspace.

    With `own_root` they find it at its own path. What the user has `shown`, they may read.
    """
    tree = subject.root if own_root else str(workspace.copy)
    folder = "/tmp" if own_root else str(workspace.temporary)
    passed = {k: v for k, v in os.environ.items() if k in _PASSED_ON or k.startswith("LC_")}
    variables = {
        "LANG": "C.UTF-8",
        **passed,
        **dict.fromkeys(("HOME", "TMPDIR"), folder),
        **dict.fromkeys(("USER", "LOGNAME"), "nobody"),
        **dict(subject.env),
        "PYTHONPATH": os.pathsep.join(subject.import_path(tree)),
        "PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1",
        **env,
    }
    # The tests' own subprocesses find the same interpreter.
    folders = (os.path.dirname(subject.python), variables.get("PATH", os.defpath))
    libraries = variables.get("LD_LIBRARY_PATH", "").split(os.pathsep)
    named = [path for path in (*subject.users_path, *libraries) if os.path.isdir(path)]
    named = [path for path in named if not shows_too_much(path)]
    named += [*own_import_folders(subject.python, subject.root), *shown]
    tools = _TOOLS if own_root else _INSIDE
    return View(
        root=subject.root,
        copy=str(workspace.copy),
        tree=tree,
        tools=tools,
        env={**variables, "PATH": os.pathsep.join(folders)},
        shown=(
            *interpreter_folders(subject.python, subject.root),
            *((os.path.realpath(path), path) for path in named),
            *((path, path) for path in (*SYSTEM, *workspace.environments)),
            (_INSIDE, tools),
        ),
        environments=tuple(workspace.environments),
    )
