"""Makes grammars from types: a short JSON header, then code in fenced blocks, never inside JSON.

A model is asked for, as in::

    {"thought": "the parser drops the sign", "action": "edit", "path": "tests/test_a.py"}
    ```python
    def test_sign(): ...
    ```

The spelling of a header is fixed and its values are bounded (`gbnf`), so that what the grammar lets
through always decodes as the type it was made from.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass

import msgspec
from msgspec import inspect

from pytest_brt.errors import ModelProblem
from pytest_brt.model.base import Grammar

#: Characters of a string that states no `max_length`, and lines of a block of code.
_LENGTH, _LINES = 300, 400
#: Any character that may stand in a JSON string as it is, as code points.
_CHARS = r"[\x20-\x21\x23-\x5B\x5D-\x7E\u00A0-\uD7FF\uE000-\uFFFD\U00010000-\U0010FFFF]"
#: Rules that are used by name, each with those that it needs itself.
_CHAR = {
    # A UTF-16 unit that is a character by itself.
    "unit": r"[0-9a-cA-CefEF] [0-9a-fA-F]{3} | [dD] [0-7] [0-9a-fA-F]{2}",
    "char": rf'{_CHARS} | "\\" (["\\/bfnrt] | "u" unit)',
}
#: A line of code: anything that does not begin with three backticks.
_LINE = {
    "any": r"[\x09\x20-\x7E\u00A0-\uD7FF\uE000-\uFFFD\U00010000-\U0010FFFF]",
    "other": r"[\x09\x20-\x5F\x61-\x7E\u00A0-\uD7FF\uE000-\uFFFD\U00010000-\U0010FFFF]",
    "line": r'(other any* | "`" (other any* | "`" (other any*)?)?)? "\n"',
}

#: Name of a rule → its body, in the order in which they are made.
_Rules = dict[str, str]
#: Name of a field, and its type or its value as JSON.
_Field = tuple[str, inspect.Type | str]


@dataclass(frozen=True, slots=True, kw_only=True)
class Shape:
    """One kind of reply: a header of this type and the fenced blocks that follow it."""

    #: A msgspec.Struct, with a tag where there are several.
    header: type
    #: Most fenced blocks after the header; numbered when there may be more than one.
    most: int = 0
    #: Most lines of a block.
    lines: int = _LINES


def grammar_for(*shapes: Shape, lead: Sequence[str] = ()) -> Grammar:
    """Return the grammar of replies that have one of `shapes`.

    `lead` names fields that every header has and that are to come first, before the tag, as in
    a thought that prepares the choice of an action. All fields are asked for, optional ones too.

    Raises:
        ModelProblem: a type cannot be said in a grammar; the message names the field.
    """
    rules: _Rules = {}
    infos = inspect.multi_type_info([shape.header for shape in shapes])
    heads = [_fields(info, lead) for info in infos]
    first = _pairs([field for field in heads[0] if field[0] in lead], rules)
    for number, (shape, fields) in enumerate(zip(shapes, heads, strict=True)):
        body = _pairs([field for field in fields if field[0] not in lead], rules)
        between = _quote(", ") if first and body else ""
        end = _quote("}") + _blocks(shape, rules)
        rules[f"shape{number}"] = " ".join(part for part in (between, body, end) if part)
    start = _quote("{") + (f" {first}" if first else "")
    names = " | ".join(f"shape{number}" for number in range(len(shapes)))
    rules["root"] = f"{start} ({names})"
    return Grammar(gbnf=_text(rules), schema=_schema(shapes, heads))


def block_grammar(*, lines: int = _LINES) -> Grammar:
    """Return the grammar of an answer that is one fenced block of at most `lines` of Python."""
    rules: _Rules = {}
    rules["root"] = f"{_quote(f'```python{chr(10)}')} {_code(lines, rules)}"
    return Grammar(gbnf=_text(rules))


def _text(rules: _Rules) -> str:
    return "".join(f"{name} ::= {body}\n" for name, body in rules.items())


def _quote(text: str) -> str:
    """Return `text` as a literal of the notation."""
    out = text.replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n")
    return f'"{out}"'


def _fields(info: inspect.Type, lead: Sequence[str]) -> list[_Field]:
    """Return the fields of a header, `lead` first, then the tag, then the others."""
    assert isinstance(info, inspect.StructType), "a header is a struct"
    fields: dict[str, inspect.Type | str] = {f.encode_name: f.type for f in info.fields}
    head: list[_Field] = [(name, fields.pop(name)) for name in lead]
    if info.tag_field is not None:
        head.append((info.tag_field, json.dumps(info.tag)))
    return head + list(fields.items())


def _pairs(fields: list[_Field], rules: _Rules) -> str:
    """Return the rule for the fields of an object, separators between them."""
    parts = []
    for number, (name, kind) in enumerate(fields):
        key = ("" if number == 0 else ", ") + json.dumps(name) + ": "
        if isinstance(kind, str):
            parts.append(_quote(key + kind))
        else:
            parts.append(f"{_quote(key)} {_value(kind, rules, name)}")
    return " ".join(parts)


def _value(info: inspect.Type, rules: _Rules, where: str) -> str:
    """Return the rule for a value of type `info`; `where` names the field in errors."""
    match info:
        case inspect.BoolType():
            return '("true" | "false")'
        case inspect.LiteralType():
            return f"({' | '.join(_quote(json.dumps(value)) for value in info.values)})"
        case inspect.IntType(ge=0, le=int(most)) if set(str(most)) == {"9"}:
            return f'("0" | [1-9] [0-9]{{0,{len(str(most)) - 1}}})'
        case inspect.StrType(pattern=None):
            rules.update(_CHAR)
            least = info.min_length or 0
            most = _LENGTH if info.max_length is None else info.max_length
            return rf'"\"" char{{{least},{most}}} "\""'
    raise ModelProblem(f"{where}: a grammar cannot say {info!r}")


def _blocks(shape: Shape, rules: _Rules) -> str:
    """Return the rule for the fenced blocks after a header."""
    out = ""
    for number in range(1, shape.most + 1):
        label = f" {number}" if shape.most > 1 else ""
        out += f" ({_quote(f'{chr(10)}```python{label}{chr(10)}')} {_code(shape.lines, rules)}"
    return out + ")?" * shape.most


def _code(lines: int, rules: _Rules) -> str:
    """Return the rule for the lines of a block and the fence that closes it."""
    rules.update(_LINE)
    return f"line{{1,{lines}}} {_quote('```')}"


def _schema(shapes: Sequence[Shape], heads: Sequence[list[_Field]]) -> str:
    """Return the JSON schema of the headers, or "" when code may follow them.

    Fields stand in the order in which they are to be written. All are asked for and no others
    are allowed, which servers that enforce a schema strictly want to be told.
    """
    if any(shape.most for shape in shapes):
        return ""
    schemas = []
    for shape, fields in zip(shapes, heads, strict=True):
        (part,) = msgspec.json.schema_components([shape.header])[1].values()
        known, names = part["properties"], [name for name, _ in fields]
        part |= {"properties": {name: known[name] for name in names}, "required": names}
        schemas.append({**part, "additionalProperties": False})
    return json.dumps(schemas[0] if len(schemas) == 1 else {"anyOf": schemas})
