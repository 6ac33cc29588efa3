"""The tests of a report as a change of the project: a new file, or part of an existing one.

With them goes the strict xfail mark: put above a test, found, and taken away again.
"""

from __future__ import annotations

import ast
import itertools
import json
import textwrap
from collections.abc import Sequence
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
    SourceText,
    read_source,
    slug,
    tests_of,
)
from pytest_brt.errors import EditProblem
from pytest_brt.project.definitions import Import, statements_in
from pytest_brt.project.layout import escapes_root
from pytest_brt.pysource.parse import Function, first_line
from pytest_brt.render.words import cut
from pytest_brt.types import CandidateTest, Issue


def plan_edit(
    tests: Sequence[CandidateTest], issue: Issue, root: Path, *, host: str = "", mark: bool = False
) -> Edit:
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
        edit = place(tests[0].source or "", host, (root / host).read_bytes())
    else:
        edit = _new_file(tests, issue)
    if mark:
        edit = _marked(edit, issue)
    return edit if host else _at_free_path(edit, root)


def _new_file(tests: Sequence[CandidateTest], issue: Issue) -> Edit:
    """Return tests as a file of their own, with a comment above them that says where they are from.

    One whose names clash with those before it is left out; the report shows it all the same.
    """
    best = tests[0]
    about = f"{' '.join(issue.title.split())!r}; written by {best.origin.strategy} of pytest-brt"
    comment = textwrap.fill(
        f"A test for {about}.", WIDTH, initial_indent="# ", subsequent_indent="# "
    )
    path, source = (
        PurePosixPath(best.path).with_name(f"test_{slug(issue.title)}.py"),
        best.source or "",
    )
    after = f"{comment}\n\n{source.strip()}\n".encode()
    edit = Edit(path=str(path), before=None, after=after, nodes=tests_of(source))
    for test in tests[1:]:
        with suppress(EditProblem):
            more = place(test.source or "", edit.path, edit.after)
            edit = replace(edit, after=more.after, nodes=(*edit.nodes, *more.nodes))
    return edit


def _marked(edit: Edit, issue: Issue) -> Edit:
    """Return a change whose tests are expected to fail, by title and report.

    The report's folder may be of this machine alone.
    """
    report = issue.source if "://" in issue.source else PurePosixPath(issue.source).name
    after = edit.after
    for node in edit.nodes:
        after = mark_xfail(edit.path, after, node, f"{cut(issue.title, 45)} ({report})")
    return replace(edit, after=after)


def _at_free_path(edit: Edit, root: Path) -> Edit:
    """Return a new file at the first of path, path_2, … that is free or has its content already."""
    path = first = PurePosixPath(edit.path)
    numbers = itertools.count(2)
    while (root / path).exists() and (root / path).read_bytes() != edit.after:
        path = first.with_stem(f"{first.stem}_{next(numbers)}")
    before = edit.after if (root / path).exists() else None
    return replace(edit, path=str(path), before=before)


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
    marks = _strict_marks(_find(file, node))
    if not marks:
        return data
    lines = file.text.split("\n")
    for mark in reversed(marks):
        del lines[mark.lineno - 1 : mark.end_lineno]
    imports = RemoveImportsVisitor(CodemodContext(), [("pytest", None, None)])
    return file.encode(imports.transform_module(libcst.parse_module("\n".join(lines))).code)


def marked_tests(path: str, data: bytes) -> tuple[str, ...]:
    """Return the tests with a strict xfail mark, as in "test_a" or "TestX::test_a".

    Raises:
        EditProblem: the file is not Python.
    """
    functions = _functions(read_source(path, data))
    return tuple(name for name, function in functions.items() if _strict_marks(function))


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


def _strict_marks(function: Function) -> list[ast.expr]:
    texts = ((one, ast.unparse(one)) for one in function.decorator_list)
    return [one for one, text in texts if "mark.xfail(" in text and "strict=True" in text]
