"""Puts a test that stands alone into an existing test file, with what it needs around it.

Nothing that is in the file goes or moves, and placing the same test twice changes nothing the
second time.
"""

from __future__ import annotations

import ast
from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass

import libcst as cst
from libcst.codemod import CodemodContext
from libcst.codemod.visitors import AddImportsVisitor, ImportItem

from pytest_brt.edit.source_text import Edit, Placement, SourceText, read_source, tests_of
from pytest_brt.errors import EditProblem
from pytest_brt.project.definitions import read_facts
from pytest_brt.project.words import split_identifier
from pytest_brt.pysource.names import bound_names
from pytest_brt.pysource.normal_form import test_key
from pytest_brt.pysource.parse import parse

#: Module, name in it ("" for the module itself), name that it is bound to.
NeededImport = tuple[str, str, str]
_Definition = cst.FunctionDef | cst.ClassDef
_Statement = cst.SimpleStatementLine | cst.BaseCompoundStatement
_BLANK = cst.EmptyLine(indent=False)


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
    tests = tests_of(source)
    text = read_source(path, host)
    file = _File(path, parse_module(text))
    file.add_imports(source)
    nodes = []
    for part in _without_imports(cst.parse_module(source)):
        if isinstance(part, _Definition) and part.name.value in tests:
            nodes.append(file.add_test(part))
        else:
            file.add_helper(part)
    edit = Edit(path=path, before=host, after=text.encode(file.module.code))
    return Placement(edit=edit, nodes=tuple(nodes))


def parse_module(source: SourceText) -> cst.Module:
    """Return the concrete syntax tree of a file.

    Raises:
        EditProblem: it is not Python.
    """
    try:
        return cst.parse_module(source.text)
    except cst.ParserSyntaxError as error:
        raise EditProblem(
            f"{source.path!r} is not Python: {error.message!r} in line {error.raw_line}"
            " (choose another file)"
        ) from error


def with_imports(module: cst.Module, imports: Sequence[NeededImport]) -> cst.Module:
    """Return a module with imports added that it lacks."""
    items = []
    for name, part, bound in imports:
        is_plain = bound == (part or name.partition(".")[0])
        items.append(ImportItem(name, part or None, None if is_plain else bound))
    return AddImportsVisitor(CodemodContext(), items).transform_module(module)


def _code(node: cst.CSTNode) -> str:
    return cst.Module([]).code_for_node(node)


def _without_imports(module: cst.Module) -> Iterator[_Statement]:
    """Yield the statements of a test module without its imports and docstring."""
    for at, statement in enumerate(module.body):
        if isinstance(statement, cst.SimpleStatementLine):
            if at == 0 and ast.get_docstring(parse(_code(statement))) is not None:
                continue
            if all(isinstance(one, cst.Import | cst.ImportFrom) for one in statement.body):
                continue
        yield statement


@dataclass(slots=True)
class _File:
    """A test file that grows."""

    path: str
    module: cst.Module

    def refuse_taken(self, names: Collection[str]) -> None:
        for name in sorted(bound_names(self.module.code).intersection(names)):
            raise EditProblem(
                f"{name!r} means something else in {self.path!r} than in the test"
                " (choose another file)"
            )

    def add_imports(self, source: str) -> None:
        """Add the imports of a test module that the file lacks."""
        here = {(i.module, i.name, i.bound) for i in read_facts(self.module.code).imports}
        used = {node.id for node in ast.walk(parse(source)) if isinstance(node, ast.Name)} | {"*"}
        wanted = [(i.module, i.name, i.bound) for i in read_facts(source).imports]
        lacking = [one for one in wanted if one not in here and one[2] in used]
        self.refuse_taken([bound for *_, bound in lacking])
        self.module = with_imports(self.module, lacking)

    def add_helper(self, part: _Statement) -> None:
        """Add what a test needs beside it, once.

        Raises:
            EditProblem: its name is taken, or it does something without giving it a name.
        """
        code = ast.unparse(parse(_code(part)))
        if code in (ast.unparse(parse(_code(one))) for one in self.module.body):
            return
        names = bound_names(code)
        if not names or "pytestmark" in names:
            raise EditProblem(
                "the new test runs code outside of its functions, or sets pytestmark"
                " (move it into one)"
            )
        self.refuse_taken(names)
        self._append(part)

    def add_test(self, part: _Definition) -> str:
        """Add a test, and return its node below the file."""
        holder = self._holder(part)
        around = holder.body.body if holder else self.module.body
        known = [one for one in around if isinstance(one, _Definition)]
        above = f"{holder.name.value}::" if holder else ""
        for one in known:
            if _test_key(one) == _test_key(part):
                return above + one.name.value
        taken = {one.name.value for one in known}
        if holder is None:
            taken |= bound_names(self.module.code)
        name, number = part.name.value, 1
        while name in taken:
            number += 1
            name = f"{part.name.value}_{number}"
        part = part.with_changes(name=cst.Name(name))
        if holder is not None and isinstance(part, cst.FunctionDef):
            self._append_method(holder, part)
        else:
            self._append(part)
        return above + name

    def _append(self, part: _Statement) -> None:
        """Add a statement at the end; a script's main part stays last."""
        body = list(self.module.body)
        at, lines = len(body), [*self.module.footer]
        if body and isinstance(body[-1], cst.If) and "__name__" in _code(body[-1].test):
            at, lines = at - 1, []
        blanks = [_BLANK, _BLANK] if at else []
        own = [line for line in part.leading_lines if line.comment]
        body.insert(at, part.with_changes(leading_lines=[*lines, *blanks, *own]))
        footer = [] if lines else self.module.footer
        self.module = self.module.with_changes(body=body, footer=footer, has_trailing_newline=True)

    def _append_method(self, holder: cst.ClassDef, part: cst.FunctionDef) -> None:
        given = part.params
        field = "posonly_params" if given.posonly_params else "params"
        names = [cst.Param(cst.Name("self")), *getattr(given, field)]
        own = [line for line in part.leading_lines if line.comment]
        block = cst.ensure_type(holder.body, cst.IndentedBlock)
        method = part.with_changes(
            params=given.with_changes(**{field: names}),
            leading_lines=[*block.footer, _BLANK, *own],
        ).visit(_Docstring(block.indent or self.module.default_indent))
        longer = block.with_changes(body=[*block.body, method], footer=())
        changed = self.module.deep_replace(holder, holder.with_changes(body=longer))
        self.module = cst.ensure_type(changed, cst.Module)

    def _holder(self, part: _Definition) -> cst.ClassDef | None:
        """Return the class that takes a test, None when it stays outside of classes."""
        if not isinstance(part, cst.FunctionDef):
            return None
        holder = best_class(self.module, _code(part))
        needs_pytest = _code(part.params) or part.decorators or part.asynchronous
        return None if holder in _unittests(self.module) and needs_pytest else holder


class _Docstring(cst.CSTTransformer):
    """Indents the docstring of a function, for libcst leaves strings as they are."""

    def __init__(self, margin: str) -> None:
        super().__init__()
        self.margin = margin

    def visit_SimpleStatementLine(self, node: cst.SimpleStatementLine) -> bool:
        return isinstance(node.body[0], cst.Expr)

    def leave_SimpleString(
        self, original_node: cst.SimpleString, updated_node: cst.SimpleString
    ) -> cst.SimpleString:
        value = updated_node.value.replace("\n", f"\n{self.margin}")
        return updated_node.with_changes(value=value)


def _test_key(node: _Definition) -> str:
    """Return a key of what a test does: its name, its `self` and marks of waiting do not count."""
    decorators = [one for one in node.decorators if "mark.xfail" not in _code(one)]
    bare = node.with_changes(decorators=decorators, leading_lines=[], name=cst.Name("test_x"))
    text = _code(bare)
    for first in ("(self, ", "(self"):
        text = text.replace(f"test_x{first}", "test_x(", 1)
    return test_key(text)


def best_class(module: cst.Module, test: str) -> cst.ClassDef | None:
    """Return the class of tests that a test fits into, None where more tests are outside of them.

    It is the one that shares most words with the test, and of several it must share one; ties go
    to the last one.
    """
    cases = _unittests(module)
    classes = [
        node
        for node in module.body
        if isinstance(node, cst.ClassDef)
        and (node in cases or node.name.value.startswith("Test"))
        and _tests_in(node)
    ]
    if sum(len(_tests_in(node)) for node in classes) <= len(_tests_in(module)):
        return None
    own = [_words([node.name.value, *_tests_in(node)]) for node in classes]
    common = set.intersection(*own) if len(own) > 1 else set[str]()
    words = _words([test])

    def fit(at: int) -> tuple[float, int]:
        mine = own[at] - common
        return len(mine & words) / (1 + len(mine)) ** 0.5, at

    best = max(range(len(classes)), key=fit)
    return classes[best] if len(classes) == 1 or fit(best)[0] else None


def _tests_in(node: cst.Module | cst.ClassDef) -> list[str]:
    body = node.body if isinstance(node, cst.Module) else node.body.body
    names = (one.name.value for one in body if isinstance(one, cst.FunctionDef))
    return [name for name in names if name.startswith("test")]


def _words(names: Sequence[str]) -> set[str]:
    return {word for name in names for word in split_identifier(name)} - {"test", "tests"}


def _unittests(module: cst.Module) -> list[cst.ClassDef]:
    """Return the classes of unittest; a base class is followed within the file."""
    found: list[cst.ClassDef] = []
    for node in module.body:
        if isinstance(node, cst.ClassDef):
            bases = [_code(base.value) for base in node.bases]
            known = {one.name.value for one in found}
            if any(base.endswith("TestCase") or base in known for base in bases):
                found.append(node)
    return found
