"""Puts a test that stands alone into an existing test file, with what it needs around it.

Nothing that is in the file goes or moves, and placing the same test twice changes nothing the
second time.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

import libcst as cst
import libcst.matchers as m
from libcst.codemod import CodemodContext
from libcst.codemod.visitors import AddImportsVisitor, ImportItem

from pytest_brt.edit.source_text import Edit, Placement, SourceText, read_source, tests_of
from pytest_brt.errors import EditProblem
from pytest_brt.project.definitions import Import, read_facts
from pytest_brt.project.words import split_identifier
from pytest_brt.pysource.names import bound_names
from pytest_brt.pysource.normal_form import test_key

_Definition = cst.FunctionDef | cst.ClassDef
_Statement = cst.SimpleStatementLine | cst.BaseCompoundStatement
_BLANK = cst.EmptyLine(indent=False)
_XFAIL = m.Decorator(m.Call(m.Attribute(attr=m.Name("xfail"))))


def place(source: str, path: str, host: bytes) -> Placement:
    """Return the tests of module `source` put into the file `path`, whose content is `host`.

    A function joins the functions, or becomes a method of the class that fits best when the
    file has its tests in classes (not when it needs fixtures that a ``unittest.TestCase``
    cannot give it). A test's name that is taken gets a number. What else the test needs goes
    to the top level of the file.

    Raises:
        EditProblem: the file is not Python, or they cannot be joined: a name that the test needs
            means something else in the file.
    """
    text = read_source(path, host)
    module = parse_module(text)
    tests, new = tests_of(source), cst.parse_module(source)
    parts = [part for part in new.body[new.get_docstring() is not None :] if not _is_import(part)]
    known = {_key(part) for part in module.body}
    helpers = [part for part in parts if _name(part) not in tests and _key(part) not in known]
    here = {item.statement for item in read_facts(module.code).imports}
    lacking = [item for item in read_facts(source).imports if item.statement not in here]
    imports = [item for item in lacking if source.count(item.bound) > 1]  # it is used
    needed = {item.bound for item in imports}.union(*map(_helping_names, helpers))
    for name in sorted(bound_names(module.code) & needed):
        raise EditProblem(
            f"{name!r} means something else in {path!r} than in the test (choose another file)"
        )
    module, nodes = with_imports(module, imports), []
    for part in parts:
        if part in helpers:
            module = _appended(module, part)
        elif isinstance(part, _Definition) and _name(part) in tests:
            module, node = _with_test(module, part)
            nodes.append(node)
    edit = Edit(path=path, before=host, after=text.encode(module.code))
    return Placement(edit=edit, nodes=tuple(nodes))


def _helping_names(part: _Statement) -> frozenset[str]:
    """Return the names that a part beside a test gives to others."""
    names = bound_names(_code(part))
    if not names or "pytestmark" in names:
        raise EditProblem(
            "the new test runs code outside of its functions, or sets pytestmark (move it into one)"
        )
    return names


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


def with_imports(module: cst.Module, imports: Sequence[Import]) -> cst.Module:
    """Return a module with imports added that it lacks."""
    items = [
        ImportItem(one.module, one.name or None, one.bound if " as " in one.statement else None)
        for one in imports
    ]
    return AddImportsVisitor(CodemodContext(), items).transform_module(module)


def _code(node: cst.CSTNode) -> str:
    return cst.Module([]).code_for_node(node)


def _name(part: _Statement) -> str:
    return part.name.value if isinstance(part, _Definition) else ""


def _is_import(part: _Statement) -> bool:
    small = part.body[0] if isinstance(part, cst.SimpleStatementLine) else None
    return isinstance(small, cst.Import | cst.ImportFrom)


def _with_test(module: cst.Module, part: _Definition) -> tuple[cst.Module, str]:
    """Return a module with a test added, and the test's node below the file."""
    holder = best_class(module, part) if isinstance(part, cst.FunctionDef) else None
    around = holder.body.body if holder else module.body
    above = f"{_name(holder)}::" if holder else ""
    known = {_name(one): _key(one) for one in around if isinstance(one, _Definition)}
    for name, key in known.items():
        if key == _key(part):
            return module, above + name
    taken = known.keys() | (set() if holder else bound_names(module.code))
    name, number = _name(part), 1
    while name in taken:
        number += 1
        name = f"{_name(part)}_{number}"
    part = part.with_changes(name=cst.Name(name))
    if holder and isinstance(part, cst.FunctionDef):
        return _with_method(module, holder, part), above + name
    return _appended(module, part), name


def _key(part: _Statement) -> str:
    """Return a key of what code does: a test's name, its `self` and xfail marks do not count."""
    bare = m.replace(cst.Module([part]), _XFAIL, cst.RemoveFromParent())
    code = cst.ensure_type(bare, cst.Module).code
    return test_key(re.sub(r"(def \w+\()self(?:, )?", r"\1", code, count=1))


def _appended(module: cst.Module, part: _Statement) -> cst.Module:
    """Return a module with a statement at its end; a script's main part stays last."""
    body, footer = list(module.body), list(module.footer)
    is_script = bool(body) and m.matches(body[-1], m.If(m.Comparison(m.Name("__name__"))))
    at = len(body) - is_script
    above, below = ([], footer) if is_script else (footer, [])
    blanks = [_BLANK, _BLANK] if at else []
    body.insert(at, part.with_changes(leading_lines=[*above, *blanks, *_comments(part)]))
    return module.with_changes(body=body, footer=below, has_trailing_newline=True)


def _comments(part: _Statement) -> list[cst.EmptyLine]:
    return [line for line in part.leading_lines if line.comment]


def _with_method(module: cst.Module, holder: cst.ClassDef, part: cst.FunctionDef) -> cst.Module:
    """Return a module with a function as the last method of one of its classes."""
    block = cst.ensure_type(holder.body, cst.IndentedBlock)
    margin = block.indent or module.default_indent
    names = [cst.Param(cst.Name("self")), *part.params.params]
    method = part.with_changes(
        params=part.params.with_changes(params=names),
        leading_lines=[*block.footer, _BLANK, *_comments(part)],
    )
    for docstring in m.findall(method, m.Expr(m.SimpleString())):
        string = cst.ensure_type(cst.ensure_type(docstring, cst.Expr).value, cst.SimpleString)
        lines = string.value.replace("\n", f"\n{margin}")  # libcst leaves them as they are
        method = method.with_deep_changes(string, value=lines)
    longer = block.with_changes(body=[*block.body, method], footer=())
    return module.with_deep_changes(holder, body=longer)


def best_class(module: cst.Module, test: cst.FunctionDef) -> cst.ClassDef | None:
    """Return the class of tests that a test fits into, None where more tests are outside of them.

    It is the one that shares most words with the test, and of several it must share one; ties go
    to the last one. A class of unittest gives no fixtures.
    """
    words = {*split_identifier(_code(test))} - {"test", "tests"}
    classes = [node for node in module.body if isinstance(node, cst.ClassDef)]
    fits: dict[cst.ClassDef, float] = {}
    inside = 0
    for node in reversed(classes):
        names = _tests_in(node)
        if names and (_name(node).startswith("Test") or "TestCase" in _bases(node)):
            own = {*split_identifier(" ".join([_name(node), *names]))}
            fits[node] = len(own & words) / len(own) ** 0.5
            inside += len(names)
    if inside <= len(_tests_in(module)):
        return None
    best = max(fits, key=lambda node: fits[node])
    needs_pytest = _code(test.params) or test.decorators or test.asynchronous
    is_other = len(fits) > 1 and not fits[best]
    return None if is_other or (needs_pytest and _bases(best)) else best


def _bases(node: cst.ClassDef) -> str:
    return " ".join(_code(base.value) for base in node.bases)


def _tests_in(node: cst.Module | cst.ClassDef) -> list[str]:
    body = node.body if isinstance(node, cst.Module) else node.body.body
    names = (one.name.value for one in body if isinstance(one, cst.FunctionDef))
    return [name for name in names if name.startswith("test")]
