"""The text of a Python file → its facts, by its syntax, or by patterns where it has none for us."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator, Sequence

from pytest_brt.code.facts import DefinitionKind, Facts, LocalDefinition, LocalImport
from pytest_brt.code.patterns import scan
from pytest_brt.syntax import bodies, bound_targets, first_line, parse

#: Characters; what is longer is generated data, and is read as text.
LONGEST_PARSED = 600_000

_DYNAMIC = re.compile(r"\bglobals\(\)|^def __getattr__\b|\bexec\(|sys\.modules\[|\bsetattr\(", re.M)
#: Found much sooner than the above, and in few files.
_MAYBE_DYNAMIC = re.compile(r"globals\(\)|__getattr__|exec\(|sys\.modules|setattr\(")


def read_facts(text: str) -> Facts:
    """Return the facts of a file; never raises.

    A file that this interpreter cannot parse (other syntax, or generated data) is read with
    patterns: its definitions then have the indentation's word for their span.
    """
    dynamic = bool(_MAYBE_DYNAMIC.search(text)) and bool(_DYNAMIC.search(text))
    if len(text) <= LONGEST_PARSED:
        try:
            tree = parse(text)
        except SyntaxError:
            pass
        else:
            lines = text.split("\n")
            definitions, imports = _walk(tree, lines)
            return Facts(
                definitions=tuple(definitions),
                imports=tuple(imports),
                public=_public(tree),
                dynamic=dynamic,
                parsed=True,
            )
    definitions, imports = scan(text)
    return Facts(
        definitions=tuple(definitions),
        imports=tuple(imports),
        public=None,
        dynamic=True,
        parsed=False,
    )


def _walk(
    tree: ast.Module, lines: Sequence[str]
) -> tuple[list[LocalDefinition], list[LocalImport]]:
    definitions: list[LocalDefinition] = []
    imports: list[LocalImport] = []
    # (statements, prefix of qualified names, directly inside a class)
    todo: list[tuple[Sequence[ast.stmt], str, bool]] = [(tree.body, "", False)]
    while todo:
        statements, prefix, in_class = todo.pop()
        for node in statements:
            if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
                definition = _definition(node, prefix, in_class, lines)
                definitions.append(definition)
                is_class = isinstance(node, ast.ClassDef)
                todo.append((node.body, f"{definition.qualname}.", is_class))
            elif isinstance(node, ast.Import | ast.ImportFrom):
                imports.extend(_imported(node, top=not prefix))
            elif isinstance(node, ast.Expr | ast.Return | ast.Raise | ast.Pass | ast.Assert):
                continue
            else:
                if not prefix:
                    definitions.extend(_variables(node))
                todo.extend((inner, prefix, in_class) for inner in bodies(node))
    definitions.sort(key=lambda item: (item.line, -item.end_line))
    imports.sort(key=lambda item: item.line)
    return definitions, imports


def _definition(
    node: ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef,
    prefix: str,
    in_class: bool,
    lines: Sequence[str],
) -> LocalDefinition:
    if isinstance(node, ast.ClassDef):
        kind = DefinitionKind.CLASS
    else:
        kind = DefinitionKind.METHOD if in_class else DefinitionKind.FUNCTION
    return LocalDefinition(
        name=node.name,
        qualname=prefix + node.name,
        kind=kind,
        line=first_line(node),
        end_line=node.end_lineno or node.lineno,
        signature=_signature(node, lines),
    )


def _signature(
    node: ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef, lines: Sequence[str]
) -> str:
    """Return the head of `node` from its bracket on: the text is cheaper than unparsing."""
    body = node.body[0]
    if body.lineno == node.lineno:
        head = lines[node.lineno - 1][: body.col_offset]
    else:
        head = " ".join(line.strip() for line in lines[node.lineno - 1 : body.lineno - 1])
    _, bracket, rest = head.partition("(")
    end = max(rest.rfind("):"), rest.rfind(") :"), rest.rfind(") ->"))
    if not bracket or end < 0:
        return ""
    arrow = rest[end + 1 :].strip().partition(":")[0]
    return f"({rest[:end].strip()})" + (f" {arrow.strip()}" if arrow.startswith("->") else "")


def _imported(node: ast.Import | ast.ImportFrom, *, top: bool) -> Iterator[LocalImport]:
    for alias in node.names:
        if isinstance(node, ast.Import):
            bound = alias.asname or alias.name.partition(".")[0]
            module, name = alias.name, ""
        else:
            bound = alias.asname or alias.name
            module, name = "." * node.level + (node.module or ""), alias.name
        yield LocalImport(module=module, name=name, bound=bound, line=node.lineno, top=top)


def _variables(node: ast.stmt) -> Iterator[LocalDefinition]:
    for name in bound_targets(node):
        yield LocalDefinition(
            name=name,
            qualname=name,
            kind=DefinitionKind.VARIABLE,
            line=node.lineno,
            end_line=node.end_lineno or node.lineno,
        )


def _public(tree: ast.Module) -> tuple[str, ...] | None:
    """Return what ``__all__`` lists, None when that cannot be read off."""
    names: list[str] | None = None
    for node in tree.body:
        if not isinstance(node, ast.Assign | ast.AugAssign | ast.AnnAssign | ast.Expr):
            continue
        if isinstance(node, ast.Expr):
            if isinstance(node.value, ast.Call) and ast.unparse(node).startswith("__all__."):
                return None
            continue
        if "__all__" not in bound_targets(node):
            continue
        try:
            listed = ast.literal_eval(node.value) if node.value else None
        except ValueError:
            return None
        if not isinstance(listed, list | tuple) or not all(isinstance(n, str) for n in listed):
            return None
        added = isinstance(node, ast.AugAssign)
        names = [*(names or ()), *listed] if added else list(listed)
    return None if names is None else tuple(names)
