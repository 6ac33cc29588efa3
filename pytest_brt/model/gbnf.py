"""Rules of llama.cpp's grammar notation for the fields of a header, as JSON.

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
