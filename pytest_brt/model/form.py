"""The form of a reply: a short JSON header, then code in fenced blocks, never inside JSON.

A model is asked for, as in::

    {"thought": "the parser drops the sign", "action": "edit", "path": "tests/test_a.py"}
    ```python
    def test_sign(): ...
    ```

The spelling of a header is fixed and its values are bounded (`gbnf`), so whatever the grammar lets
through can be read. Notation: grammars/README.md of ggml-org/llama.cpp.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import takewhile

from pytest_brt.model.base import Grammar

#: Characters that may stand in a JSON string as they are: no control characters.
_CHARS = r"[\x20-\x21\x23-\x5B\x5D-\x7E\u00A0-\uD7FF\uE000-\uFFFD\U00010000-\U0010FFFF]"
_STRING_RULES = {
    # A UTF-16 unit that is a character by itself.
    "unit": r"[0-9a-cA-CefEF] [0-9a-fA-F]{3} | [dD] [0-7] [0-9a-fA-F]{2}",
    "char": rf'{_CHARS} | "\\" (["\\/bfnrt] | "u" unit)',
}
_CODE_RULES = {
    "any": r"[\x09\x20-\x7E\u00A0-\uD7FF\uE000-\uFFFD\U00010000-\U0010FFFF]",
    "other": r"[\x09\x20-\x5F\x61-\x7E\u00A0-\uD7FF\uE000-\uFFFD\U00010000-\U0010FFFF]",
    # A line of code: anything that does not begin with three backticks.
    "line": r'(other any* | "`" (other any* | "`" (other any*)?)?)? "\n"',
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Text:
    """A string, by its length in characters."""

    longest: int
    shortest: int = 0

    def rule(self) -> str:
        """Return what it is in a grammar."""
        return rf'"\"" char{{{self.shortest},{self.longest}}} "\""'

    def schema(self) -> dict[str, object]:
        """Return what it is in a JSON schema."""
        return {"type": "string", "minLength": self.shortest, "maxLength": self.longest}

    def holds(self, value: object) -> bool:
        """Whether `value` is one."""
        return isinstance(value, str) and self.shortest <= len(value) <= self.longest


@dataclass(frozen=True, slots=True, kw_only=True)
class Number:
    """A whole number of at most so many digits."""

    digits: int = 5

    def rule(self) -> str:
        """Return what it is in a grammar."""
        return f'("0" | [1-9] [0-9]{{0,{self.digits - 1}}})'

    def schema(self) -> dict[str, object]:
        """Return what it is in a JSON schema."""
        return {"type": "integer", "minimum": 0, "maximum": 10**self.digits - 1}

    def holds(self, value: object) -> bool:
        """Whether `value` is one."""
        return isinstance(value, int) and 0 <= value < 10**self.digits


@dataclass(frozen=True, slots=True, kw_only=True)
class Choice:
    """One of a few words, or true or false."""

    words: tuple[str | bool, ...]

    def rule(self) -> str:
        """Return what it is in a grammar."""
        return f"({' | '.join(_quote(json.dumps(word)) for word in self.words)})"

    def schema(self) -> dict[str, object]:
        """Return what it is in a JSON schema."""
        return {"enum": list(self.words)}

    def holds(self, value: object) -> bool:
        """Whether `value` is one."""
        return value in self.words


#: A name, and what stands under it.
Field = tuple[str, Text | Number | Choice]


@dataclass(frozen=True, slots=True, kw_only=True)
class Header:
    """One kind of reply: the fields of its JSON, and the code that may follow."""

    #: In the order in which they are written; all of them are asked for.
    fields: tuple[Field, ...]
    #: Most fenced blocks after it; numbered where there may be more than one.
    blocks: int = 0
    #: Most lines of a block.
    lines: int = 400

    def read(self, text: str) -> Mapping[str, str] | None:
        """Return the fields of the JSON object in `text`; None where it is not such a header."""
        start, end = text.find("{"), text.rfind("}")
        try:
            found = json.loads(text[start : end + 1])
        except (ValueError, RecursionError):
            return None
        is_whole = all(value.holds(found.get(name)) for name, value in self.fields)
        return found if is_whole else None


def grammar_for(*headers: Header) -> Grammar:
    """Return the grammar of replies that begin with one of `headers`.

    Fields that all of them begin with are said once, as a thought that prepares the choice.
    """
    columns = zip(*(header.fields for header in headers), strict=False)
    common = [column[0] for column in takewhile(lambda column: len(set(column)) == 1, columns)]
    rules: dict[str, str] = {}
    for number, header in enumerate(headers):
        own = header.fields[len(common) :]
        between = [_quote(", ")] if common and own else []
        parts = [*between, *_pairs(own), _quote("}"), *_blocks(header)]
        rules[f"reply{number}"] = " ".join(parts)
    start = " ".join([_quote("{"), *_pairs(common)])
    rules["root"] = f"{start} ({' | '.join(rules)})"
    return Grammar(gbnf=_gbnf({**_STRING_RULES, **_CODE_RULES, **rules}), schema=_schema(headers))


def block_grammar(*, lines: int = 400) -> Grammar:
    """Return the grammar of an answer that is one fenced block of at most `lines` of Python."""
    return Grammar(gbnf=_gbnf({**_CODE_RULES, "root": _block("", lines)}))


def _pairs(fields: Iterable[Field]) -> list[str]:
    """Return the rules of an object's fields, with what stands between them."""
    parts: list[str] = []
    for name, value in fields:
        comma = ", " if parts else ""
        parts += [_quote(f"{comma}{json.dumps(name)}: "), value.rule()]
    return parts


def _blocks(header: Header) -> list[str]:
    """Return the rule for the blocks after a header, the later ones within the earlier."""
    rule = ""
    for number in range(header.blocks, 0, -1):
        label = f" {number}" if header.blocks > 1 else ""
        rule = f"({_quote(chr(10))} {_block(label, header.lines)} {rule})?"
    return [rule]


def _block(label: str, lines: int) -> str:
    return f"{_quote(f'```python{label}{chr(10)}')} line{{1,{lines}}} {_quote('```')}"


def _gbnf(rules: dict[str, str]) -> str:
    return "".join(f"{name} ::= {body}\n" for name, body in rules.items())


def _quote(text: str) -> str:
    """Return `text` as a literal of the notation."""
    escaped = text.replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n")
    return f'"{escaped}"'


def _schema(headers: Sequence[Header]) -> str:
    """Return the JSON schema of the headers, or "" where code may follow them.

    Servers that enforce a schema strictly want all fields required, and no others allowed.
    """
    if any(header.blocks for header in headers):
        return ""
    schemas = [
        {
            "type": "object",
            "properties": {name: value.schema() for name, value in header.fields},
            "required": [name for name, _ in header.fields],
            "additionalProperties": False,
        }
        for header in headers
    ]
    return json.dumps(schemas[0] if len(schemas) == 1 else {"anyOf": schemas})
