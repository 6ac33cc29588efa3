"""Puts a test that stands alone into an existing test file, with what it needs around it.

Nothing that is in the file goes or moves, and placing the same test twice changes nothing the
second time.
"""

from __future__ import annotations

import ast
import math
import re
from collections.abc import Iterator, Sequence

import libcst
from libcst.codemod import CodemodContext
from libcst.codemod.visitors import AddImportsVisitor, ImportItem

from pytest_brt.edit.source_text import Edit, indented, read_source, tests_of
from pytest_brt.errors import EditProblem
from pytest_brt.project.definitions import Import, read_facts
from pytest_brt.project.terms import split_identifier
from pytest_brt.pysource.names import bound_names
from pytest_brt.pysource.normal_form import test_key
from pytest_brt.pysource.parse import Function, is_constant, is_test_class, parse

_Definition = Function | ast.ClassDef
_XFAIL = re.compile(r"^\s*@.*\bxfail\(.*\n", re.MULTILINE)


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
    file, tests = read_source(path, host), tests_of(source)
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
    return Edit(path=path, before=host, after=file.encode(text), nodes=tuple(nodes))


def _parts(source: str) -> Iterator[tuple[ast.stmt, str]]:
    """Yield the statements of a module, imports left out, with the comments above them."""
    lines, end = source.split("\n"), 0
    for node in parse(source).body:
        code = "\n".join(lines[end : node.end_lineno]).strip("\n")
        end = node.end_lineno or end
        if not isinstance(node, ast.Import | ast.ImportFrom) and not is_constant(node):
            yield node, code or ast.unparse(node)


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
    items = [
        ImportItem(one.module, one.name or None, one.bound if " as " in one.statement else None)
        for one in imports
    ]
    visitor = AddImportsVisitor(CodemodContext(), items)
    return visitor.transform_module(libcst.parse_module(text)).code


def _key(node: ast.stmt) -> str:
    """Return a key of what code does: a test's name, its `self` and xfail marks do not count."""
    code = _XFAIL.sub("", ast.unparse(node))
    return test_key(re.sub(r"(def \w+\()self(?:, )?", r"\1", code, count=1))


def _with_test(text: str, test: _Definition, code: str) -> tuple[str, str]:
    """Return a module with a test added, and the test's node below the file."""
    tree = parse(text)
    holder = _best_class(tree, test) if isinstance(test, Function) else None
    above, around = (f"{holder.name}::", holder.body) if holder else ("", tree.body)
    own = [node for node in around if isinstance(node, _Definition)]
    for node in own:
        if _key(node) == _key(test):
            return text, above + node.name
    name = test.name
    while name in [node.name for node in own]:
        name += "_2"
    code = re.sub(rf"\b(def|class) {test.name}\b", rf"\1 {name}", code, count=1)
    if holder is None:
        return _appended(text, code), name
    code = code.replace(f"def {name}(", f"def {name}(self, ", 1).replace("(self, )", "(self)", 1)
    lines, first = text.split("\n"), holder.body[0]
    margin = lines[first.lineno - 1][: first.col_offset]
    lines.insert(holder.end_lineno or 0, f"\n{indented(code, margin)}")
    return "\n".join(lines), above + name


def _appended(text: str, code: str) -> str:
    """Return a module with a statement at its end; a script's main part stays last."""
    lines, body = text.rstrip().split("\n"), parse(text).body
    at = len(lines)
    if body and isinstance(body[-1], ast.If) and "__name__" in ast.unparse(body[-1].test):
        at = body[-1].lineno - 1
    above, below = "\n".join(lines[:at]).rstrip(), "\n".join(lines[at:])
    return f"{above}\n\n\n{code}\n\n\n{below}".strip("\n") + "\n"


def _best_class(tree: ast.Module, test: Function) -> ast.ClassDef | None:
    """Return the class of tests that a test fits into, None where more tests are outside of them.

    It is the one that shares most words with the test, and of several it must share one; ties go
    to the last one. A class of unittest gives no fixtures.
    """
    tested = [one for one in tree.body if isinstance(one, ast.ClassDef) and _tests_in(one)]
    classes = [one for one in tested if is_test_class(one)]
    if sum(len(_tests_in(one)) for one in classes) <= len(_tests_in(tree)):
        return None
    words = {*split_identifier(ast.unparse(test))} - {"test", "tests"}

    def shared(node: ast.ClassDef) -> float:
        own = {*split_identifier(" ".join([node.name, *_tests_in(node)]))}
        return len(own & words) / math.sqrt(len(own))

    best = max(reversed(classes), key=shared)
    is_async = isinstance(test, ast.AsyncFunctionDef)
    needs_pytest = test.args.args or test.decorator_list or is_async
    is_other = len(classes) > 1 and not shared(best)
    return None if is_other or (needs_pytest and best.bases) else best


def _tests_in(node: ast.Module | ast.ClassDef) -> list[str]:
    functions = (one for one in node.body if isinstance(one, Function))
    return [one.name for one in functions if one.name.startswith("test")]
