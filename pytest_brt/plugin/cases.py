"""The files that the user named: reports and patches, which pytest collects, and places."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import replace
from io import BytesIO
from pathlib import Path
from typing import Any

import pytest

from pytest_brt.errors import UsageProblem
from pytest_brt.issue.load import load_issue
from pytest_brt.plugin.options import Options
from pytest_brt.run.plan import Case
from pytest_brt.types import Issue, Patch

#: An issue on GitHub, as people write it in a text or copy it from a browser.
_ON_GITHUB = re.compile(r"(?:https://github\.com/)?([\w.-]+/[\w.-]+)(?:#|/issues/)(\d+)(?:#\S*)?")


def absolutepath(path: str | Path) -> Path:
    """Return `path` from the root of the file system, ``..`` taken out, as pytest names it."""
    return Path(os.path.abspath(path))  # noqa: PTH100 - resolve() would follow links


#: The files that pytest collects, in order: an issue (no patches), or a file of patches.
Files = dict[Path, tuple[Case, tuple[Patch, ...]]]


def read_cases(
    config: pytest.Config, options: Options, scratch: Path
) -> tuple[tuple[Case, ...], Files, str]:
    """Return each report with its patches, the files that show them, and what is left out of them.

    `scratch` may hold what came from stdin, or from branches.

    Raises:
        UsageProblem: a report, a patch or a path cannot be used.
    """
    issues = dict(_report(config, source, scratch) for source in options.issues)
    folder, patches, left_out = _patches(config, options, scratch)
    cases = _paired(issues, folder, patches)
    return cases, _files(issues, cases, folder, scratch), left_out


def _report(config: pytest.Config, source: str, scratch: Path) -> tuple[Path, Issue]:
    """Return a report and its file; of what is no file, the one to be made of it in `scratch`."""
    found = _ON_GITHUB.fullmatch(source)
    if found and not Path(source).exists():
        repository, number = found.groups()
        issue = load_issue("-", BytesIO(_ask_gh(source, repository, number)))
        name = f"{repository.replace('/', '-')}-{number}.md"
        return scratch / name, replace(issue, source=source)
    if source != "-":
        return _plain("--brt-issue", source), load_issue(source, sys.stdin.buffer)
    capture: Any = config.pluginmanager.getplugin("capturemanager")
    if capture is not None:
        capture.suspend_global_capture(in_=True)
    try:
        return scratch / "stdin.md", load_issue(source, sys.stdin.buffer)
    finally:
        if capture is not None:
            capture.resume_global_capture()


def _ask_gh(source: str, repository: str, number: str) -> bytes:
    """Return an issue on GitHub as gh prints it: the one use of a network, asked for by name."""
    command = ["gh", "issue", "view", number, "--repo", repository, "--json", "title,body"]
    apart = Path.cwd().anchor  # gh starts git, which would obey the project's configuration
    try:
        told = subprocess.run(command, capture_output=True, check=False, timeout=60, cwd=apart)
    except FileNotFoundError:
        raise UsageProblem(
            f"--brt-issue: {source!r} is read with GitHub's command gh, which is not installed "
            "(install it, or save the issue's text into a file)"
        ) from None
    except subprocess.TimeoutExpired:
        raise UsageProblem(f"--brt-issue: gh did not answer within 60 s: {source!r}") from None
    if told.returncode != 0:
        said = " ".join(told.stderr.decode("utf-8", "replace").split())
        raise UsageProblem(f"--brt-issue: gh cannot read {source!r}: {said[:200]}")
    return told.stdout


def _is_odd(path: Path) -> bool:
    """Say whether pytest reads a part of a path as that of a test's name."""
    return "[" in str(path) or "::" in str(path)


def _plain(option: str, source: str | Path) -> Path:
    path = absolutepath(source)
    if _is_odd(path):
        raise UsageProblem(
            f"{option}: pytest reads '[' and '::' in a path as part of a test's name: "
            f"{str(source)!r} (rename it; a report can also be given as '-' on stdin)"
        )
    return path


def _patches(
    config: pytest.Config, options: Options, scratch: Path
) -> tuple[Path | None, tuple[Patch, ...], str]:
    """Return the folder of patches, those in it, and a note; `scratch` is for those of branches."""
    if not options.branches and not options.patches:
        return None, (), ""
    from pytest_brt.patches.read import common_folder, read_patches

    if options.branches:
        from pytest_brt.revisions.commits import History, write_branches

        folder = scratch / "branches"
        history = History(config.rootpath)
        same = ", ".join(write_branches(history, options.branches, folder))
        note = f"{same}: no changes against the commit that is checked out; left out"
        found = read_patches(folder)
        named = [replace(patch, name=patch.name.removesuffix(".diff")) for patch in found]
        known = [replace(patch, source=history.author_of(patch.name)) for patch in named]
        return folder, tuple(known), note if same else ""
    paths = (*options.patches, *more_patches(config, options))
    return common_folder(paths), read_patches(*paths), ""


def more_patches(config: pytest.Config, options: Options) -> tuple[Path, ...]:
    """Return the patches among pytest's own arguments.

    A shell makes several words of ``--rank-fixes patches/*.diff``: the first is the option's.
    """
    if not options.patches or not all(path.is_file() for path in options.patches):
        return ()
    from pytest_brt.patches.read import SUFFIXES

    given = [Path(text) for text in config.args if text.casefold().endswith(SUFFIXES)]
    return tuple(path for path in given if path.is_file() and path not in options.patches)


def _paired(
    issues: Mapping[Path, Issue], folder: Path | None, patches: tuple[Patch, ...]
) -> tuple[Case, ...]:
    if folder is None:
        return tuple(Case(issue=issue) for issue in issues.values())
    if len(issues) <= 1:
        return (Case(issue=next(iter(issues.values()), None), patches=patches),)
    cases = []
    for path, issue in issues.items():
        own = tuple(patch for patch in patches if patch.name.startswith(f"{path.stem}/"))
        if not own:
            raise UsageProblem(
                f"--rank-fixes: several issues need a folder of patches each: "
                f"no *.diff in {str(folder / path.stem)!r}"
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
    issues: Mapping[Path, Issue], cases: tuple[Case, ...], folder: Path | None, scratch: Path
) -> Files:
    paths: Files = {}
    for path, case in zip(issues, cases, strict=False):
        if not path.exists():  # it came from stdin
            path.write_text(case.issue.text if case.issue else "", encoding="utf-8")
        paths[path] = (case, ())
    for case in cases:
        for patch in case.patches:
            assert folder is not None, "there are patches"
            path = absolutepath(folder / patch.file)
            if _is_odd(path):  # one name among many, which a tool chose: no reason to stop
                from pytest_brt.patches.text import encode

                path = scratch / f"{patch.id}.diff"
                path.write_bytes(encode(patch.text))
            paths[path] = (case, (*paths.get(path, (case, ()))[1], patch))
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
