"""Makes grammars from types: a short JSON header, then code in fenced blocks, never inside JSON.

A model is asked for, as in::

    {"thought": "the parser drops the sign", "action": "edit", "path": "tests/test_a.py"}
    ```python
    def test_sign(): ...
    ```

The notation is llama.cpp's (https://github.com/ggml-org/llama.cpp/blob/master/grammars/README.md).
Every rule here is bounded or ends a line, strings hold neither control characters nor lone
surrogates, and the spelling of a header is fixed, so that what the grammar lets through always
decodes as the type it was made from.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TypeVar

import msgspec
from msgspec import inspect

from pytest_brt.errors import ModelProblem
from pytest_brt.model.base import Grammar
from pytest_brt.model.digits import whole_numbers

T = TypeVar("T")
#: Characters of a string that states no `max_length`.
_LENGTH = 300
#: llama.cpp unrolls repetitions and dies of a stack overflow above about 2,000.
_MOST = 1000
#: Lines of a block of code.
_LINES = 400
#: Items of a list that states no `max_length`.
_ITEMS = 8
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


@dataclass(frozen=True, slots=True, kw_only=True)
class Shape:
    """One kind of reply: a header of this type and the fenced blocks that follow it."""

    #: A msgspec.Struct (with a tag, where there are several) or a dataclass.
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
    rules = _Rules()
    infos = inspect.multi_type_info([shape.header for shape in shapes])
    heads = [_fields_of(info, lead) for info in infos]
    first = _pairs([field for field in heads[0] if field[0] in lead], rules)
    choices = []
    for number, (shape, fields) in enumerate(zip(shapes, heads, strict=True)):
        rest = [field for field in fields if field[0] not in lead]
        body = _pairs(rest, rules)
        between = _quote(", ") if first and body else ""
        end = _quote("}") + _blocks(shape, rules)
        choices.append(
            rules.add(f"shape{number}", " ".join(part for part in (between, body, end) if part))
        )
    start = _quote("{") + (f" {first}" if first else "")
    rules.add("root", f"{start} ({' | '.join(choices)})")
    return Grammar(
        gbnf=rules.text(),
        schema=_schema(shapes, heads),
        keys=tuple(tuple(name for name, _ in fields) for fields in heads),
        language=shapes[0].language,
    )


def choice_grammar(words: Sequence[str]) -> Grammar:
    """Return the grammar of an answer that is exactly one of `words`.

    Raises:
        ModelProblem: there are no words.
    """
    if not words:
        raise ModelProblem("a grammar needs at least one word to choose from")
    return Grammar(gbnf="root ::= " + " | ".join(_quote(word) for word in words) + "\n")


def block_grammar(language: str = "python", *, lines: int = _LINES) -> Grammar:
    """Return the grammar of an answer that is one fenced block of code."""
    rules = _Rules()
    rules.add("root", f"{_quote(f'```{language}' + chr(10))} {_code(lines, rules)}")
    return Grammar(gbnf=rules.text(), language=language)


class _Rules:
    """The rules of a grammar, in the order they were made."""

    def __init__(self) -> None:
        self.rules: dict[str, str] = {}

    def add(self, name: str, body: str) -> str:
        self.rules[name] = body
        return name

    def use(self, name: str) -> str:
        """Return `name` after making sure that it and what it needs are defined."""
        needs = {"char": ("unit",), "line": ("any", "other")}
        if name not in self.rules:
            for other in needs.get(name, ()):
                self.use(other)
            self.rules[name] = _RULES[name]
        return name

    def text(self) -> str:
        return "".join(f"{name} ::= {body}\n" for name, body in self.rules.items())


_Field = tuple[str, inspect.Type | str]


def _quote(text: str) -> str:
    """Return `text` as a literal of the notation."""
    out = text.replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n")
    return f'"{out}"'


def _fields_of(info: inspect.Type, lead: Sequence[str]) -> list[_Field]:
    """Return the fields of a header, `lead` first, then the tag, then the others."""
    if not isinstance(info, inspect.StructType | inspect.DataclassType):
        raise ModelProblem(f"a reply's header must be a struct or a dataclass, not {info!r}")
    fields: list[_Field] = [(field.encode_name, field.type) for field in info.fields]
    names = {name for name, _ in fields}
    missing = [name for name in lead if name not in names]
    if missing:
        raise ModelProblem(f"{info.cls.__name__} has no field {missing[0]!r} to lead with")
    head = [next(field for field in fields if field[0] == name) for name in lead]
    if isinstance(info, inspect.StructType) and info.tag_field is not None:
        head.append((info.tag_field, json.dumps(info.tag)))
    return head + [field for field in fields if field[0] not in lead]


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


def _value(  # one return per kind of type
    info: inspect.Type, rules: _Rules, where: str
) -> str:
    """Return the rule for a value of type `info`; `where` names the field in errors."""
    match info:
        case inspect.Metadata():
            return _value(info.type, rules, where)
        case inspect.BoolType():
            return '("true" | "false")'
        case inspect.NoneType():
            return '"null"'
        case inspect.IntType():
            return _integer(info, where)
        case inspect.FloatType():
            return _float(info, where)
        case inspect.StrType():
            return _string(info, rules, where)
        case inspect.LiteralType():
            return _one_of([json.dumps(value) for value in info.values])
        case inspect.EnumType():
            return _one_of([json.dumps(member.value) for member in info.cls])
        case inspect.UnionType():
            return f"({' | '.join(_value(kind, rules, where) for kind in info.types)})"
        case inspect.ListType() | inspect.VarTupleType():
            return _list(info, rules, where)
        case inspect.TupleType():
            items = f" {_quote(', ')} ".join(_value(k, rules, where) for k in info.item_types)
            return f"{_quote('[')} {items} {_quote(']')}"
        case inspect.StructType() | inspect.DataclassType():
            pairs = _pairs(_fields_of(info, ()), rules)
            return " ".join(part for part in (_quote("{"), pairs, _quote("}")) if part)
    raise ModelProblem(f"{where}: a grammar cannot say {type(info).__name__}")


def _one_of(values: Sequence[str]) -> str:
    return f"({' | '.join(_quote(value) for value in values)})"


def _integer(info: inspect.IntType, where: str) -> str:
    if info.multiple_of is not None:
        raise ModelProblem(f"{where}: a grammar cannot say multiple_of")
    low = info.ge if info.ge is not None else (info.gt + 1 if info.gt is not None else None)
    high = info.le if info.le is not None else (info.lt - 1 if info.lt is not None else None)
    if low is None:
        low = -999_999 if high is None else min(0, high) - 999_999
    if high is None:
        high = max(0, low) + 999_999
    if low > high:
        raise ModelProblem(f"{where}: no integer lies between {low} and {high}")
    return f"({whole_numbers(low, high)})"


def _float(info: inspect.FloatType, where: str) -> str:
    if (info.ge, info.le) == (0, 1):
        return '("0" ("." [0-9]{1,3})? | "1" (".0")?)'
    if any(bound is not None for bound in (info.ge, info.gt, info.le, info.lt, info.multiple_of)):
        raise ModelProblem(f"{where}: the only bounds of a float a grammar can say are 0 to 1")
    return '("-"? ("0" | [1-9] [0-9]{0,8}) ("." [0-9]{1,6})?)'


def _string(info: inspect.StrType, rules: _Rules, where: str) -> str:
    if info.pattern is not None:
        raise ModelProblem(f"{where}: a grammar cannot say pattern={info.pattern!r}")
    least = info.min_length or 0
    most = info.max_length if info.max_length is not None else max(_LENGTH, least)
    if most > _MOST:
        raise ModelProblem(
            f"{where}: max_length {most} is more than {_MOST}, which llama.cpp's grammars "
            "do not survive (put long text in a fenced block)"
        )
    return rf'"\"" {rules.use("char")}{{{least},{most}}} "\""'


def _list(info: inspect.ListType | inspect.VarTupleType, rules: _Rules, where: str) -> str:
    least = info.min_length or 0
    most = info.max_length if info.max_length is not None else max(_ITEMS, least)
    if most > _MOST:
        raise ModelProblem(f"{where}: max_length {most} is more than {_MOST}")
    name = rules.add(f"item{len(rules.rules)}", "")
    rules.add(name, _value(info.item_type, rules, where))
    if most == 0:
        return _quote("[]")
    more = f"({_quote(', ')} {name}){{{max(least - 1, 0)},{most - 1}}}" if most > 1 else ""
    filled = f"{_quote('[')} {name} {more} {_quote(']')}"
    return filled if least else f"({_quote('[]')} | {filled})"


def _blocks(shape: Shape, rules: _Rules) -> str:
    """Return the rule for the fenced blocks after a header."""
    if not 0 <= shape.least <= shape.most:
        raise ModelProblem(f"{shape.header.__name__}: {shape.least} to {shape.most} blocks")
    out, close = "", ""
    for number in range(1, shape.most + 1):
        label = f" {number}" if shape.most > 1 else ""
        block = (
            f"{_quote(f'{chr(10)}```{shape.language}{label}{chr(10)}')} {_code(shape.lines, rules)}"
        )
        if number <= shape.least:
            out += f" {block}"
        else:
            out += f" ({block}"
            close += ")?"
    return out + close


def _code(lines: int, rules: _Rules) -> str:
    """Return the rule for the lines of a block and the fence that closes it."""
    if not 1 <= lines <= _MOST:
        raise ModelProblem(f"a block of {lines} lines: a grammar can have 1 to {_MOST}")
    return f"{rules.use('line')}{{1,{lines}}} {_quote('```')}"


def _schema(shapes: Sequence[Shape], heads: Sequence[list[_Field]]) -> str:
    """Return the JSON schema of the headers, or "" when code may follow them.

    Fields stand in the order in which they are to be written. All are asked for and no others
    are allowed, which servers that enforce a schema strictly want to be told.
    """
    if any(shape.most for shape in shapes):
        return ""
    schemas, parts = msgspec.json.schema_components(
        [shape.header for shape in shapes], ref_template="#/$defs/{name}"
    )
    for part in parts.values():
        if "properties" in part:
            part |= {"required": list(part["properties"]), "additionalProperties": False}
    for (found,), fields in zip(
        (msgspec.json.schema_components([shape.header])[0] for shape in shapes), heads, strict=True
    ):
        part = parts[found["$ref"].rpartition("/")[2]]
        names = [name for name, _ in fields]
        part |= {"properties": {n: part["properties"][n] for n in names}, "required": names}
    schema = schemas[0] if len(schemas) == 1 else {"anyOf": list(schemas)}
    return json.dumps({**schema, "$defs": parts})
