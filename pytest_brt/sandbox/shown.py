"""What code of a project sees of the machine: what is shown of it, its variables, its paths.

A checkout may be a stranger's, and can hold links and settings that name any folder. So nothing
that the project names is shown, but for what is an installed Python.
"""

from __future__ import annotations

import json
import os
import pwd
import re
import sys
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path

from pytest_brt.errors import UsageProblem
from pytest_brt.project.layout import is_environment, is_test_path
from pytest_brt.sandbox.placing import ALIAS
from pytest_brt.types import Frame, Raised, Subject
from pytest_brt.types.note import value

#: What programs and their libraries need of any system, and everybody may know.
SYSTEM = (
    "/usr", "/bin", "/sbin", "/lib", "/lib32", "/lib64", "/libx32", "/nix", "/gnu",
    "/etc/ld.so.cache", "/etc/ld.so.conf", "/etc/ld.so.conf.d", "/etc/alternatives", "/etc/passwd",
    "/etc/group", "/etc/nsswitch.conf", "/etc/hosts", "/etc/host.conf", "/etc/resolv.conf",
    "/etc/services", "/etc/protocols", "/etc/localtime", "/etc/timezone", "/etc/mime.types",
    "/etc/ssl", "/etc/ca-certificates", "/etc/pki", "/etc/fonts", "/etc/magic",
)  # fmt: skip
#: Folders that a sandbox has of its own, or that the kernel makes.
_OWN = ("/tmp", "/var/tmp", "/run", "/dev/shm", "/proc", "/sys")
#: Variables that name folders which tests may read, wherever these are.
_FOLDERS_TO_READ = ("PYTHONPATH", "PYTHONUSERBASE", "LD_LIBRARY_PATH")
#: Links that lead to an interpreter; the kernel follows no more either.
_MOST_LINKS = 40
#: Our scripts of the project's interpreter, and where they lie in a root of its own.
_INSIDE, _TOOLS = str(Path(__file__).with_name("inside")), "/run/brt"
#: Where libraries are, in an environment of the project too.
_LIBRARY = re.compile(r"/(?:site|dist)-packages/|/lib(?:64)?/python[\d.]+/")
#: What is passed on of our own variables; everything else (tokens, keys, sockets) is not.
_PASSED_ON = re.compile(
    "PATH|LANG|LANGUAGE|LC_.*|TZ|LD_LIBRARY_PATH|PYTHONUTF8|PYTHONCOERCECLOCALE"
)


@value
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

    def own_paths(self, text: bytes) -> bytes:
        """Return what a process prints or reports with the project's own path for the copy."""
        tree, root = (
            json.dumps(path)[1:-1].encode("ascii") for path in (self.tree, self.root)
        )
        return text.replace(tree, root)

    def name(self, text: str) -> str:
        """Return a text with the names of test files as their tests call them."""
        return re.sub(f"{ALIAS}[0-9]+", "", text)

    def locate(self, raised: Raised) -> Raised:
        """Return an exception with its names and paths made the project's."""
        frames: list[Frame] = []
        for frame in raised.frames:
            path = self.relative(frame.path)
            is_project = path is not None and not is_test_path(path)
            frames.append(replace(frame, path=path or frame.path, project=is_project))
        return replace(
            raised,
            type=self.name(raised.type),
            message=self.name(raised.message),
            frames=tuple(frames),
        )

    def relative(self, path: str) -> str | None:
        """Return a path relative to the project, or None when it lies elsewhere."""
        plain = self.name(path)
        below = plain.removeprefix(f"{self.root}/")
        return None if below == plain or _LIBRARY.search(f"/{below}") else below


def make_view(
    subject: Subject, copy: Path, shown: Sequence[str], *, own_root: bool, **env: str
) -> View:
    """Return what processes see of a project of which there is a private copy.

    With `own_root` they find it at its own path. What the user has `shown`, they may read.
    """
    tree, folder, tools = subject.root, "/tmp", _TOOLS
    if not own_root:
        tree, folder, tools = str(copy), str(copy.with_name("tmp")), _INSIDE
    variables = {
        "LANG": "C.UTF-8",
        **{name: os.environ[name] for name in filter(_PASSED_ON.fullmatch, os.environ)},
        **dict.fromkeys(("HOME", "TMPDIR"), folder),
        **dict.fromkeys(("USER", "LOGNAME"), "nobody"),
        **dict(subject.env),
        # No module of the project is to stand before those that start.py needs.
        "PYTHONPATH": os.pathsep.join(subject.users_path),
        "PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1",
        **env,
    }
    # The tests' own subprocesses find the same interpreter.
    folders = (os.path.dirname(subject.python), variables.get("PATH", os.defpath))
    libraries = variables.get("LD_LIBRARY_PATH", "").split(os.pathsep)
    named = [*subject.users_path, *libraries]
    # Whoever started us has started it so: what `.pth` files in it name is the user's choice.
    named += sys.path if subject.python == sys.executable else ()
    named = [path for path in named if _can_be_shown(path, subject.root)]
    return View(
        root=subject.root,
        copy=str(copy),
        tree=tree,
        tools=tools,
        env={**variables, "PATH": os.pathsep.join(folders)},
        shown=(
            *interpreter_folders(subject.python, subject.root),
            *((os.path.realpath(path), path) for path in (*SYSTEM, *named, *shown)),
            (_INSIDE, tools),
        ),
    )


def _can_be_shown(path: str, root: str) -> bool:
    """Return whether a path is that of a folder outside of a project that may be shown."""
    is_folder = os.path.isabs(path) and os.path.isdir(path)
    is_own = Path(path).is_relative_to(root)
    return is_folder and not is_own and not shows_too_much(path)


def interpreter_folders(python: str, root: str) -> Iterator[tuple[str, str]]:
    """Yield the folders that an interpreter starts from: real, and as named.

    The first one may be an environment: in the project or not, the user has chosen it. Others are
    those of the links that lead to it which hold an installed Python, outside of `root`.
    """
    hop = Path(python).absolute()
    for number in range(_MOST_LINKS):
        named = hop.parents[1]
        real = named.resolve()
        is_installed = any(real.glob("lib*/python3*/os.py")) and not real.is_relative_to(
            root
        )
        is_started = is_installed or (not number and is_environment(real))
        if is_started and not shows_too_much(str(real)):
            # A link in the project is in its copy too, and leads to where the folder is.
            yield str(real), str(real if named.is_relative_to(root) else named)
        if not hop.is_symlink():
            return
        hop = Path(os.path.normpath(hop.parent.resolve() / hop.readlink()))


def check_folder(named: str) -> str:
    """Return the path of a folder that a person wants shown.

    Raises:
        UsageProblem: there is none, or it would show a home, or what a sandbox has of its own.
    """
    folder = os.path.normpath(Path(named).absolute())
    if not named or not os.path.isdir(folder):
        raise UsageProblem(f"--brt-show: no such folder: {named!r} (give one that exists)")
    if shows_too_much(folder):
        raise UsageProblem(
            f"--brt-show: {named!r} holds your home, or folders that each test has of its own"
            " (give a folder in it)"
        )
    return folder


def shows_too_much(folder: str) -> bool:
    """Return whether a folder is, or holds, the user's home or what a sandbox has of its own."""
    # With sudo, HOME is root's, and the files are those of who called it.
    users = (str(os.getuid()), os.environ.get("SUDO_UID"))
    homes = [entry.pw_dir for entry in pwd.getpwall() if str(entry.pw_uid) in users]
    private = map(os.path.realpath, (os.path.expanduser("~"), *homes))
    real = os.path.realpath(folder)
    return any(Path(path).is_relative_to(real) for path in (*private, *_OWN))


def find_outside(name: str, value: str, root: Path) -> str:
    """Return the first folder of a variable that has tests of the project in `root` read more."""
    for entry in value.split(os.pathsep) if name in _FOLDERS_TO_READ else ():
        if not (root / entry).resolve().is_relative_to(root.resolve()):
            return entry
    return ""
