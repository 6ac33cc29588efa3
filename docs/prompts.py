"""Writes docs/prompts.md from the prompts themselves, so that the two cannot differ.

python docs/prompts.py > docs/prompts.md
"""

from __future__ import annotations

from pathlib import Path

import jinja2
from jinja2 import meta

from pytest_brt.agent.prompts import BUILT_IN, SUFFIX

HEAD = """\
# Prompts: what is a model told?

All that a model is told stands in jinja2 files in `pytest_brt/prompts/`. `--brt-prompts DIR` takes
files with the same path in `DIR` instead, as in `DIR/agent/system.j2`; a file that replaces none is
a usage error. A replacement can build on what it replaces, as in `DIR/libro/user.j2`:

```jinja
{% include "built-in/libro/user.j2" %}

Tests of this project take their data from the fixture `corpus`.
```

A name without a value is an error. The table has the names that a prompt is given, beside those of
prompts that it includes. Values are put in as they are, so a report cannot change a prompt;
`{{ code | fenced("python") }}` puts code between fences that it cannot close itself. A file of
examples is several messages, each below a line `=== user` or `=== assistant`.

| file | what it is for | names that have a value |
|---|---|---|
"""

#: What each folder's prompts are for, and each file that its name does not explain.
ABOUT = {
    "agent": "BRT Agent ([the agent](writing-tests.md#agent))",
    "agent/edit": "the second question of `edit`: writes a test, or a patch that adds one",
    "agent/examples": "three dialogues, one of which ends without a test; part of `system`",
    "free_agent": "the agent of `auto`, which writes whole tests ([auto](writing-tests.md))",
    "invert": "pass, then invert ([how](writing-tests.md#invert))",
    "invert/plan": "what to call, and what is wrong with it now",
    "invert/test": "writes a passing test, corrects one, or turns its assertion round",
    "judge": "the questions about a test that fails ([the judge](writing-tests.md#the-judge))",
    "judge/sentence": "the first: which words of the report ask for each demand of the test",
    "judge/other_fix": "the second: does the test pass on the likeliest other fix",
    "libro": "many samples ([how](writing-tests.md#libro))",
    "libro/examples": "two reports and their tests, in turns, where no code is shown",
    "libro/repair": "corrects a test that is broken by an import, a name or a fixture",
    "places": "chooses the three likeliest of the places where the bug may be",
    "free_repair": "the repair strategy `auto` ([repair](repair.md))",
    "free_repair/versions": "asks for other versions of a fix that fails, in one answer",
    "repair": "the repair agent ([repair](repair.md))",
    "repair/bug": "report, failing test and place; part of `system`",
    "repair/edit": "writes an edit of one file",
    "repair/method": "writes a method from the code before it",
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
