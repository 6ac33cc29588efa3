"""Where tests that were found go, a new file or an existing one, as a change of the project."""

from __future__ import annotations

import re
import textwrap
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path, PurePosixPath

from pytest_brt.code.fitting import WIDTH, fitted
from pytest_brt.code.import_order import with_sorted_imports
from pytest_brt.code.scan import leads_out
from pytest_brt.code.source import Edit, Placement, new_file, read_source
from pytest_brt.code.xfail import mark_xfail
from pytest_brt.errors import EditProblem
from pytest_brt.render.words import shortened
from pytest_brt.types import CandidateTest, Issue


@dataclass(frozen=True, slots=True, kw_only=True)
class Landing:
    """How tests are to be put into a project."""

    root: Path
    #: Where the project's index is kept between runs.
    cache: Path | None = None
    #: Whether the best test is added to an existing test file; else all of them become a new file.
    into: bool = False
    #: That file, from the root; "" for the one that the test names, or the likeliest.
    host: str = ""
    #: Whether the tests are marked as strictly expected to fail.
    mark: bool = False


def plan_edit(tests: Sequence[CandidateTest], issue: Issue, landing: Landing) -> Edit:
    """Return the change that puts the tests of an issue into the project; nothing is written.

    Raises:
        EditProblem: a test cannot be placed, or would be written outside of the project.
    """
    _check_places(tests, landing.root)
    if landing.into:
        return _into_host(tests[0], issue, landing)
    return _as_file(tests, issue, landing)


def _check_places(tests: Sequence[CandidateTest], root: Path) -> None:
    """Let no test name a file outside of the project: a checkout may bring a journal with some."""
    for test in tests:
        for path in filter(None, (test.path, test.host)):
            if "\0" in path or leads_out(root, path):
                raise EditProblem(
                    f"the test would be written outside of the project: {path!r} "
                    "(a kept run that names it may be somebody else's: delete pytest's cache)"
                )


def _as_file(tests: Sequence[CandidateTest], issue: Issue, landing: Landing) -> Edit:
    usual = str(PurePosixPath(tests[0].path).parent / f"test_{_slug(issue)}.py")
    placement = new_file(_source(tests[0], issue), usual)
    nodes = list(placement.nodes)
    for test in tests[1:]:
        try:
            placement = _place(test, usual, placement.edit.after)
        except EditProblem:
            continue  # its names clash with those before it; the report shows it all the same
        nodes.extend(placement.nodes)
    after = _marked(usual, b"", placement.edit.after, nodes, issue, landing)
    path = _free_path(landing.root, usual, after)
    is_there = (landing.root / path).exists()
    return Edit(path=path, before=after if is_there else None, after=after)


def _into_host(test: CandidateTest, issue: Issue, landing: Landing) -> Edit:
    host = test.host or landing.host or _likeliest_host(test, landing)
    if not host:
        return _as_file([test], issue, landing)
    before = (landing.root / host).read_bytes()
    try:
        placement = _place(test, host, before)
    except EditProblem:
        return _as_file([test], issue, landing)  # its names clash with those of the file
    after = _marked(host, before, placement.edit.after, placement.nodes, issue, landing)
    return Edit(path=host, before=before, after=after)


def _place(test: CandidateTest, path: str, host: bytes) -> Placement:
    from pytest_brt.code.placing import place  # libcst takes half a second

    return place(fitted(test.source or ""), path, host)


def _likeliest_host(test: CandidateTest, landing: Landing) -> str:
    from pytest_brt.code.index import open_index
    from pytest_brt.code.words import rank_hosts

    index = open_index(landing.root, landing.cache)
    return next(iter(rank_hosts(test.source or "", index.test_tokens)), "")


def _marked(
    path: str, before: bytes, data: bytes, nodes: Sequence[str], issue: Issue, landing: Landing
) -> bytes:
    """Return a file with its new tests marked if asked for, and its imports in order if they were.

    The mark names the report without its folder, which may be of this machine alone.
    """
    report = issue.source if "://" in issue.source else PurePosixPath(issue.source).name
    for node in nodes if landing.mark else ():
        data = mark_xfail(path, data, node, f"{shortened(issue.title, 45)} ({report})")
    old, new = read_source(path, before), read_source(path, data)
    is_sorted = with_sorted_imports(old.text, landing.root) == old.text
    return new.encode(with_sorted_imports(new.text, landing.root)) if is_sorted else data


def _source(test: CandidateTest, issue: Issue) -> str:
    """Return the module with a comment above it that says where it comes from."""
    about = f"{' '.join(issue.title.split())!r}; written by {test.origin.strategy} of pytest-brt"
    lines = textwrap.wrap(
        f"A test for {about}.", WIDTH, initial_indent="# ", subsequent_indent="# "
    )
    return "\n".join([*lines, "", fitted(test.source or "")])


def _slug(issue: Issue) -> str:
    """Return what names the file: the words of the report's title."""
    words = re.findall(r"[a-z0-9]+", issue.title.lower())
    return "_".join(words[:6]) or f"issue_{issue.id}"


def _free_path(root: Path, path: str, content: bytes) -> str:
    """Return the first of path, path_2, … that does not exist yet, or has this content already."""
    wanted = PurePosixPath(path)
    number = 1
    while (root / path).exists() and not _holds(root / path, content):
        number += 1
        path = str(wanted.with_stem(f"{wanted.stem}_{number}"))
    return path


def _holds(path: Path, content: bytes) -> bool:
    return path.is_file() and path.read_bytes() == content
