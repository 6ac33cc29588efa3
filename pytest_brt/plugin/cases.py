"""The reports and patches that the user named."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from io import BytesIO
from pathlib import Path

import pytest

from pytest_brt.errors import UsageProblem
from pytest_brt.plugin.options import Options
from pytest_brt.report.github import find_address, read_report
from pytest_brt.report.load import load_issue
from pytest_brt.types import Issue, Patch


@dataclass(frozen=True, slots=True, kw_only=True)
class Cases:
    """The reports, and the patches by the file of each, in the order in which they are shown."""

    issues: tuple[Issue, ...]
    patches: Mapping[Path, Patch]
    #: What is left out of the patches, and why; "" for nothing.
    left_out: str = ""


def read_cases(config: pytest.Config, options: Options, scratch: Path) -> Cases:
    """Return the reports and patches that the user named.

    `scratch` may hold what came from branches, or from GitHub.

    Raises:
        UsageProblem: a report, a patch or a path cannot be used.
    """
    found = (_report(config, source) for source in options.issues)
    issues = tuple({issue.id: issue for issue in found}.values())
    if not options.rank_fixes:
        return Cases(issues=issues, patches={})
    if len(issues) > 1:
        raise UsageProblem(
            f"--rank-fixes: patches are ranked for one report, got {len(issues)} (run it for each)"
        )
    from pytest_brt.patches.sources import read_proposals  # a report alone needs none of it

    proposals = read_proposals(options.rank_fixes, config.rootpath, scratch)
    same = ", ".join(proposals.unchanged)
    note = f"{same}: no changes against the commit that is checked out; left out"
    patches = {Path(patch.file): patch for patch in proposals.patches}
    return Cases(issues=issues, patches=patches, left_out=note if same else "")


def _report(config: pytest.Config, source: str) -> Issue:
    """Return a report: of standard input, a file, or an address."""
    if source == "-":
        return load_issue(source, BytesIO(config.option.brt_stdin))
    address = None if Path(source).exists() else find_address(source)
    if address is None:
        return load_issue(source, BytesIO())
    from pytest_brt.patches.sources import complete

    address = complete(address, config.rootpath)
    return replace(load_issue("-", BytesIO(read_report(address))), source=source)


def buggy_places(places: Sequence[str], root: Path) -> tuple[str, ...]:
    """Return the places that the user named, as in "pkg/a.py:3-9", relative to the project."""
    found = []
    for place in places:
        path, colon, lines = place.partition(":")
        if colon and not re.fullmatch(r"\d+(-\d+)?", lines):
            raise UsageProblem(
                f"--brt-buggy-file: expected PATH, PATH:LINE or PATH:FIRST-LAST, got {place!r}"
            )
        found.append(file_of_project("--brt-buggy-file", path, root) + colon + lines)
    return tuple(found)


def given_test_file(path: str, root: Path) -> str:
    """Return the test file that the user named, relative to the project; "" for none."""
    known = file_of_project("--brt-test-file", path, root) if path else ""
    if known and not known.endswith(".py"):
        raise UsageProblem(f"--brt-test-file: not a Python file: {path!r} (name a test file)")
    return known


def file_of_project(flag: str, path: str, root: Path) -> str:
    """Return the path of a file that the user named, relative to the project."""
    file, root = (root / path).resolve(), root.resolve()
    if not file.is_file() or not file.is_relative_to(root):
        raise UsageProblem(
            f"{flag}: no such file in the project: {path!r} (give its path from {str(root)!r})"
        )
    return file.relative_to(root).as_posix()
