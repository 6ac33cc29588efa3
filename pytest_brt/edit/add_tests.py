"""The tests of a report as a change of the project: a new file, or part of an existing one.

With them goes the strict xfail mark: put above a test, found, and taken away again.
"""

from __future__ import annotations

import ast
import json
import textwrap
from collections.abc import Iterator, Sequence
from contextlib import suppress
from dataclasses import replace
from pathlib import Path, PurePosixPath

import libcst
from libcst.codemod import CodemodContext
from libcst.codemod.visitors import RemoveImportsVisitor

from pytest_brt.edit.place_test import place, with_imports
from pytest_brt.edit.source_text import (
    WIDTH,
    Edit,
    Placement,
    SourceText,
    read_source,
    slug,
    tests_of,
)
from pytest_brt.errors import EditProblem
from pytest_brt.project.definitions import Import, read_facts, statements_in
from pytest_brt.project.imports import add_imports
from pytest_brt.project.layout import escapes_root
from pytest_brt.pysource.parse import Function, first_line
from pytest_brt.render.words import cut
from pytest_brt.types import CandidateTest, Issue


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
    if host:
        placed = place(tests[0].source or "", host, (root / host).read_bytes())
        return _marked(placed, issue) if mark else placed
    path = str(PurePosixPath(tests[0].path).parent / f"test_{slug(issue.title)}.py")
    placed = _new_file(tests[0], issue, path, mark)
    for test in tests[1:]:
        # Its names may clash with those before it; the report shows it all the same.
        with suppress(EditProblem):
            more = place(test.source or "", path, placed.edit.after)
            placed = replace(placed, edit=more.edit, nodes=(*placed.nodes, *more.nodes))
    placed = _marked(placed, issue) if mark else placed
    return replace(placed, edit=_at_free_path(placed.edit, root))


def _new_file(test: CandidateTest, issue: Issue, path: str, mark: bool) -> Placement:
    """Return a test as a file of its own, with a comment above it that says where it is from."""
    about = f"{' '.join(issue.title.split())!r}; written by {test.origin.strategy} of pytest-brt"
    comment = textwrap.fill(
        f"A test for {about}.", WIDTH, initial_indent="# ", subsequent_indent="# "
    )
    source = test.source or ""
    if mark and all(item.bound != "pytest" for item in read_facts(source).imports):
        source = add_imports(source, ["import pytest"])  # above the project's own
    edit = Edit(path=path, before=None, after=f"{comment}\n\n{source.strip()}\n".encode())
    return Placement(edit=edit, nodes=tests_of(source))


def _marked(placed: Placement, issue: Issue) -> Placement:
    """Return a change whose tests are expected to fail, by title and report.

    The report's folder may be of this machine alone.
    """
    report = issue.source if "://" in issue.source else PurePosixPath(issue.source).name
    after = placed.edit.after
    for node in placed.nodes:
        reason = f"{cut(issue.title, 45)} ({report})"
        after = mark_xfail(placed.edit.path, after, node, reason)
    return replace(placed, edit=replace(placed.edit, after=after))


def _at_free_path(edit: Edit, root: Path) -> Edit:
    """Return a new file at the first of path, path_2, … that is free or has its content already."""
    path, number = PurePosixPath(edit.path), 1
    stem = path.stem
    while (root / path).exists() and (root / path).read_bytes() != edit.after:
        number += 1
        path = path.with_stem(f"{stem}_{number}")
    before = edit.after if (root / path).exists() else None
    return Edit(path=str(path), before=before, after=edit.after)


# -- the mark --


def mark_xfail(path: str, data: bytes, node: str, reason: str) -> bytes:
    """Return the file with ``@pytest.mark.xfail(strict=True, reason=...)`` on one test.

    Strict: the mark itself turns the suite red on the day the bug is fixed. A test that has
    an xfail mark already is left as it is.

    `node` is the test below the file, as in "test_a" or "TestX::test_a".

    Raises:
        EditProblem: there is no such test, or the file is not Python.
    """
    file = read_source(path, data)
    function = _find(file, node)
    if any("mark.xfail" in ast.unparse(one) for one in function.decorator_list):
        return data
    quoted = json.dumps(" ".join(reason.split()), ensure_ascii=False)
    lines, at = file.text.split("\n"), first_line(function) - 1
    margin = lines[at][: function.col_offset]
    lines.insert(at, f"{margin}@pytest.mark.xfail(strict=True, reason={quoted})")
    return file.encode(with_imports("\n".join(lines), [Import("pytest", "", "pytest")]))


def unmark(path: str, data: bytes, node: str) -> bytes:
    """Return the file without the strict xfail mark of the test `node`.

    A test without one is left as it is. An import of pytest that nothing needs any more goes too.

    Raises:
        EditProblem: there is no such test, or the file is not Python.
    """
    file = read_source(path, data)
    lines = file.text.split("\n")
    marks = list(_strict_marks(_find(file, node)))
    for mark in reversed(marks):
        del lines[mark.lineno - 1 : mark.end_lineno]
    if not marks:
        return data
    imports = RemoveImportsVisitor(CodemodContext(), [("pytest", None, None)])
    return file.encode(imports.transform_module(libcst.parse_module("\n".join(lines))).code)


def marked_tests(path: str, data: bytes) -> tuple[str, ...]:
    """Return the tests with a strict xfail mark, as in "test_a" or "TestX::test_a".

    Raises:
        EditProblem: the file is not Python.
    """
    functions = _functions(read_source(path, data))
    return tuple(name for name, function in functions.items() if any(_strict_marks(function)))


def _functions(file: SourceText) -> dict[str, Function]:
    """Return the functions of a file and of its classes; raises as `marked_tests` does."""
    return {
        f"{around.replace('.', '::')}{node.name}": node
        for node, around in statements_in(file.tree())
        if isinstance(node, Function)
    }


def _find(file: SourceText, node: str) -> Function:
    """Return the function of a test, of several the last; its parameters do not count."""
    function = _functions(file).get(node.partition("[")[0])
    if function is None:
        raise EditProblem(f"{file.path!r} has no test {node!r} (was it renamed?)")
    return function


def _strict_marks(function: Function) -> Iterator[ast.expr]:
    for decorator in function.decorator_list:
        text = ast.unparse(decorator)
        if "mark.xfail(" in text and "strict=True" in text:
            yield decorator
