"""Puts a test that stands alone into an existing test file, with what it needs around it.

The test module is taken apart into what is placed separately: imports, helpers, tests. Nothing
that is in the file changes, for what is new is put between its lines, and placing the same test
twice changes nothing the second time.
"""

from __future__ import annotations

import ast
import re
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import dropwhile, takewhile

import libcst as cst

from pytest_brt.code.file_facts import read_facts
from pytest_brt.code.needed_imports import NeededImport, add_needed_imports
from pytest_brt.code.source import (
    Edit,
    Placement,
    SourceText,
    is_insertion,
    lines_of,
    parse_source,
    read_source,
    read_test,
)
from pytest_brt.code.words import split_identifier
from pytest_brt.errors import EditProblem
from pytest_brt.pysource.names import bound_names, undefined_names
from pytest_brt.pysource.parse import Function, first_line, is_constant, parse


@dataclass(frozen=True, slots=True, kw_only=True)
class Part:
    """One top-level statement of a test module, imports left out."""

    node: ast.stmt
    #: Its code with the comments right above, ending with a line end.
    text: str
    #: Whether it is a test function or a class of tests.
    test: bool


def place(source: str, path: str, host: bytes) -> Placement:
    """Return the tests of module `source` put into the file `path`, whose content is `host`.

    A function joins the functions, or becomes a method of the class that fits best when the
    file has its tests in classes (not when it needs fixtures that a ``unittest.TestCase``
    cannot give it). A test's name that is taken gets a number. What else the test needs goes
    to the top level of the file.

    Raises:
        EditProblem: one of the two is not Python, or they cannot be joined: a name that the test
            needs means something else in the file.
    """
    target = read_source(path, host)
    parse_source(target)
    module, tests = read_test(source)
    parts = list(_parts(module.text, tests))
    needed = _lacking(module.text, parts, target)
    file = target
    nodes = []
    for part in parts:
        if part.test:
            file, node = _with_test(file, part)
            nodes.append(node)
        else:
            file = _with_helper(file, part)
    text = add_needed_imports(file, needed)
    if not is_insertion(target.text, text):
        raise EditProblem(f"the test cannot be added to {path!r} without changing other lines")
    parse_source(replace(target, text=text))
    edit = Edit(path=path, before=host, after=target.encode(text))
    return Placement(edit=edit, nodes=tuple(nodes))


def _parts(text: str, tests: Sequence[str]) -> Iterator[Part]:
    lines = lines_of(text)
    end = 0
    for at, node in enumerate(parse(text).body):
        begin = first_line(node) - 1
        above = list(takewhile(_is_note, reversed(lines[end:begin])))[::-1]
        end = node.end_lineno or begin
        if isinstance(node, ast.Import | ast.ImportFrom) or (at == 0 and is_constant(node)):
            continue
        code = "".join([*above, *lines[begin:end]])
        if not isinstance(node, Function | ast.ClassDef):  # others may share its line
            code = ast.get_source_segment(text, node) or ""
        yield Part(
            node=node,
            text=code if code.endswith("\n") else f"{code}\n",
            test=getattr(node, "name", "") in tests,
        )


def _is_note(line: str) -> bool:
    """Return whether a line is a comment on what is below it, and not on the encoding."""
    return line.startswith("#") and "coding" not in line


def _lacking(text: str, parts: Sequence[Part], target: SourceText) -> list[NeededImport]:
    """Return the imports of a test module that something in it uses and the file does not have.

    Star imports are returned as the names that they must bring.
    """
    used = {name for part in parts for name in _names(part.node)}
    if "pytestmark" in used:
        raise EditProblem("the new test sets pytestmark, which would mark its neighbours as well")
    present = {(i.module, i.name, i.bound) for i in read_facts(target.text).imports if i.top}
    needed = dict.fromkeys(item for item in _imports(text) if item[2] in used)
    lacking = [item for item in needed if item not in present]
    taken = bound_names(target.text)
    for _, _, bound in lacking:
        _refuse_taken(bound, taken, target.path)
    return lacking


def _refuse_taken(name: str, taken: frozenset[str], path: str) -> None:
    if name in taken:
        raise EditProblem(
            f"{name!r} means something else in {path!r} than in the test (choose another file)"
        )


def _names(node: ast.AST) -> Iterator[str]:
    for inner in ast.walk(node):
        if isinstance(inner, ast.Name):
            yield inner.id


def _imports(text: str) -> Iterator[NeededImport]:
    for item in read_facts(text).imports:
        if item.top and item.name == "*":
            yield from ((item.module, name, name) for name in undefined_names(text))
        elif item.top and item.module != "__future__":
            yield (item.module, item.name, item.bound)


def _with_helper(file: SourceText, part: Part) -> SourceText:
    """Return the file with what a test needs beside it, once.

    Raises:
        EditProblem: its name is taken, or it does something without giving it a name.
    """
    tree = parse(file.text)
    if any(ast.dump(node) == ast.dump(part.node) for node in tree.body):
        return file
    names = bound_names(part.text)
    if not names:
        raise EditProblem("the new test runs code outside of its functions (move it into one)")
    taken = bound_names(file.text)
    for name in names:
        _refuse_taken(name, taken, file.path)
    return _inserted(file, _end(file, tree), part.text, 2)


def _with_test(file: SourceText, part: Part) -> tuple[SourceText, str]:
    """Return the file with a test, and the test's node below it."""
    tree = parse(file.text)
    holder = _holder(tree, part)
    known = holder.body if holder else tree.body
    above = f"{holder.name}::" if holder else ""
    names = set() if holder else set(bound_names(file.text))
    for node in known:
        if isinstance(node, Function | ast.ClassDef):
            names.add(node.name)
            if _bare(node, method=bool(holder)) == _bare(part.node):
                return file, above + node.name
    assert isinstance(part.node, Function | ast.ClassDef)
    name, number = part.node.name, 1
    while name in names:
        number += 1
        name = f"{part.node.name}_{number}"
    if holder is None:
        code = _written(part.text, name)
        return _inserted(file, _end(file, tree), code, 2), name
    lines = lines_of(file.text)
    first = lines[first_line(holder.body[0]) - 1]
    code = _written(part.text, name, margin=first[: len(first) - len(first.lstrip())])
    end = holder.end_lineno or 0
    while end < len(lines) and lines[end][:1].isspace() and lines[end].lstrip().startswith("#"):
        end += 1
    return _inserted(file, end, code, 1), above + name


def _bare(node: ast.stmt, *, method: bool = False) -> tuple[str, ...]:
    """Return what makes a test the same as another: its name and marks of waiting do not."""
    assert isinstance(node, Function | ast.ClassDef)
    decorators = [d for d in node.decorator_list if "mark.xfail" not in ast.unparse(d)]
    given = "" if isinstance(node, ast.ClassDef) else ast.unparse(node.args)
    if method:
        given = given.removeprefix("self").removeprefix(", ")
    return (type(node).__name__, given, *map(ast.dump, (*decorators, *node.body)))


def _holder(tree: ast.Module, part: Part) -> ast.ClassDef | None:
    """Return the class that takes a test, None when it stays outside of classes."""
    if not isinstance(part.node, Function):
        return None
    holder = best_class(tree, part.text)
    if holder is None or holder.name not in _unittests(tree):
        return holder
    needs_pytest = ast.unparse(part.node.args) or part.node.decorator_list
    return None if needs_pytest or isinstance(part.node, ast.AsyncFunctionDef) else holder


def best_class(tree: ast.Module, test: str) -> ast.ClassDef | None:
    """Return the class of tests that a test fits into, None where more tests are outside of them.

    It is the one that shares most words with the test; ties go to the last one.
    """
    kinds = _unittests(tree)
    classes = [
        node
        for node in tree.body
        if isinstance(node, ast.ClassDef)
        and (node.name in kinds or node.name.startswith("Test"))
        and _tests_in(node.body)
    ]
    if sum(len(_tests_in(node.body)) for node in classes) <= len(_tests_in(tree.body)):
        return None
    words = Counter(split_identifier(test))
    own = {node: _class_words(node) for node in classes}
    common = set.intersection(*own.values()) if len(own) > 1 else set()

    def fit(node: ast.ClassDef) -> tuple[float, int]:
        mine = own[node] - common
        return sum(min(words[word], 3) for word in mine) / (1 + len(mine)) ** 0.5, node.lineno

    return max(classes, key=fit)


def _tests_in(body: Sequence[ast.stmt]) -> list[str]:
    functions = (node.name for node in body if isinstance(node, Function))
    return [name for name in functions if name.startswith("test")]


def _class_words(node: ast.ClassDef) -> set[str]:
    names = [node.name, *_tests_in(node.body)]
    return {word for name in names for word in split_identifier(name)} - {"test", "tests"}


def _unittests(tree: ast.Module) -> set[str]:
    """Return the classes of unittest; a base class is followed within the file."""
    found: set[str] = set()
    for node in tree.body:
        if isinstance(node, ast.ClassDef):
            bases = [ast.unparse(base) for base in node.bases]
            if any(base.endswith("TestCase") or base in found for base in bases):
                found.add(node.name)
    return found


def _written(text: str, name: str, margin: str | None = None) -> str:
    """Return the code of a test under a `name`, as a method of a class with a `margin`."""
    docstring = ast.get_docstring(parse(text).body[0], clean=False) or ""  # type: ignore[arg-type]
    if docstring and margin:  # libcst leaves strings of several lines alone
        text = text.replace(docstring, re.sub(r"\n(?=[^\n])", f"\n{margin}", docstring))
    module = cst.parse_module(text)
    node = module.body[-1]
    assert isinstance(node, cst.FunctionDef | cst.ClassDef)
    node = node.with_changes(name=cst.Name(name))
    if margin is None:
        return module.with_changes(body=[node]).code
    assert isinstance(node, cst.FunctionDef)
    lines = [*module.header, *node.leading_lines]
    method = _as_method(node).with_changes(leading_lines=lines)
    block = cst.IndentedBlock(body=[method], indent=margin)
    return cst.Module([], default_indent=margin).code_for_node(block).removeprefix("\n")


def _as_method(function: cst.FunctionDef) -> cst.FunctionDef:
    given = function.params
    field = "posonly_params" if given.posonly_params else "params"
    names = [cst.Param(cst.Name("self")), *getattr(given, field)]
    return function.with_changes(params=given.with_changes(**{field: names}))


def _end(file: SourceText, tree: ast.Module) -> int:
    """Return the line after which definitions are added: a script's main part stays last."""
    rest = list(dropwhile(_is_main, reversed(tree.body)))
    if len(rest) == len(tree.body):
        return len(lines_of(file.text))
    return rest[0].end_lineno or 0 if rest else 0


def _is_main(node: ast.stmt) -> bool:
    asks = isinstance(node, ast.If) and isinstance(node.test, ast.Compare)
    return asks and ast.unparse(node.test.left) == "__name__"  # type: ignore[attr-defined]


def _inserted(file: SourceText, after: int, code: str, blanks: int) -> SourceText:
    """Return the file with `code` below the line `after`, with `blanks` blank lines between."""
    lines = lines_of(file.text)
    above = "".join(lines[:after])
    if above and not above.endswith(("\n", "\r")):
        above += file.newline
    blank = sum(1 for _ in takewhile(lambda line: not line.strip(), reversed(lines[:after])))
    gap = file.newline * max(0, blanks - blank) if above else ""
    code = code.replace("\n", file.newline)
    return replace(file, text="".join([above, gap, code, *lines[after:]]))
