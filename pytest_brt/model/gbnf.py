"""Rules of llama.cpp's grammar notation for values of a type, as JSON.

See https://github.com/ggml-org/llama.cpp/blob/master/grammars/README.md. Every rule here is
bounded or ends a line, and strings hold neither control characters nor lone surrogates.
"""

from __future__ import annotations

import json
from collections.abc import Sequence

from msgspec import inspect

from pytest_brt.errors import ModelProblem

#: Characters of a string that states no `max_length`.
_LENGTH = 300
#: llama.cpp unrolls repetitions and dies of a stack overflow above about 2,000.
MOST = 1000
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
        needs = {"char": ("unit",), "line": ("any", "other")}
        if name not in self.rules:
            for other in needs.get(name, ()):
                self.use(other)
            self.rules[name] = _RULES[name]
        return name

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
    if not isinstance(info, inspect.StructType | inspect.DataclassType):
        raise ModelProblem(f"a reply's header must be a struct or a dataclass, not {info!r}")
    fields: list[Field] = [(field.encode_name, field.type) for field in info.fields]
    names = {name for name, _ in fields}
    missing = [name for name in lead if name not in names]
    if missing:
        raise ModelProblem(f"{info.cls.__name__} has no field {missing[0]!r} to lead with")
    head = [next(field for field in fields if field[0] == name) for name in lead]
    if isinstance(info, inspect.StructType) and info.tag_field is not None:
        head.append((info.tag_field, json.dumps(info.tag)))
    return head + [field for field in fields if field[0] not in lead]


def pairs_rule(fields: list[Field], rules: Rules) -> str:
    """Return the rule for the fields of an object, separators between them."""
    parts = []
    for number, (name, kind) in enumerate(fields):
        key = ("" if number == 0 else ", ") + json.dumps(name) + ": "
        if isinstance(kind, str):
            parts.append(quote(key + kind))
        else:
            parts.append(f"{quote(key)} {value_rule(kind, rules, name)}")
    return " ".join(parts)


def value_rule(  # one return per kind of type
    info: inspect.Type, rules: Rules, where: str
) -> str:
    """Return the rule for a value of type `info`; `where` names the field in errors."""
    match info:
        case inspect.Metadata():
            return value_rule(info.type, rules, where)
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
            return f"({' | '.join(value_rule(kind, rules, where) for kind in info.types)})"
        case inspect.ListType() | inspect.VarTupleType():
            return _list(info, rules, where)
        case inspect.TupleType():
            items = f" {quote(', ')} ".join(value_rule(k, rules, where) for k in info.item_types)
            return f"{quote('[')} {items} {quote(']')}"
        case inspect.StructType() | inspect.DataclassType():
            pairs = pairs_rule(fields_of(info, ()), rules)
            return " ".join(part for part in (quote("{"), pairs, quote("}")) if part)
    raise ModelProblem(f"{where}: a grammar cannot say {type(info).__name__}")


def _one_of(values: Sequence[str]) -> str:
    return f"({' | '.join(quote(value) for value in values)})"


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


def _string(info: inspect.StrType, rules: Rules, where: str) -> str:
    if info.pattern is not None:
        raise ModelProblem(f"{where}: a grammar cannot say pattern={info.pattern!r}")
    least = info.min_length or 0
    most = info.max_length if info.max_length is not None else max(_LENGTH, least)
    if most > MOST:
        raise ModelProblem(
            f"{where}: max_length {most} is more than {MOST}, which llama.cpp's grammars "
            "do not survive (put long text in a fenced block)"
        )
    return rf'"\"" {rules.use("char")}{{{least},{most}}} "\""'


def _list(info: inspect.ListType | inspect.VarTupleType, rules: Rules, where: str) -> str:
    least = info.min_length or 0
    most = info.max_length if info.max_length is not None else max(_ITEMS, least)
    if most > MOST:
        raise ModelProblem(f"{where}: max_length {most} is more than {MOST}")
    name = rules.add(f"item{len(rules.rules)}", "")
    rules.add(name, value_rule(info.item_type, rules, where))
    if most == 0:
        return quote("[]")
    more = f"({quote(', ')} {name}){{{max(least - 1, 0)},{most - 1}}}" if most > 1 else ""
    filled = f"{quote('[')} {name} {more} {quote(']')}"
    return filled if least else f"({quote('[]')} | {filled})"


def whole_numbers(low: int, high: int) -> str:
    """Return the grammar rule of the decimal integers from `low` to `high`, both included.

    >>> whole_numbers(7, 32)
    '[7-9] | "1" [0-9] | "2" [0-9] | "3" [0-2]'
    >>> whole_numbers(-1, 0)
    '"-1" | "0"'
    """
    parts = []
    if low < 0:
        parts += ['"-' + part[1:] if part[0] == '"' else '"-" ' + part
                  for part in _ranges(max(1, -high), -low)]  # fmt: skip
    if high >= 0:
        parts += _ranges(max(0, low), high)
    return " | ".join(parts)


def _ranges(low: int, high: int) -> list[str]:
    """Return one alternative for each run of numbers that differ in their last digits only."""
    parts = []
    while low <= high:
        # The largest block of 10**n numbers, or of k such blocks, that begins at `low`.
        size = 1
        while low % (size * 10) == 0 and low + size * 10 - 1 <= high and low > 0:
            size *= 10
        digit = low // size % 10
        count = min((high - low + 1) // size, 10 - digit)
        head = str(low // size)[:-1]
        last = f"[{digit}-{digit + count - 1}]" if count > 1 else f'"{digit}"'
        if head:
            last = f'"{head}{digit}"' if count == 1 else f'"{head}" {last}'
        zeros = len(str(size)) - 1
        parts.append(last + (" [0-9]" if zeros == 1 else f" [0-9]{{{zeros}}}" if zeros else ""))
        low += count * size
    return parts
