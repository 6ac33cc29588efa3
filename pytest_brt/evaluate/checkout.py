"""A bug's buggy tree, made in a scratch folder; clones and one's own trees are only read."""

from __future__ import annotations

import os
import shutil
import subprocess
from pathlib import Path

from pytest_brt.errors import SubjectProblem
from pytest_brt.evaluate.dataset import Instance
from pytest_brt.evaluate.environments import Environment
from pytest_brt.store import write_text


def make_tree(
    instance: Instance, environment: Environment, repos: Path | None, scratch: Path
) -> Path:
    """Make the buggy tree of `instance` in `scratch` and return it.

    Raises:
        SubjectProblem: there is no clone, it lacks the commit, or the tree cannot be written.
    """
    tree = scratch / "tree"
    if instance.tree:
        try:
            shutil.copytree(instance.tree, tree, symlinks=True)
        except (OSError, shutil.Error) as error:
            raise SubjectProblem(f"cannot copy {instance.tree!r}: {error}") from None
    else:
        _check_out(_clone_of(instance.repo, repos), instance.base_commit, tree, scratch / "index")
    for path, text in environment.files:
        place = (tree / path).resolve()
        if not place.is_relative_to(tree.resolve()):
            raise SubjectProblem(f"--brt-environments: not a path in the tree: {path!r}")
        write_text(place, text)
    return tree


def _clone_of(repo: str, repos: Path | None) -> Path:
    """Return the git folder of a repository's clone, bare or not."""
    if repos is None:
        raise SubjectProblem(f"{repo} needs a clone (add --brt-repos DIR with DIR/{repo} in it)")
    name = repo.rpartition("/")[2]
    for spelt in (repo, repo.replace("/", "__"), repo.replace("/", "+"), name):
        for end in ("", ".git"):
            place = repos / f"{spelt}{end}"
            for git in (place / ".git", place):
                if (git / "objects").is_dir() and (git / "HEAD").is_file():
                    return git
            if (place / ".git").is_file():  # a linked worktree, or a submodule
                return place
    raise SubjectProblem(
        f"no clone of {repo} in {str(repos)!r} (looked for {repo}, {repo.replace('/', '__')} "
        f"and {name})"
    )


def _check_out(clone: Path, commit: str, tree: Path, index: Path) -> None:
    """Write the files of `commit` to `tree`: all of them, which `git archive` does not promise."""
    tree.mkdir(parents=True)
    git = clone if (clone / "objects").is_dir() else Path(_git_dir(clone))
    env = {
        **{key: value for key, value in os.environ.items() if not key.startswith("GIT_")},
        "GIT_DIR": str(git.resolve()),
        "GIT_WORK_TREE": str(tree),
        "GIT_INDEX_FILE": str(index),
        # A clone that lacks objects must not fetch them: no network, ever.
        "GIT_NO_LAZY_FETCH": "1",
        "GIT_TERMINAL_PROMPT": "0",
        "LC_ALL": "C",
    }
    # Where the clone belongs to somebody else, git would not read it.
    safe = ("-c", "safe.directory=*", "-c", "core.bare=false", "-c", "core.hooksPath=/dev/null")
    for command in (("read-tree", commit), ("checkout-index", "-a", "-q")):
        done = _git((*safe, *command), tree, env)
        if done.returncode:
            said = " ".join(done.stderr.split())[:300]
            raise SubjectProblem(f"no tree of commit {commit!r} from {str(clone)!r}: {said}")


def _git_dir(place: Path) -> str:
    done = _git(("rev-parse", "--absolute-git-dir"), place, dict(os.environ))
    if done.returncode:
        raise SubjectProblem(f"not a clone: {str(place)!r}: {done.stderr.strip()[:200]}")
    return done.stdout.strip()


def _git(
    arguments: tuple[str, ...], folder: Path, env: dict[str, str]
) -> subprocess.CompletedProcess[str]:
    command = ("git", *arguments)
    try:
        return subprocess.run(
            command, cwd=folder, env=env, capture_output=True, text=True, check=False
        )
    except OSError as error:
        raise SubjectProblem(f"git cannot be started: {error.strerror}") from None
