"""The text of a Python file → its facts, by its syntax, or by patterns where it has none for us."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from enum import StrEnum

from pytest_brt.syntax import bodies, bound_targets, first_line, parse


class DefinitionKind(StrEnum):
    """What a name is bound to by its definition."""

    FUNCTION = "function"
    METHOD = "method"
    CLASS = "class"
    VARIABLE = "variable"


@dataclass(frozen=True, slots=True, kw_only=True)
class LocalDefinition:
    """A definition as its own file tells it."""

    name: str
    #: With the names around it, as in "Thing.walk" or "outer.inner".
    qualname: str
    kind: DefinitionKind
    #: 1-based, from the first decorator to the last line.
    line: int
    end_line: int
    #: As written, on one line: "(self, x=1) -> int", "(Base)" or "".
    signature: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class LocalImport:
    """One name bound by an import statement."""

    #: As written; relative ones start with dots.
    module: str
    #: What is taken from the module: "" for ``import module``, "*" for all.
    name: str
    #: The name it gets in the file; "*" for all.
    bound: str
    line: int
    #: Whether it stands outside of functions and classes.
    top: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class Facts:
    """All that is known about one file."""

    definitions: tuple[LocalDefinition, ...]
    imports: tuple[LocalImport, ...]
    #: The names in ``__all__``; None when there is none, or it is not written out.
    public: tuple[str, ...] | None
    #: Names may appear in the module that are written nowhere in it.
    dynamic: bool
    #: False when the file is not Python for us and patterns were used instead.
    parsed: bool


_DEFINITION = re.compile(r"^([ \t]*)(?:async[ \t]+)?(def|class)[ \t]+([A-Za-z_]\w*)(\(.*\))?")
_ASSIGNED = re.compile(r"^([A-Za-z_]\w*)[ \t]*(?::[^=]+)?=(?!=)")
_IMPORT = re.compile(r"^[ \t]*import[ \t]+([\w. ,]+)$")
_FROM = re.compile(r"^[ \t]*from[ \t]+([\w.]+)[ \t]+import[ \t]+\(?([\w. ,*]+)\)?")


def scan(text: str) -> tuple[list[LocalDefinition], list[LocalImport]]:
    """Return what `text` defines and imports; indentation says where a definition ends."""
    definitions: list[LocalDefinition] = []
    imports: list[LocalImport] = []
    lines = text.split("\n")
    around: list[tuple[int, str, bool]] = []
    for number, line in enumerate(lines, 1):
        match = _DEFINITION.match(line)
        if match:
            depth, word, name = len(match[1].expandtabs()), match[2], match[3]
            while around and around[-1][0] >= depth:
                around.pop()
            in_class = bool(around) and around[-1][2]
            kind = DefinitionKind.CLASS if word == "class" else DefinitionKind.FUNCTION
            if in_class and word == "def":
                kind = DefinitionKind.METHOD
            definitions.append(
                LocalDefinition(
                    name=name,
                    qualname=".".join([*(outer for _, outer, _ in around), name]),
                    kind=kind,
                    line=number,
                    end_line=_block_end(lines, number, depth),
                    signature=match[4] or "",
                )
            )
            around.append((depth, name, word == "class"))
        elif assigned := _ASSIGNED.match(line):
            definitions.append(
                LocalDefinition(
                    name=assigned[1],
                    qualname=assigned[1],
                    kind=DefinitionKind.VARIABLE,
                    line=number,
                    end_line=number,
                )
            )
        elif "import" in line:
            imports.extend(_scan_import(line, number))
    return definitions, imports


def _block_end(lines: Sequence[str], number: int, depth: int) -> int:
    end = number
    for at in range(number, len(lines)):
        line = lines[at]
        if line.strip():
            if len(line.expandtabs()) - len(line.expandtabs().lstrip()) <= depth:
                break
            end = at + 1
    return end


def _scan_import(line: str, number: int) -> Iterator[LocalImport]:
    top = not line[:1].isspace()
    if match := _FROM.match(line):
        module, names = match[1], match[2].split(",")
    elif match := _IMPORT.match(line):
        module, names = "", match[1].split(",")
    else:
        return
    for part in names:
        words = part.split()
        if not words:
            continue
        bound = words[2] if len(words) == 3 and words[1] == "as" else words[0]
        if module:
            yield LocalImport(module=module, name=words[0], bound=bound, line=number, top=top)
        else:
            bound = bound if len(words) == 3 else words[0].partition(".")[0]
            yield LocalImport(module=words[0], name="", bound=bound, line=number, top=top)


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
