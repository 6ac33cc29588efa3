"""Writes docs/prompts.md from the prompts themselves, so that the two cannot differ.

python docs/prompts.py > docs/prompts.md
"""

from __future__ import annotations

from pathlib import Path

import jinja2
from jinja2 import meta

from pytest_brt.dialogue.prompts import BUILT_IN, SUFFIX

HEAD = """\
# Prompts

All that a model is told stands in jinja2 files in `pytest_brt/prompts/`. `--brt-prompts DIR` takes
files with the same path in `DIR` instead of them, as in `DIR/agent/system.j2`; a file that replaces
none is a usage error that lists the names. A replacement can build on what it replaces, and put
your own words before or after it, as in `DIR/libro/files.user.j2`, the question that is asked
where the buggy file is known:

```jinja
{% include "built-in/libro/files.user.j2" %}

Tests of this project take their data from the fixture `corpus`.
```

A name that has no value is an error, not an empty text. The names that a prompt is given are in the
table, and those of a prompt that it includes besides. Values are put in as they are, so a report
cannot change a prompt; `{{ code | fenced("python") }}` puts code between fences that it cannot
close itself. A prompt that does not fit the model's context is shortened part by part, the report
last, and the result says so. `--brt-record DIR` keeps each prompt as it was sent.

| file | what it is for | names that have a value |
|---|---|---|
"""

#: What each folder's prompts are for, and each file that its name does not explain.
ABOUT = {
    "agent": "BRT Agent ([the agent](writing-tests.md#the-agent))",
    "agent/edit": "the second question of `edit`: writes one test function",
    "agent/examples": "a dialogue shown to it, part of `system`",
    "invert": "pass, then invert ([how](strategies.md#invert))",
    "invert/plan": "what to call, and what is wrong with it now",
    "invert/write": "writes a passing test",
    "invert/refine": "mends a test that does not pass",
    "invert/flip": "turns the assertion round",
    "judge": "asks which sentence of the report an assertion rests on",
    "libro": "many samples ([how](strategies.md#libro))",
    "libro/example-1": "first example of a report and its test",
    "libro/example-2": "second example",
    "libro/files": "the question, with the buggy file and a test file",
    "libro/report": "the question, with the report alone",
    "libro/repair": "mends a test that is broken by an import, a name or a fixture",
    "repair": "the repair agent ([repair](repair.md))",
    "repair/bug": "report, failing test and place; part of `system`",
    "repair/edit": "writes an edit of one file",
    "repair/method": "writes one method again",
    "repair/passerine": "the strategy `passerine`",
    "repair/tail": "the part of the prompt that changes with each step",
    "repair/variants": "asks for variants of a fix that fails",
    "shared/bug": "what is known of the bug; part of others",
    "shared/facts": "what the report's code does now; part of others",
    "shared/report": "the report; part of others",
}


def render() -> str:
    """Return the page."""
    environment = jinja2.Environment(autoescape=False)
    environment.filters["fenced"] = str
    rows = []
    for path in sorted(BUILT_IN.rglob(f"*{SUFFIX}")):
        name = path.relative_to(BUILT_IN).as_posix()
        rows.append(f"| `{name}` | {about(name)} | {values(environment, path)} |")
    return HEAD + "\n".join(rows) + "\n"


def about(name: str) -> str:
    """Return what the prompt in the file `name` is for, and who says it."""
    stem, _, speaker = name.removesuffix(SUFFIX).partition(".")
    if stem.endswith(("/system", "/user")):
        stem, _, speaker = stem.rpartition("/")
    text = ABOUT[stem]
    return f"{text}: {speaker}" if speaker else text


def values(environment: jinja2.Environment, path: Path) -> str:
    """Return the names that the prompt in the file `path` uses."""
    names = meta.find_undeclared_variables(environment.parse(path.read_text("utf-8")))
    return ", ".join(f"`{name}`" for name in sorted(names))


if __name__ == "__main__":
    print(render(), end="")
