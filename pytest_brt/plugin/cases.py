"""The reports and patches that the user named, which pytest collects, and places."""

from __future__ import annotations

import os
import re
import sys
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from io import BytesIO
from pathlib import Path
from typing import Any

import pytest

from pytest_brt.errors import UsageProblem
from pytest_brt.plugin.options import Options
from pytest_brt.report.github import find_address, read_report
from pytest_brt.report.load import load_issue
from pytest_brt.run.plan import Case
from pytest_brt.types import Issue, Patch


def absolutepath(path: str | Path) -> Path:
    """Return `path` from the root of the file system, ``..`` taken out, as pytest names it."""
    return Path(os.path.abspath(path))  # noqa: PTH100 - resolve() would follow links


#: The files that pytest collects, in order: an issue (no patch), or a patch.
Files = dict[Path, tuple[Case, Patch | None]]


def read_cases(
    config: pytest.Config, options: Options, scratch: Path, more: Sequence[str]
) -> tuple[tuple[Case, ...], Files, str]:
    """Return each report with its patches, the files that show them, and what is left out of them.

    `more` are patches beside those of the option (`more_patches`). `scratch` may hold what came
    from stdin, from branches, or from GitHub.

    Raises:
        UsageProblem: a report, a patch or a path cannot be used.
    """
    issues = dict(_report(config, source, scratch) for source in options.issues)
    if not options.rank_fixes:
        cases = tuple(Case(issue=issue) for issue in issues.values())
        return cases, _files(issues, cases, {}), ""
    from pytest_brt.patches.sources import read_proposals  # a report alone needs none of it

    sources = (*options.rank_fixes, *more)
    proposals = read_proposals(sources, config.rootpath, scratch)
    cases = _paired(issues, proposals.patches)
    same = ", ".join(proposals.unchanged)
    note = f"{same}: no changes against the commit that is checked out; left out"
    return cases, _files(issues, cases, proposals.files), note if same else ""


def _report(config: pytest.Config, source: str, scratch: Path) -> tuple[Path, Issue]:
    """Return a report and its file; of what is no file, one that could be in `scratch`."""
    address = None if Path(source).exists() else find_address(source)
    if address is not None:
        from pytest_brt.patches.sources import complete

        address = complete(address, config.rootpath)
        issue = load_issue("-", BytesIO(read_report(address)))
        return scratch / f"{address.stem}.md", replace(issue, source=source)
    if source != "-":
        return absolutepath(source), load_issue(source, sys.stdin.buffer)
    capture: Any = config.pluginmanager.getplugin("capturemanager")
    if capture is not None:
        capture.suspend_global_capture(in_=True)
    try:
        return scratch / "stdin.md", load_issue(source, sys.stdin.buffer)
    finally:
        if capture is not None:
            capture.resume_global_capture()


def more_patches(config: pytest.Config, options: Options) -> tuple[str, ...]:
    """Return the patches among pytest's own arguments.

    A shell makes several words of ``--rank-fixes patches/*.diff``, and people write
    ``--rank-fixes '#12' '#15' patches/``: the first word is the option's. A file of a folder
    that is ranked already is no further patch: it says which item is to run.
    """
    if not options.rank_fixes or config.args_source.name != "ARGS":
        return ()
    from pytest_brt.patches.sources import holds_patches, is_elsewhere

    given = [text for text in config.args if is_elsewhere(text) or holds_patches(Path(text))]
    ranked = {Path(text).resolve() for text in options.rank_fixes}
    return tuple(
        text
        for text in given
        if text not in options.rank_fixes and ranked.isdisjoint(Path(text).resolve().parents)
    )


def _paired(issues: Mapping[Path, Issue], patches: tuple[Patch, ...]) -> tuple[Case, ...]:
    """Return each report with its patches: of several reports, those in the folder of its name."""
    if len(issues) <= 1:
        return (Case(issue=next(iter(issues.values()), None), patches=patches),)
    cases = []
    for path, issue in issues.items():
        own = tuple(patch for patch in patches if patch.name.startswith(f"{path.stem}/"))
        if not own:
            raise UsageProblem(
                "--rank-fixes: several issues need a folder of patches each: "
                f"no *.diff in {path.stem!r}"
            )
        cases.append(Case(issue=issue, patches=tuple(_below(path.stem, own))))
    return tuple(cases)


def _below(folder: str, patches: Iterable[Patch]) -> Iterator[Patch]:
    """Yield the patches of a report, whose folder says nothing of where they come from."""
    for patch in patches:
        is_folder = patch.source == patch.name.rpartition("/")[0]
        inner = patch.source.removeprefix(folder).strip("/")
        yield replace(patch, source=inner) if is_folder else patch


def _files(
    issues: Mapping[Path, Issue],
    cases: tuple[Case, ...],
    proposed: Mapping[Path, Patch],
) -> Files:
    paths: Files = {}
    for path, case in zip(issues, cases, strict=False):
        paths[path] = (case, None)
    where = {patch.name: path for path, patch in proposed.items()}
    for case in cases:
        for patch in case.patches:
            paths[where[patch.name]] = (case, patch)
    return paths


def buggy_places(paths: tuple[str, ...], root: Path) -> tuple[str, ...]:
    """Return the places that the user named, as in "pkg/a.py:3-9", relative to the project."""
    found = []
    for text in paths:
        path, colon, span = text.partition(":")
        known = _file_of_project("--brt-buggy-file", path, root)
        if colon and not re.fullmatch(r"\d+(-\d+)?", span):
            raise UsageProblem(
                f"--brt-buggy-file: expected PATH, PATH:LINE or PATH:FIRST-LAST, got {text!r}"
            )
        found.append(known + colon + span)
    return tuple(found)


def given_test_file(path: str, root: Path) -> str:
    """Return the test file that the user named, relative to the project; "" for none."""
    if not path:
        return ""
    known = _file_of_project("--brt-test-file", path, root)
    if not known.endswith(".py"):
        raise UsageProblem(f"--brt-test-file: not a Python file: {path!r} (name a test file)")
    return known


def _file_of_project(flag: str, path: str, root: Path) -> str:
    file, root = (root / path).resolve(), root.resolve()
    if not file.is_file() or not file.is_relative_to(root):
        raise UsageProblem(
            f"{flag}: no such file in the project: {path!r} (give its path from {str(root)!r})"
        )
    return file.relative_to(root).as_posix()
