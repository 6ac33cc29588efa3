"""The reports and patches that the user named, each with the file that stands for it."""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from io import BytesIO
from pathlib import Path

import pytest

from pytest_brt.errors import UsageProblem
from pytest_brt.pipeline.plan import Case
from pytest_brt.plugin.options import Options
from pytest_brt.plugin.streams import standard_input
from pytest_brt.report.github import find_address, read_report
from pytest_brt.report.load import load_issue
from pytest_brt.types import Issue, Patch


def absolutepath(path: str | Path) -> Path:
    """Return `path` from the root of the file system, ``..`` taken out, as pytest names it."""
    return Path(os.path.abspath(path))  # noqa: PTH100 - resolve() would follow links


@dataclass(frozen=True, slots=True, kw_only=True)
class Cases:
    """The reports with their patches."""

    cases: tuple[Case, ...]
    #: By the file of an issue, and of a patch, in the order in which they are shown.
    issues: Mapping[Path, Issue]
    patches: Mapping[Path, Patch]
    #: What is left out of the patches, and why; "" for nothing.
    left_out: str = ""


def read_cases(config: pytest.Config, options: Options, scratch: Path) -> Cases:
    """Return each report with its patches.

    `scratch` may hold what came from stdin, from branches, or from GitHub.

    Raises:
        UsageProblem: a report, a patch or a path cannot be used.
    """
    issues = dict(_report(config, source, scratch) for source in options.issues)
    if not options.rank_fixes:
        cases = tuple(Case(issue=issue) for issue in issues.values())
        return Cases(cases=cases, issues=issues, patches={})
    from pytest_brt.patches.sources import read_proposals  # a report alone needs none of it

    sources = (*options.rank_fixes, *more_patches(config, options))
    proposals = read_proposals(sources, config.rootpath, scratch)
    files, same = proposals.files, ", ".join(proposals.unchanged)
    if len(issues) > 1:
        files = dict(_below_reports(issues, files))
        cases = tuple(
            Case(issue=issue, patches=_of_report(path, files)) for path, issue in issues.items()
        )
    else:
        cases = (Case(issue=next(iter(issues.values()), None), patches=tuple(files.values())),)
    note = f"{same}: no changes against the commit that is checked out; left out"
    return Cases(cases=cases, issues=issues, patches=files, left_out=note if same else "")


def _report(config: pytest.Config, source: str, scratch: Path) -> tuple[Path, Issue]:
    """Return a report and its file; of what is no file, one that could be in `scratch`."""
    if source == "-":
        with standard_input(config) as stream:
            return scratch / "stdin.md", load_issue(source, stream)
    address = None if Path(source).exists() else find_address(source)
    if address is None:
        return absolutepath(source), load_issue(source, BytesIO())
    from pytest_brt.patches.sources import complete

    address = complete(address, config.rootpath)
    issue = load_issue("-", BytesIO(read_report(address)))
    return scratch / f"{address.stem}.md", replace(issue, source=source)


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


def _below_reports(
    issues: Mapping[Path, Issue], files: Mapping[Path, Patch]
) -> Iterator[tuple[Path, Patch]]:
    """Yield the patches in folders that are called like a report, which is not said of them."""
    stems = tuple(f"{path.stem}/" for path in issues)
    for path, patch in files.items():
        if patch.name.startswith(stems):
            folder, _, _ = patch.name.partition("/")
            is_folder = patch.source == patch.name.rpartition("/")[0]
            inner = patch.source.removeprefix(folder).strip("/")
            yield path, replace(patch, source=inner) if is_folder else patch


def _of_report(report: Path, files: Mapping[Path, Patch]) -> tuple[Patch, ...]:
    """Return the patches of one of several reports: those in the folder of its name."""
    own = tuple(patch for patch in files.values() if patch.name.startswith(f"{report.stem}/"))
    if not own:
        raise UsageProblem(
            "--rank-fixes: several issues need a folder of patches each: "
            f"no *.diff in {report.stem!r}"
        )
    return own


def buggy_places(places: Sequence[str], root: Path) -> tuple[str, ...]:
    """Return the places that the user named, as in "pkg/a.py:3-9", relative to the project."""
    found = []
    for place in places:
        path, colon, lines = place.partition(":")
        known = file_of_project("--brt-buggy-file", path, root)
        first, dash, last = lines.partition("-")
        if colon and not (first.isdecimal() and (last.isdecimal() or not dash)):
            raise UsageProblem(
                f"--brt-buggy-file: expected PATH, PATH:LINE or PATH:FIRST-LAST, got {place!r}"
            )
        found.append(known + colon + lines)
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
