"""What pytest collects: the reports and patches that the user named, read and paired."""

from __future__ import annotations

import os
import sys
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from pytest_brt.errors import UsageProblem
from pytest_brt.issue import load_issue
from pytest_brt.options import Options
from pytest_brt.patches import read_patches
from pytest_brt.plan import Case
from pytest_brt.rank.branches import write_branches
from pytest_brt.rank.history import History
from pytest_brt.types import Issue, Patch


def absolutepath(path: str | Path) -> Path:
    """Return `path` from the root of the file system, ``..`` taken out, as pytest names it."""
    return Path(os.path.abspath(path))  # noqa: PTH100 - resolve() would follow links


#: The files that pytest collects, in order: an issue (no patches), or a file of patches.
Files = dict[Path, tuple[Case, tuple[Patch, ...]]]


def read_cases(
    config: pytest.Config, options: Options, scratch: Path
) -> tuple[tuple[Case, ...], Files]:
    """Return each report with the patches that are for it, and the files that show them.

    `scratch` may hold what came from stdin, or from branches.

    Raises:
        UsageProblem: a report, a patch or a path cannot be used.
    """
    issues = {_issue_path(source, scratch): _read(config, source) for source in options.issues}
    folder, patches = _patches(config, options, scratch)
    cases = _paired(issues, folder, patches)
    return cases, _files(issues, cases, folder)


def _issue_path(source: str, scratch: Path) -> Path:
    return scratch / "stdin.md" if source == "-" else _plain("--brt-issue", source)


def _plain(option: str, source: str | Path) -> Path:
    path = absolutepath(source)
    if "[" in str(path) or "::" in str(path):
        raise UsageProblem(
            f"{option}: pytest reads '[' and '::' in a path as part of a test's name: "
            f"{str(source)!r} (rename it; a report can also be given as '-' on stdin)"
        )
    return path


def _read(config: pytest.Config, source: str) -> Issue:
    if source != "-":
        return load_issue(source, sys.stdin.buffer)
    capture: Any = config.pluginmanager.getplugin("capturemanager")
    if capture is None:
        return load_issue(source, sys.stdin.buffer)
    capture.suspend_global_capture(in_=True)
    try:
        return load_issue(source, sys.stdin.buffer)
    finally:
        capture.resume_global_capture()


def _patches(
    config: pytest.Config, options: Options, scratch: Path
) -> tuple[Path | None, tuple[Patch, ...]]:
    """Return the folder of patches and those in it; of branches it is made in `scratch`."""
    if options.branches:
        folder = scratch / "branches"
        write_branches(History(config.rootpath), options.branches, folder)
        found = read_patches(folder)
        named = (replace(patch, name=patch.name.removesuffix(".diff")) for patch in found)
        return folder, tuple(named)
    if options.patches is None:
        return None, ()
    found = read_patches(options.patches)
    return options.patches.parent if options.patches.is_file() else options.patches, found


def _paired(
    issues: Mapping[Path, Issue], folder: Path | None, patches: tuple[Patch, ...]
) -> tuple[Case, ...]:
    if folder is None:
        return tuple(Case(issue=issue) for issue in issues.values())
    if not issues:
        return (Case(issue=None, patches=patches),)
    if len(issues) == 1:
        return (Case(issue=next(iter(issues.values())), patches=patches),)
    cases = []
    for path, issue in issues.items():
        own = tuple(patch for patch in patches if patch.name.startswith(f"{path.stem}/"))
        if not own:
            raise UsageProblem(
                f"--rank-fixes: several issues need a folder of patches each: "
                f"no *.diff in {str(folder / path.stem)!r}"
            )
        cases.append(Case(issue=issue, patches=own))
    return tuple(cases)


def _files(issues: Mapping[Path, Issue], cases: tuple[Case, ...], folder: Path | None) -> Files:
    paths: Files = {}
    for path, case in zip(issues, cases, strict=False):
        if not path.exists():  # it came from stdin
            path.write_text(case.issue.text if case.issue else "", encoding="utf-8")
        paths[path] = (case, ())
    for case in cases:
        for patch in case.patches:
            assert folder is not None, "there are patches"
            path = _plain("--rank-fixes", folder / patch.file)
            paths[path] = (case, (*paths.get(path, (case, ()))[1], patch))
    return paths
