"""Checks a text against a grammar without llama.cpp, for backends that do not constrain.

The grammars that `grammar` makes are regular, so they translate into one regular expression.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator

from pytest_brt.errors import ModelProblem
from pytest_brt.model.base import Grammar
from pytest_brt.model.reply import ReplyProblem, fenced_blocks, first_object

_TOKEN = re.compile(
    r"""\s*(?: (?P<literal> "(?:[^"\\]|\\.)*" )
         | (?P<set> \[(?:[^\]\\]|\\.)*\] )
         | (?P<repeat> [*+?] | \{\d*(?:,\d*)?\} )
         | (?P<mark> [()|] )
         | (?P<name> [A-Za-z][A-Za-z0-9-]* ) )""",
    re.VERBOSE,
)
_ESCAPE = re.compile(r"\\(x[0-9a-fA-F]{2}|u[0-9a-fA-F]{4}|U[0-9a-fA-F]{8}|.)", re.DOTALL)
_PLAIN = {"n": "\n", "t": "\t", "r": "\r"}


def compile_grammar(gbnf: str) -> re.Pattern[str]:
    """Return the regular expression of the texts that `gbnf` allows.

    Raises:
        ModelProblem: a rule is not defined, refers to itself, or cannot be read.
    """
    rules = {}
    for line in gbnf.splitlines():
        name, found, body = line.partition("::=")
        if found:
            rules[name.strip()] = body
    return re.compile(_rule("root", rules, ()))


def _rule(name: str, rules: dict[str, str], above: tuple[str, ...]) -> str:
    if name not in rules or name in above:
        what = "refers to itself" if name in above else "is not defined"
        raise ModelProblem(f"the grammar's rule {name!r} {what}: it cannot be checked here")
    out = ""
    body, at = rules[name].rstrip(), 0
    while at < len(body):
        found = _TOKEN.match(body, at)
        if found is None:
            raise ModelProblem(f"the grammar's rule {name!r} cannot be read at {body[at:][:20]!r}")
        at = found.end()
        if found["literal"] is not None:
            out += f"(?:{re.escape(_plain(found['literal'][1:-1]))})"
        elif found["set"] is not None:
            out += _set(found["set"])
        elif found["name"] is not None:
            out += _rule(found["name"], rules, (*above, name))
        elif found["repeat"] is not None:
            out += found["repeat"]
        else:
            out += "(?:" if found["mark"] == "(" else found["mark"]
    return f"(?:{out})"


def _plain(text: str) -> str:
    """Resolve the escapes of a literal."""

    def letter(found: re.Match[str]) -> str:
        code = found[1]
        return chr(int(code[1:], 16)) if len(code) > 1 else _PLAIN.get(code, code)

    return _ESCAPE.sub(letter, text)


def _set(text: str) -> str:
    """Translate a character class."""
    body, out = text[1:-1], ""
    if body.startswith("^"):
        body, out = body[1:], "^"
    for part in re.findall(r"\\(?:x..|u.{4}|U.{8}|.)|.", body, re.DOTALL):
        out += "-" if part == "-" else re.escape(_plain(part))
    return f"[{out}]"


def as_grammar_has_it(text: str, grammar: Grammar) -> str | None:
    """Return `text` in the very form that `grammar` asks for, or None when it cannot have it.

    Spacing, the order of fields, and prose around header and blocks are put right; what is said
    is not touched.
    """
    pattern = compile_grammar(grammar.gbnf)
    for form in _forms(text, grammar):
        if pattern.fullmatch(form):
            return form
    return None


def _forms(text: str, grammar: Grammar) -> Iterator[str]:
    yield text
    yield text.strip()
    yield text.strip().strip("`*\"'.").strip()
    if not grammar.keys:
        blocks, _ = fenced_blocks(text)
        for block in blocks:
            yield f"```{grammar.language}\n{block}```"
        return
    try:
        value, rest = first_object(text)
    except ReplyProblem:
        return
    blocks, _ = fenced_blocks(rest)
    for keys in grammar.keys:
        if set(value) == set(keys):
            pairs = (f"{json.dumps(key)}: {_json(value[key])}" for key in keys)
            header = "{" + ", ".join(pairs) + "}"
            fence = f"\n```{grammar.language}"
            # With its code first: where code is optional, the header alone would do as well.
            if blocks:
                yield header + "".join(f"{fence}\n{block}```" for block in blocks)
                yield header + "".join(f"{fence} {n}\n{b}```" for n, b in enumerate(blocks, 1))
            yield header


def _json(value: object) -> str:
    text = json.dumps(value, ensure_ascii=False)
    return text.encode("utf-8", "ignore").decode().replace("\x7f", "")
