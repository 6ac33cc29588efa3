"""The tests of a report as a change of the project: a new file, or part of an existing one.

Nothing that is in a file goes or moves, and placing the same test twice changes nothing the
second time. With tests goes the strict xfail mark: put above one, found, and taken away again.
"""

from __future__ import annotations

import ast
import itertools
import json
import math
import re
import textwrap
from collections.abc import Iterator, Sequence
from contextlib import suppress
from dataclasses import replace
from pathlib import Path, PurePosixPath

import libcst
from libcst.codemod import CodemodContext
from libcst.codemod.visitors import AddImportsVisitor, ImportItem, RemoveImportsVisitor

from pytest_brt.edit.source_text import (
    WIDTH,
    Edit,
    SourceText,
    indented,
    read_source,
    slug,
)
from pytest_brt.errors import EditProblem
from pytest_brt.project.definitions import Import, read_facts, statements_in
from pytest_brt.project.imports import add_imports
from pytest_brt.project.layout import escapes_root
from pytest_brt.project.terms import split_identifier
from pytest_brt.pysource.names import bound_names
from pytest_brt.pysource.normal_form import test_key
from pytest_brt.pysource.parse import (
    Function,
    code_of,
    find_tests,
    first_line,
    is_constant,
    parse,
)
from pytest_brt.render.words import cut
from pytest_brt.types import CandidateTest, Issue

_Definition = Function | ast.ClassDef
_XFAIL = re.compile(r"^\s*@.*\bxfail\(.*\n", re.MULTILINE)
_STRICT = re.compile(r"\bmark\.xfail\(.*\bstrict=True\b")


def plan_edit(
    tests: Sequence[CandidateTest],
    issue: Issue,
    root: Path,
    *,
    host: str = "",
    mark: bool = False,
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
    if mark:
        # The report's folder may be of this machine alone.
        name = issue.source if "://" in issue.source else PurePosixPath(issue.source).name
        why = f"{cut(issue.title, 45)} ({name})"
        tests = [replace(one, source=mark_xfail(one.source or "", why)) for one in tests]
    if host:
        return place(tests[0].source or "", host, (root / host).read_bytes())
    return _new_file(tests, issue, root)


def _new_file(tests: Sequence[CandidateTest], issue: Issue, root: Path) -> Edit:
    """Return tests as a file of their own, with a comment that says where they are from.

    One whose names clash with those before it is left out; the report shows it all the same.
    """
    best = tests[0]
    about = f"{' '.join(issue.title.split())!r}; written by {best.origin.strategy} of pytest-brt"
    comment = textwrap.fill(
        f"A test for {about}.", WIDTH, initial_indent="# ", subsequent_indent="# "
    )
    path = PurePosixPath(best.path).with_name(f"test_{slug(issue.title)}.py")
    after = f"{comment}\n\n{(best.source or '').strip()}\n".encode()
    for test in tests[1:]:
        with suppress(EditProblem):
            after = place(test.source or "", str(path), after).after
    # The first of path, path_2, … that is free, or has all that already.
    free, numbers = path, itertools.count(2)
    while (root / free).exists() and (root / free).read_bytes() != after:
        free = path.with_stem(f"{path.stem}_{next(numbers)}")
    return Edit(path=str(free), after=after)


# -- a test in a file that is there --


def place(source: str, path: str, host: bytes) -> Edit:
    """Return the tests of module `source` put into the file `path`, whose content is `host`.

    A function joins the functions, or becomes a method of the class that fits best when the
    file has its tests in classes (not when it needs fixtures that a ``unittest.TestCase``
    cannot give it). A test's name that is taken gets a number. What else the test needs goes
    to the top level of the file.

    Raises:
        EditProblem: the file is not Python, or they cannot be joined: a name that the test needs
            means something else in the file.
    """
    file = read_source(path, host)
    tests = {name.partition("::")[0] for name, _ in find_tests(parse(source).body)}
    known = {_key(node) for node in file.tree().body}
    new: list[tuple[_Definition, str]] = []
    helpers: list[str] = []
    for node, code in _parts(source):
        if isinstance(node, _Definition) and node.name in tests:
            new.append((node, code))
        elif _key(node) not in known:
            helpers.append(code)
    here = {item.statement for item in read_facts(file.text).imports}
    imports = [item for item in read_facts(source).imports if item.statement not in here]
    needed = {item.bound for item in imports}.union(*map(_helping_names, helpers))
    if clashing := bound_names(file.text) & needed:
        raise EditProblem(
            f"{min(clashing)!r} means something else in {path!r} than in the test "
            "(choose another file)"
        )
    text, nodes = with_imports(file.text, imports), []
    for code in helpers:
        text = _appended(text, code)
    for test, code in new:
        text, name = _with_test(text, test, code)
        nodes.append(name)
    return Edit(path=path, after=file.encode(text), nodes=tuple(nodes))


def _parts(source: str) -> Iterator[tuple[ast.stmt, str]]:
    """Yield the statements of a module, imports left out, with the comments above them."""
    lines, end = source.split("\n"), 0
    for node in parse(source).body:
        code = "\n".join(lines[end : node.end_lineno]).strip("\n")
        end = node.end_lineno or end
        if not isinstance(node, ast.Import | ast.ImportFrom) and not is_constant(node):
            yield node, code or code_of(node)


def _helping_names(code: str) -> frozenset[str]:
    """Return the names that a part beside a test gives to others."""
    names = bound_names(code)
    if not names or "pytestmark" in names:
        raise EditProblem(
            "the new test runs code outside of its functions, or sets pytestmark (move it into one)"
        )
    return names


def with_imports(text: str, imports: Sequence[Import]) -> str:
    """Return a module with imports added that it lacks."""
    items = []
    for one in imports:
        alias = one.bound if " as " in one.statement else None
        items.append(ImportItem(one.module, one.name or None, alias))
    visitor = AddImportsVisitor(CodemodContext(), items)
    return visitor.transform_module(libcst.parse_module(text)).code


def _key(node: ast.stmt) -> str:
    """Return a key of what code does; a test's name, `self` and xfail marks do not count."""
    code = _XFAIL.sub("", code_of(node))
    return test_key(re.sub(r"(def \w+\()self(?:, )?", r"\1", code, count=1))


def _with_test(text: str, test: _Definition, code: str) -> tuple[str, str]:
    """Return a module with a test added, and the test's node below the file."""
    tree = parse(text)
    holder = _best_class(tree, test) if isinstance(test, Function) else None
    above, around = (f"{holder.name}::", holder.body) if holder else ("", tree.body)
    own = {node.name: node for node in around if isinstance(node, _Definition)}
    for name, node in own.items():
        if _key(node) == _key(test):
            return text, above + name
    name = test.name
    while name in own:
        name += "_2"
    code = re.sub(rf"\b(def|class) {test.name}\b", rf"\1 {name}", code, count=1)
    if holder is None:
        return _appended(text, code), name
    code = code.replace(f"def {name}(", f"def {name}(self, ", 1).replace(
        "(self, )", "(self)", 1
    )
    lines, first = text.split("\n"), holder.body[0]
    margin = lines[first.lineno - 1][: first.col_offset]
    lines.insert(holder.end_lineno or 0, f"\n{indented(code, margin)}")
    return "\n".join(lines), above + name


def _appended(text: str, code: str) -> str:
    """Return a module with a statement at its end; a script's main part stays last."""
    lines, body = text.rstrip().split("\n"), parse(text).body
    at = len(lines)
    if body and isinstance(body[-1], ast.If) and "__name__" in code_of(body[-1].test):
        at = body[-1].lineno - 1
    above, below = "\n".join(lines[:at]).rstrip(), "\n".join(lines[at:])
    return f"{above}\n\n\n{code}\n\n\n{below}".strip("\n") + "\n"


def _best_class(tree: ast.Module, test: Function) -> ast.ClassDef | None:
    """Return the class of tests that a test fits into.

    None takes it where more tests are outside of them. It is the one that shares most words with
    the test, and of several it must share one; ties go to the last one. A class of unittest gives
    no fixtures.
    """
    names = [name for name, _ in find_tests(tree.body)]
    if 2 * sum("::" in name for name in names) <= len(names):
        return None
    known = (node for node in tree.body if isinstance(node, ast.ClassDef))
    classes = [node for node in known if any(find_tests([node]))]
    words = {*split_identifier(code_of(test))} - {"test", "tests"}

    def shared(node: ast.ClassDef) -> float:
        own = {*split_identifier(" ".join(name for name, _ in find_tests([node])))}
        return len(own & words) / math.sqrt(len(own))

    best = max(reversed(classes), key=shared)
    is_async = isinstance(test, ast.AsyncFunctionDef)
    needs_pytest = test.args.args or test.decorator_list or is_async
    is_other = len(classes) > 1 and not shared(best)
    return None if is_other or (needs_pytest and best.bases) else best


# -- the mark --


def mark_xfail(source: str, reason: str) -> str:
    """Return a module with ``@pytest.mark.xfail(strict=True, reason=...)`` on each of its tests.

    Strict: the mark itself turns the suite red on the day the bug is fixed. They fail, so that
    none has such a mark already.
    """
    quoted = json.dumps(" ".join(reason.split()), ensure_ascii=False)
    lines = source.split("\n")
    for _, test in reversed([*find_tests(parse(source).body)]):
        at = first_line(test) - 1
        margin = lines[at][: test.col_offset]
        lines.insert(at, f"{margin}@pytest.mark.xfail(strict=True, reason={quoted})")
    needed = [] if "pytest" in bound_names(source) else ["import pytest"]
    return add_imports("\n".join(lines), needed)


def unmark(path: str, data: bytes, node: str) -> bytes:
    """Return the file without the strict xfail mark of the test `node`.

    A test without one is left as it is. An import of pytest that nothing needs any more goes too.

    Raises:
        EditProblem: there is no such test, or the file is not Python.
    """
    file = read_source(path, data)
    marks = _strict_marks(file).get(node.partition("[")[0])
    if marks is None:
        raise EditProblem(f"{path!r} has no test {node!r} (was it renamed?)")
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
    marks = _strict_marks(read_source(path, data))
    return tuple(name for name, own in marks.items() if own)


def _strict_marks(file: SourceText) -> dict[str, list[ast.expr]]:
    """Return the strict xfail marks of the functions of a file and of its classes."""
    return {
        f"{around.replace('.', '::')}{node.name}": [
            one for one in node.decorator_list if _STRICT.search(code_of(one))
        ]
        for node, around in statements_in(file.tree())
        if isinstance(node, Function)
    }
