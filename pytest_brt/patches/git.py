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
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from pytest_brt.errors import PatchProblem, UsageProblem

#: Seconds after which git is stuck.
_SECONDS = 120.0
_NOWHERE = "/nonexistent"
#: What a program needs to start at all; the rest of the user's environment stays out.
_KEPT = ("PATH", "TMPDIR", "TEMP", "TMP", "SYSTEMROOT", "LD_LIBRARY_PATH")
#: Bytes of one file that git may write, KiB of its memory, seconds of its processor.
_FILE, _MEMORY, _CPU = 128 << 20, 4 << 20, 120
_LIMITED = (
    f'ulimit -f {_FILE // 512}; ulimit -t {_CPU}; ulimit -v {_MEMORY} 2>/dev/null; exec git "$@"'
)
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
class GitReply:
    """What one run of git gave."""

    status: int
    stdout: bytes
    stderr: str


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
    """Return the repository that `folder` lies in or is (a bare one), None where there is none."""
    for place in (folder, *folder.parents):
        found = place / ".git"
        if found.is_file():
            told = found.read_text(encoding="utf-8", errors="surrogateescape")
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
    return git / link.read_text(encoding="utf-8").strip() if link.is_file() else git


def run_git(
    folder: Path,
    *arguments: str,
    stdin: bytes = b"",
    repository: Repository | None = None,
    env: Mapping[str, str] | None = None,
) -> GitReply:
    """Run ``git *arguments`` in `folder`: in no repository, or in `repository`.

    Raises:
        UsageProblem: git is not installed.
        PatchProblem: git does not end in time.
    """
    if shutil.which("git") is None:
        raise UsageProblem(
            "git: not found on PATH, and patches are applied by 'git apply' (install git)"
        )
    environment = {name: os.environ[name] for name in _KEPT if name in os.environ}
    environment |= {
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
    overrides = [word for setting in _OVERRIDES for word in ("-c", setting)]
    command = ["/bin/sh", "-c", _LIMITED, "git"] if sys.platform != "win32" else ["git"]
    with _own_folder(repository, environment) as named:
        try:
            done = subprocess.run(
                [*command, *overrides, *arguments],
                cwd=folder,
                env={**environment, **named, **(env or {})},
                input=stdin,
                capture_output=True,
                timeout=_SECONDS,
                check=False,
            )
        except subprocess.TimeoutExpired as error:
            raise PatchProblem(f"git {arguments[0]} did not end within {_SECONDS:.0f} s") from error
    return GitReply(
        status=done.returncode,
        stdout=done.stdout,
        stderr=done.stderr.decode("utf-8", "surrogateescape"),
    )


@contextmanager
def _own_folder(
    repository: Repository | None, environment: Mapping[str, str]
) -> Iterator[dict[str, str]]:
    """Make a git folder that shows a repository without its configuration; give its name."""
    if repository is None:
        yield {}
        return
    with tempfile.TemporaryDirectory(prefix="brt-git-") as name:
        own = Path(name)
        links = [(repository.common, part) for part in ("objects", "refs", "packed-refs")]
        links += [(repository.common, part) for part in ("reftable", "shallow")]
        links += [(repository.git, "index")]
        for place, part in links:
            if (place / part).exists():
                (own / part).symlink_to((place / part).resolve())
        (own / "refs").mkdir(exist_ok=True)
        (own / "HEAD").write_bytes((repository.git / "HEAD").read_bytes())
        (own / "config").write_text(_settings(repository, environment), encoding="utf-8")
        yield {"GIT_DIR": name, "GIT_WORK_TREE": str(repository.work)}


def _settings(repository: Repository, environment: Mapping[str, str]) -> str:
    """Return a configuration with what of a repository's own is needed to read it."""
    path = str(repository.common / "config")
    said = subprocess.run(
        ["git", "config", "--no-includes", "--list", "-z", "--file", path],
        env=dict(environment),
        stdin=subprocess.DEVNULL,
        capture_output=True,
        timeout=_SECONDS,
        check=False,
    )
    lines = ["[core]", "\trepositoryformatversion = 1", "\tbare = false"]
    for entry in said.stdout.decode("utf-8", "replace").split("\0"):
        name, _, value = entry.partition("\n")
        if _HARMLESS.fullmatch(name) and re.fullmatch(r"\w+", value):
            section, _, key = name.partition(".")
            lines += [f"[{section}]", f"\t{key} = {value}"]
    return "\n".join(lines) + "\n"
