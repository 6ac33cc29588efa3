"""Runs git so that it starts no program and asks no network, whatever a repository says.

A repository's configuration names programs (filters, textconv, fsmonitor, gpg, hooks) and places
to fetch from. It is not read: git is given a folder of ours, with links to the repository's
objects, refs and index, and a configuration of ours. Attributes of the tree then name drivers
that nobody has defined.
"""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from itertools import chain
from pathlib import Path

from pytest_brt.bounded import read_bounded
from pytest_brt.errors import UsageProblem
from pytest_brt.patches.problem import PatchProblem
from pytest_brt.types.refused import GitFailed

#: Seconds after which git is stuck.
_SECONDS = 120.0
_NOWHERE = "/nonexistent"
#: What a program needs to start at all; the rest of the user's environment stays out.
_KEPT = ("PATH", "TMPDIR", "TEMP", "TMP", "SYSTEMROOT", "LD_LIBRARY_PATH")
#: What keeps git from the network, the terminal, and every configuration but ours.
_ALONE = {
    "GIT_DIR": _NOWHERE,
    "GIT_CONFIG_NOSYSTEM": "1",
    "GIT_CONFIG_SYSTEM": os.devnull,
    "GIT_CONFIG_GLOBAL": os.devnull,
    "GIT_ATTR_NOSYSTEM": "1",
    "GIT_NO_LAZY_FETCH": "1",
    "GIT_OPTIONAL_LOCKS": "0",
    "GIT_TERMINAL_PROMPT": "0",
    "GIT_ALLOW_PROTOCOL": "none",
    "HOME": _NOWHERE,
    "XDG_CONFIG_HOME": _NOWHERE,
    "LC_ALL": "C",
}
#: Bytes of one file that git may write, KiB of its memory, seconds of its processor.
_FILE, _MEMORY, _CPU = 128 << 20, 4 << 20, 120
_LIMITED = (
    f'ulimit -f {_FILE // 512}; ulimit -t {_CPU}; ulimit -v {_MEMORY} 2>/dev/null; exec git "$@"'
)
#: Bytes of HEAD, of the configuration, and of each other file that we read ourselves.
_SETTINGS = 1 << 20
#: Settings of a repository that say what its objects and files are, and start nothing.
_HARMLESS = re.compile(
    r"(?:core\.(?:autocrlf|eol|filemode|symlinks|ignorecase|precomposeunicode)"
    r"|extensions\.(?:objectformat|refstorage))",
    re.IGNORECASE,
)
_OVERRIDES = (
    "core.fsmonitor=false", "core.hooksPath=/dev/null", "core.attributesFile=/dev/null",
    "core.pager=cat", "gpg.program=false", "log.showSignature=false",
    "protocol.allow=never", "credential.helper=", "safe.directory=*",
)  # fmt: skip


@dataclass(frozen=True, slots=True, kw_only=True)
class Repository:
    """Where a repository keeps what git reads."""

    #: Of this working tree: HEAD and the index.
    git: Path
    #: Of all its working trees: objects and refs.
    common: Path
    #: The working tree.
    work: Path


def find_repository(folder: Path) -> Repository | None:
    """Return the repository that `folder` lies in or is (a bare one), None where there is none.

    Raises:
        UsageProblem: a file that says where it is kept cannot be read.
    """
    for place in (folder, *folder.parents):
        found = place / ".git"
        if found.is_file():
            told = _read(found).decode("utf-8", "surrogateescape")
            found = place / told.partition("gitdir:")[2].strip()
        if _is_git(found):
            return Repository(git=found, common=_common(found), work=place)
        if _is_git(place):
            return Repository(git=place, common=_common(place), work=place)
    return None


def _is_git(place: Path) -> bool:
    return (place / "HEAD").is_file() and (_common(place) / "objects").is_dir()


def _common(git: Path) -> Path:
    link = git / "commondir"
    return git / os.fsdecode(_read(link).strip()) if link.is_file() else git


def _read(path: Path) -> bytes:
    try:
        return read_bounded(path, _SETTINGS)
    except (OSError, ValueError) as error:
        reason = error.strerror if isinstance(error, OSError) else error
        raise UsageProblem(f"cannot read {str(path)!r}, a file of git's: {reason}") from error


def run_git(
    folder: Path,
    *arguments: str,
    stdin: bytes = b"",
    repository: Repository | None = None,
    env: Mapping[str, str] | None = None,
) -> subprocess.CompletedProcess[bytes]:
    """Run ``git *arguments`` in `folder`: in no repository, or in `repository`.

    Raises:
        UsageProblem: git is not installed, or a file of the repository cannot be read.
        PatchProblem: git does not end in time.
    """
    if shutil.which("git") is None:
        raise UsageProblem(
            "git: not found on PATH; patches are applied and trees compared by it (install git)"
        )
    kept = {name: os.environ[name] for name in _KEPT if name in os.environ}
    overrides = chain.from_iterable(("-c", setting) for setting in _OVERRIDES)
    command = ["/bin/sh", "-c", _LIMITED, "git"] if sys.platform != "win32" else ["git"]
    with _own_folder(repository) as named:
        try:
            return subprocess.run(
                [*command, *overrides, *arguments],
                cwd=folder,
                env={**kept, **_ALONE, **named, **(env or {})},
                input=stdin,
                capture_output=True,
                timeout=_SECONDS,
                check=False,
            )
        except subprocess.TimeoutExpired as error:
            late = f"{arguments[0]} did not end within {_SECONDS:.0f} s"
            raise PatchProblem(GitFailed(said=late)) from error


@contextmanager
def _own_folder(repository: Repository | None) -> Iterator[dict[str, str]]:
    """Make a git folder that shows a repository without its configuration; give its name."""
    if repository is None:
        yield {}
        return
    with tempfile.TemporaryDirectory(prefix="brt-git-") as name:
        own = Path(name)
        parts = ("objects", "refs", "packed-refs", "reftable", "shallow")
        links = [repository.git / "index", *(repository.common / part for part in parts)]
        _check_kinds(links)
        _check_kinds(_below(repository.common / "objects"))
        _check_kinds(_below(repository.common / "refs"))
        for kept in links:
            if kept.exists():
                (own / kept.name).symlink_to(kept.resolve())
        (own / "refs").mkdir(exist_ok=True)
        (own / "HEAD").write_bytes(_read(repository.git / "HEAD"))
        (own / "config").write_text(_settings(repository), encoding="utf-8")
        yield {"GIT_DIR": name, "GIT_WORK_TREE": str(repository.work)}


def _below(folder: Path) -> Iterator[Path]:
    """Yield what lies below `folder` and is neither a file nor a folder of its own."""
    try:
        with os.scandir(folder) as entries:
            for entry in entries:
                if entry.is_dir(follow_symlinks=False):
                    yield from _below(Path(entry.path))
                elif not entry.is_file(follow_symlinks=False):
                    yield Path(entry.path)
    except FileNotFoundError:
        return  # a bare minimum of a repository, or one that git packs at this moment


def _check_kinds(paths: Iterable[Path]) -> None:
    """Refuse pipes and devices: git would wait for them, or read them without end."""
    for path in paths:
        if path.exists() and not (path.is_file() or path.is_dir()):
            raise UsageProblem(
                f"{str(path)!r} is a pipe, a socket or a device, and git expects a file or a "
                "folder there (the repository is damaged: clone it again)"
            )


def _settings(repository: Repository) -> str:
    """Return a configuration with what of a repository's own is needed to read it."""
    lines = ["[core]", "\trepositoryformatversion = 1", "\tbare = false"]
    for name, value in _configuration(repository):
        if _HARMLESS.fullmatch(name) and re.fullmatch(r"\w+", value):
            section, _, key = name.partition(".")
            lines += [f"[{section}]", f"\t{key} = {value}"]
    return "\n".join(lines) + "\n"


def _configuration(repository: Repository) -> Iterator[tuple[str, str]]:
    """Yield the names and values of a repository's own configuration."""
    path = repository.common / "config"
    text = _read(path) if path.exists() else b""
    said = run_git(Path("/"), "config", "--no-includes", "--list", "-z", "--file", "-", stdin=text)
    for entry in said.stdout.decode("utf-8", "replace").split("\0"):
        name, _, value = entry.partition("\n")
        yield name, value


def read_remotes(repository: Repository) -> dict[str, str]:
    """Return where a repository is fetched from, by the names of its remotes."""
    found = {}
    for name, value in _configuration(repository):
        section, _, rest = name.partition(".")
        remote, _, key = rest.rpartition(".")
        if (section, key) == ("remote", "url"):
            found[remote] = value
    return found
