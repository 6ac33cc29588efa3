"""The buggy tree of each bug of a study, and the interpreter and environment it is run with.

Trees are made in a scratch folder; clones and one's own trees are only read.
"""

from __future__ import annotations

import os
import shutil
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path

import msgspec

from pytest_brt.errors import BrtError, SubjectProblem
from pytest_brt.evaluate.dataset import Instance
from pytest_brt.patches.git import Repository, find_repository, run_git
from pytest_brt.patches.text import decode
from pytest_brt.sandbox.shown import find_outside, is_below
from pytest_brt.store import write_text


class Environment(msgspec.Struct, forbid_unknown_fields=True, kw_only=True):
    """How the tests of a bug are run; also what one table of the file says of it."""

    #: Interpreter; "" takes the tree's own .venv, else the running one.
    python: str = ""
    #: Import path, relative to the tree; None where nothing is said of it.
    pythonpath: tuple[str, ...] | None = None
    env: dict[str, str] = {}  # msgspec copies it
    #: Files that the tree lacks, as a build would make them: path and content.
    files: dict[str, str] = {}


def environment_of(instance: Instance, tables: Mapping[str, Environment]) -> Environment:
    """Return how `instance` is run: what is said of it in particular before what is general.

    In a file's content ``{version}`` is the bug's version.
    """
    names = (
        "default",
        instance.repo,
        f"{instance.repo}@{instance.version}",
        instance.environment,
        instance.id,
    )
    found = Environment(pythonpath=instance.pythonpath, env=dict(instance.env))
    for said in (tables[name] for name in names if name in tables):
        found.python = said.python or found.python
        found.pythonpath = found.pythonpath if said.pythonpath is None else said.pythonpath
        found.env |= said.env
        found.files |= said.files
    for path, text in found.files.items():
        found.files[path] = text.replace("{version}", instance.version)
    return found


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
        clone = _clone_of(instance.repo, repos)
        _check_out(clone, instance.base_commit, tree, scratch / "index")
    for name, value in (*instance.env.items(), *(("PYTHONPATH", p) for p in instance.pythonpath)):
        if outside := find_outside(name, value, tree):
            raise SubjectProblem(
                f"the data set's {name} names a folder outside of the tree: {outside!r} (name it "
                "in 'environments' of study.toml)"
            )
    for path, text in environment.files.items():
        place = (tree / path).resolve()
        if not place.is_relative_to(tree.resolve()):
            raise SubjectProblem(f"environments: not a path in the tree: {path!r}")
        write_text(place, text)
    return tree


def _clone_of(repo: str, repos: Path | None) -> Repository:
    """Return a repository's clone, bare or not, a linked worktree or a submodule too."""
    if repos is None:
        raise SubjectProblem(f"{repo} needs a clone (repos = DIR in study.toml, with DIR/{repo})")
    name = repo.rpartition("/")[2]
    for spelt in (repo, repo.replace("/", "__"), repo.replace("/", "+"), name):
        for end in ("", ".git"):
            place = repos / f"{spelt}{end}"
            is_within = is_below(os.path.normpath(place), os.path.normpath(repos))
            found = find_repository(place) if is_within and place.is_dir() else None
            if found is not None and found.work == place:  # not one that `repos` lies in
                return found
    raise SubjectProblem(
        f"no clone of {repo} in {str(repos)!r} (looked for {repo}, {repo.replace('/', '__')} "
        f"and {name})"
    )


def _check_out(clone: Repository, commit: str, tree: Path, index: Path) -> None:
    """Write the files of `commit` to `tree`: all of them, which `git archive` does not promise."""
    tree.mkdir(parents=True)
    repository = replace(clone, work=tree)
    for command in (("read-tree", "--end-of-options", commit), ("checkout-index", "-a", "-q")):
        try:
            done = run_git(
                tree, *command, repository=repository, env={"GIT_INDEX_FILE": str(index)}
            )
        except BrtError as error:
            raise SubjectProblem(str(error)) from None
        if done.returncode:
            said = " ".join(decode(done.stderr).split())[:300]
            raise SubjectProblem(f"no tree of commit {commit!r} from {str(clone.git)!r}: {said}")
