"""Writes the JSON schema of the report, and docs/json.md, from the classes and their comments.

python docs/schema.py
"""

from __future__ import annotations

import inspect
import json
import re
import sys
from collections.abc import Iterator
from enum import Enum
from pathlib import Path
from typing import Any

import msgspec

from pytest_brt.render.report import Report

SCHEMA = Path(inspect.getfile(Report)).with_name("report.schema.json")
PAGE = Path(__file__).with_name("json.md")

HEAD = """\
# The JSON report

`--brt-report FILE.json` writes everything a run found out as one JSON object, whatever the exit
code but 4 (usage error). Keys are only ever added within one `schema`
number; a change that breaks a reader raises it. The package has the JSON schema, which
has all of this page for programs, as `pytest_brt/render/report.schema.json`.

Where a model was asked in dialogues, `FILE.trajectories.jsonl` beside it has a line for each: `of`
(`attempt` or `repair`), `issue`, `strategy` and `index` say whose it is; then `ending`, `reason`,
and `steps`, each with its `action`, `arguments`, `reply` and `observation`, whether it was carried
out (`done`), its `seconds` without those of the model, and the `diffs` that it made of the project.

Decide by `status`, `code` and figures. What is in words (`text`, `note`, …) is for people, and may
change with any version.
"""
WORDS = """
## Words

| what | one of |
|---|---|
"""
#: Python's names of types, and JSON's.
NAMES = {
    "str": "text",
    "bool": "true or false",
    "int": "number",
    "ints": "numbers",
    "float": "number",
    "floats": "numbers",
    "None": "null",
    " | ": " or ",
}
KEYS = "| key | type | what it is |\n|---|---|---|\n"
FIELD = re.compile(r"    (?P<name>[a-z]\w*): (?P<kind>[^=\n]+)")


def classes() -> dict[str, type]:
    """Return all classes that a report is made of, by their names."""
    names = msgspec.json.schema(Report)["$defs"]
    known = {
        name: value
        for module in list(sys.modules.values())
        if module.__name__.startswith(("pytest_brt.types", "pytest_brt.render.report"))
        for name, value in vars(module).items()
        if inspect.isclass(value)
    }
    return {name: known[name] for name in names}


def fields_of(kind: type) -> Iterator[tuple[list[tuple[str, str]], str]]:
    """Yield names and types of the fields that share a comment, and the comment."""
    names: list[tuple[str, str]] = []
    words: list[str] = []
    ended = True
    for line in inspect.getsource(kind).splitlines():
        field = FIELD.fullmatch(line.split(" = ")[0]) if "ClassVar" not in line else None
        if line.startswith("    #: "):
            if ended and names:
                yield names, " ".join(words)
                names, words = [], []
            words.append(line.removeprefix("    #: "))
            ended = False
        elif field:
            names.append((field["name"], field["kind"]))
            ended = True
        elif line.startswith(("    def ", "    @")):
            break
    if names:
        yield names, " ".join(words)


def schema() -> str:
    """Return the JSON schema, with what the comments say."""
    # Versions of msgspec differ in the order of alternatives.
    text = json.dumps(msgspec.json.schema(Report))
    found = json.loads(text, object_hook=in_order)
    found["title"] = "Report of pytest-brt"
    for name, kind in classes().items():
        properties: dict[str, Any] = found["$defs"][name].get("properties", {})
        for names, words in fields_of(kind) if properties else ():
            for field, _ in names:
                properties[field] |= {"description": words} if words else {}
    return json.dumps(found, indent=1, ensure_ascii=False, sort_keys=True) + "\n"


def in_order(part: dict[str, Any]) -> dict[str, Any]:
    """Return a part of a schema with its alternatives in one order, null as the last."""
    if "anyOf" in part:
        part["anyOf"].sort(key=lambda one: (one.get("type") == "null", json.dumps(one)))
    return part


def shown(kind: str) -> str:
    """Return a type as a reader of JSON knows it."""
    text = re.sub(r"tuple\[(\w+), \.\.\.\]", r"list of \1", kind)
    text = re.sub(r"tuple\[(\w+), \1\]", r"list of two \1s", text)
    text = re.sub(r"Literal\[(\w+)\]", r"`\1`", text)
    for ours, theirs in NAMES.items():
        text = re.sub(rf"\b{ours}\b" if ours.isalpha() else re.escape(ours), theirs, text)
    return re.sub(r"\b([A-Z]\w+)\b", _linked, text).replace("|", "\\|")


def _linked(name: re.Match[str]) -> str:
    kind = classes().get(name[0])
    if kind is None or issubclass(kind, Enum):
        return name[0]
    return f"[{name[0]}](#{name[0].lower()})"


def summary(kind: type) -> str:
    """Return the first sentence of what a class says of itself."""
    first = (kind.__doc__ or "").split("\n\n", maxsplit=1)[0]
    return escaped(" ".join(first.split()))


def escaped(text: str) -> str:
    """Return a text as a cell of a table."""
    return text.replace("|", "\\|")


def page() -> str:
    """Return docs/json.md."""
    kinds = classes()
    plain = [k for k in kinds.values() if not issubclass(k, Enum)]
    words = [k for k in kinds.values() if issubclass(k, Enum)]
    order = sorted(
        plain, key=lambda kind: (kind is not Report, kind.__module__, kind.__name__)
    )
    parts = [HEAD]
    for kind in order:
        parts.append(f"\n## {kind.__name__}\n\n{summary(kind)}\n\n{KEYS}")
        for names, text in fields_of(kind):
            keys = ", ".join(f"`{name}`" for name, _ in names)
            types = ", ".join(dict.fromkeys(shown(name) for _, name in names))
            parts.append(f"| {keys} | {types} | {escaped(text)} |\n")
    parts.append(WORDS)
    for kind in sorted(words, key=lambda kind: kind.__name__):
        values = ", ".join(f"`{member.value}`" for member in kind)
        parts.append(f"| {summary(kind)} (`{kind.__name__}`) | {values} |\n")
    return "".join(parts)


if __name__ == "__main__":
    SCHEMA.write_text(schema(), "utf-8")
    PAGE.write_text(page(), "utf-8")
