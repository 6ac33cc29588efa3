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

#: Characters of a string that states no `max_length`.
_LENGTH = 300
#: llama.cpp unrolls repetitions and dies of a stack overflow above about 2,000.
MOST = 1000
#: Any character that may stand in a JSON string as it is, as code points.
_CHARS = r"[\x20-\x21\x23-\x5B\x5D-\x7E\u00A0-\uD7FF\uE000-\uFFFD\U00010000-\U0010FFFF]"
_RULES = {
    "char": rf'{_CHARS} | "\\" (["\\/bfnrt] | "u" unit)',
    # A UTF-16 unit that is a character by itself.
    "unit": r"[0-9a-cA-CefEF] [0-9a-fA-F]{3} | [dD] [0-7] [0-9a-fA-F]{2}",
    # A line of code: anything that does not begin with three backticks.
    "any": r"[\x09\x20-\x7E\u00A0-\uD7FF\uE000-\uFFFD\U00010000-\U0010FFFF]",
    "other": r"[\x09\x20-\x5F\x61-\x7E\u00A0-\uD7FF\uE000-\uFFFD\U00010000-\U0010FFFF]",
    "line": r'(other any* | "`" (other any* | "`" (other any*)?)?)? "\n"',
}


class Rules:
    """The rules of a grammar, in the order they were made."""

    def __init__(self) -> None:
        self.rules: dict[str, str] = {}

    def add(self, name: str, body: str) -> str:
        """Define a rule, and return its name."""
        self.rules[name] = body
        return name

    def use(self, name: str) -> str:
        """Return `name` after making sure that it and what it needs are defined."""
        for needed in {"char": ("unit",), "line": ("any", "other")}[name]:
            self.rules[needed] = _RULES[needed]
        return self.add(name, _RULES[name])

    def text(self) -> str:
        """Return all rules, as llama.cpp reads them."""
        return "".join(f"{name} ::= {body}\n" for name, body in self.rules.items())


#: Name, and type or value as JSON.
Field = tuple[str, inspect.Type | str]


def quote(text: str) -> str:
    """Return `text` as a literal of the notation."""
    out = text.replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n")
    return f'"{out}"'


def fields_of(info: inspect.Type, lead: Sequence[str]) -> list[Field]:
    """Return the fields of a header, `lead` first, then the tag, then the others."""
    if not isinstance(info, inspect.StructType):
        raise ModelProblem(f"a reply's header must be a struct, not {info!r}")
    fields: dict[str, inspect.Type | str] = {f.encode_name: f.type for f in info.fields}
    missing = [name for name in lead if name not in fields]
    if missing:
        raise ModelProblem(f"{info.cls.__name__} has no field {missing[0]!r} to lead with")
    head: list[Field] = [(name, fields.pop(name)) for name in lead]
    if info.tag_field is not None:
        head.append((info.tag_field, json.dumps(info.tag)))
    return head + list(fields.items())


def pairs_rule(fields: list[Field], rules: Rules) -> str:
    """Return the rule for the fields of an object, separators between them."""
    parts = []
    for number, (name, kind) in enumerate(fields):
        key = ("" if number == 0 else ", ") + json.dumps(name) + ": "
        if isinstance(kind, str):
            parts.append(quote(key + kind))
        else:
            parts.append(f"{quote(key)} {_value(kind, rules, name)}")
    return " ".join(parts)


def _value(info: inspect.Type, rules: Rules, where: str) -> str:
    """Return the rule for a value of type `info`; `where` names the field in errors."""
    match info:
        case inspect.BoolType():
            return '("true" | "false")'
        case inspect.LiteralType():
            return f"({' | '.join(quote(json.dumps(value)) for value in info.values)})"
        case inspect.IntType(ge=0, le=int(most)) if set(str(most)) == {"9"}:
            return f'("0" | [1-9] [0-9]{{0,{len(str(most)) - 1}}})'
        case inspect.StrType(pattern=None):
            return _string(info, rules, where)
    raise ModelProblem(f"{where}: a grammar cannot say {info!r}")


def _string(info: inspect.StrType, rules: Rules, where: str) -> str:
    least = info.min_length or 0
    most = info.max_length if info.max_length is not None else max(_LENGTH, least)
    if most > MOST:
        raise ModelProblem(
            f"{where}: max_length {most} is more than {MOST}, which llama.cpp's grammars "
            "do not survive (put long text in a fenced block)"
        )
    return rf'"\"" {rules.use("char")}{{{least},{most}}} "\""'


#: Lines of a block of code.
_LINES = 400


@dataclass(frozen=True, slots=True, kw_only=True)
class Shape:
    """One kind of reply: a header of this type and the fenced blocks that follow it."""

    #: A msgspec.Struct, with a tag where there are several.
    header: type
    #: Fenced blocks after the header; numbered when there may be more than one.
    least: int = 0
    most: int = 0
    #: Language after the fence.
    language: str = "python"
    #: Most lines of a block.
    lines: int = _LINES


def grammar_for(*shapes: Shape, lead: Sequence[str] = ()) -> Grammar:
    """Return the grammar of replies that have one of `shapes`.

    `lead` names fields that every header has and that are to come first, before the tag, as in
    a thought that prepares the choice of an action. All fields are asked for, optional ones too.

    Raises:
        ModelProblem: a type cannot be said in a grammar; the message names the field.
    """
    if not shapes:
        raise ModelProblem("a grammar needs at least one shape of reply")
    rules = Rules()
    infos = inspect.multi_type_info([shape.header for shape in shapes])
    heads = [fields_of(info, lead) for info in infos]
    first = pairs_rule([field for field in heads[0] if field[0] in lead], rules)
    choices = []
    for number, (shape, fields) in enumerate(zip(shapes, heads, strict=True)):
        rest = [field for field in fields if field[0] not in lead]
        body = pairs_rule(rest, rules)
        between = quote(", ") if first and body else ""
        end = quote("}") + _blocks(shape, rules)
        choices.append(
            rules.add(f"shape{number}", " ".join(part for part in (between, body, end) if part))
        )
    start = quote("{") + (f" {first}" if first else "")
    rules.add("root", f"{start} ({' | '.join(choices)})")
    return Grammar(
        gbnf=rules.text(),
        schema=_schema(shapes, heads),
    )


def choice_grammar(words: Sequence[str]) -> Grammar:
    """Return the grammar of an answer that is exactly one of `words`.

    Raises:
        ModelProblem: there are no words.
    """
    if not words:
        raise ModelProblem("a grammar needs at least one word to choose from")
    return Grammar(gbnf="root ::= " + " | ".join(quote(word) for word in words) + "\n")


def block_grammar(language: str = "python", *, lines: int = _LINES) -> Grammar:
    """Return the grammar of an answer that is one fenced block of code."""
    rules = Rules()
    rules.add("root", f"{quote(f'```{language}' + chr(10))} {_code(lines, rules)}")
    return Grammar(gbnf=rules.text())


def _blocks(shape: Shape, rules: Rules) -> str:
    """Return the rule for the fenced blocks after a header."""
    if not 0 <= shape.least <= shape.most:
        raise ModelProblem(f"{shape.header.__name__}: {shape.least} to {shape.most} blocks")
    out, close = "", ""
    for number in range(1, shape.most + 1):
        label = f" {number}" if shape.most > 1 else ""
        block = (
            f"{quote(f'{chr(10)}```{shape.language}{label}{chr(10)}')} {_code(shape.lines, rules)}"
        )
        if number <= shape.least:
            out += f" {block}"
        else:
            out += f" ({block}"
            close += ")?"
    return out + close


def _code(lines: int, rules: Rules) -> str:
    """Return the rule for the lines of a block and the fence that closes it."""
    if not 1 <= lines <= MOST:
        raise ModelProblem(f"a block of {lines} lines: a grammar can have 1 to {MOST}")
    return f"{rules.use('line')}{{1,{lines}}} {quote('```')}"


def _schema(shapes: Sequence[Shape], heads: Sequence[list[Field]]) -> str:
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
