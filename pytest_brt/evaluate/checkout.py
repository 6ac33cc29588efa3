"""A bug's buggy tree, made in a scratch folder; clones and one's own trees are only read."""

from __future__ import annotations

import shutil
from dataclasses import replace
from pathlib import Path

from pytest_brt.errors import BrtError, SubjectProblem
from pytest_brt.evaluate.dataset import Instance
from pytest_brt.evaluate.environments import Environment
from pytest_brt.patches.git import find_repository, run_git
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
    repository = find_repository(clone)
    if repository is None:
        raise SubjectProblem(f"not a clone: {str(clone)!r} (give a folder of clones)")
    repository = replace(repository, work=tree)
    for command in (("read-tree", commit), ("checkout-index", "-a", "-q")):
        try:
            done = run_git(
                tree, *command, repository=repository, env={"GIT_INDEX_FILE": str(index)}
            )
        except BrtError as error:
            raise SubjectProblem(str(error)) from None
        if done.status:
            said = " ".join(done.stderr.split())[:300]
            raise SubjectProblem(f"no tree of commit {commit!r} from {str(clone)!r}: {said}")
