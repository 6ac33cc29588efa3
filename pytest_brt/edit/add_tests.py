"""The tests of a report as a change of the project: a new file, or part of an existing one."""

from __future__ import annotations

import textwrap
from collections.abc import Sequence
from pathlib import Path, PurePosixPath

from pytest_brt.edit.import_order import with_sorted_imports
from pytest_brt.edit.line_width import fitted
from pytest_brt.edit.place_test import place
from pytest_brt.edit.source_text import WIDTH, Edit, Placement, new_file, read_source, slug
from pytest_brt.edit.xfail import mark_xfail
from pytest_brt.errors import EditProblem
from pytest_brt.project.layout import escapes_root
from pytest_brt.render.words import cut
from pytest_brt.types import CandidateTest, Issue

#: Columns by which a method is indented.
_INDENT = 4


def plan_edit(
    tests: Sequence[CandidateTest], issue: Issue, root: Path, *, host: str = "", mark: bool = False
) -> Placement:
    """Return the change that puts the tests of an issue into the project; nothing is written.

    The best test is added to the test file `host`, or all of them become a new file where there is
    none. With `mark` they are strictly expected to fail.

    Raises:
        EditProblem: a test cannot be placed, or would be written outside of the project; or names
            in the test and the host clash.
    """
    for path in (host, *(test.path for test in tests)):
        # A checkout may bring a journal that names some.
        if path and ("\0" in path or escapes_root(root, path)):
            raise EditProblem(
                f"the test would be written outside of the project: {path!r} "
                "(a kept run that names it may be somebody else's: delete pytest's cache)"
            )
    reason = _reason(issue) if mark else ""
    if host:
        before = (root / host).read_bytes()
        # A method of a class has less room.
        placed = place(fitted(tests[0].source or "", WIDTH - _INDENT), host, before)
        after = _finished(host, before, placed.edit.after, placed.nodes, reason, root)
        edit = Edit(path=host, before=before, after=after)
        return Placement(edit=edit, nodes=placed.nodes)
    path = str(PurePosixPath(tests[0].path).parent / f"test_{slug(issue.title)}.py")
    placed = new_file(_with_origin(tests[0], issue), path)
    content, nodes = placed.edit.after, list(placed.nodes)
    for test in tests[1:]:
        try:
            placed = place(fitted(test.source or ""), path, content)
        except EditProblem:
            continue  # its names clash with those before it; the report shows it all the same
        content = placed.edit.after
        nodes.extend(placed.nodes)
    content = _finished(path, b"", content, nodes, reason, root)
    path = _free_path(root, path, content)
    edit = Edit(path=path, before=content if (root / path).exists() else None, after=content)
    return Placement(edit=edit, nodes=tuple(nodes))


def _finished(
    path: str, before: bytes, after: bytes, nodes: Sequence[str], reason: str, root: Path
) -> bytes:
    """Return a file with its new tests marked, and its imports in order if they were before."""
    if reason:
        for node in nodes:
            after = mark_xfail(path, after, node, reason)
    old, new = read_source(path, before).text, read_source(path, after)
    is_sorted = with_sorted_imports(old, root) == old
    return new.encode(with_sorted_imports(new.text, root)) if is_sorted else after


def _reason(issue: Issue) -> str:
    """Return title and report, without its folder, which may be of this machine alone."""
    report = issue.source if "://" in issue.source else PurePosixPath(issue.source).name
    return f"{cut(issue.title, 45)} ({report})"


def _with_origin(test: CandidateTest, issue: Issue) -> str:
    """Return the module with a comment above it that says where it comes from."""
    about = f"{' '.join(issue.title.split())!r}; written by {test.origin.strategy} of pytest-brt"
    comment = textwrap.fill(
        f"A test for {about}.", WIDTH, initial_indent="# ", subsequent_indent="# "
    )
    return f"{comment}\n\n{fitted(test.source or '')}"


def _free_path(root: Path, path: str, content: bytes) -> str:
    """Return the first of path, path_2, … that does not exist yet, or has this content already."""
    wanted = PurePosixPath(path)
    number = 1
    while (root / path).exists() and not _has_content(root / path, content):
        number += 1
        path = str(wanted.with_stem(f"{wanted.stem}_{number}"))
    return path


def _has_content(path: Path, content: bytes) -> bool:
    return path.is_file() and path.read_bytes() == content
