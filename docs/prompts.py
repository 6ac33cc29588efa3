"""Writes docs/prompts.md from the prompts themselves, so that the two cannot differ.

python docs/prompts.py > docs/prompts.md
"""

from __future__ import annotations

from pathlib import Path

import jinja2
from jinja2 import meta

from pytest_brt.agent.prompts import BUILT_IN, SUFFIX

HEAD = """\
# Prompts

All that a model is told stands in jinja2 files in `pytest_brt/prompts/`. `--brt-prompts DIR` takes
files with the same path in `DIR` instead of them, as in `DIR/agent/system.j2`; a file that replaces
none is a usage error that lists the names. A replacement can build on what it replaces, and put
your own words before or after it, as in `DIR/libro/user.j2`:

```jinja
{% include "built-in/libro/user.j2" %}

Tests of this project take their data from the fixture `corpus`.
```

A name that has no value is an error, not an empty text. The names that a prompt is given are in the
table, and those of a prompt that it includes besides. Values are put in as they are, so a report
cannot change a prompt; `{{ code | fenced("python") }}` puts code between fences that it cannot
close itself. A file of examples is several messages, each below a line `=== user` or
`=== assistant`. A prompt that does not fit the model's context is shortened part by part, the
report last, and the result says so. `--brt-record DIR` keeps each prompt as it was sent.

| file | what it is for | names that have a value |
|---|---|---|
"""

TAIL = """
## History

Tokens of the first prompt, told of all that is found out before, as the tokenizer of SmolLM2 counts
them (`bench/prompts.py`): the three bugs of `examples/`, and ten reports of other projects.

| | libro | invert | agent |
|---|---|---|---|
| examples, before | 5,414 / 2,661 / 5,406 | 2,385 / 1,156 / 2,104 | 7,259 / 4,692 / 6,505 |
| examples, since | 2,771 / 2,153 / 2,951 | 1,402 / 1,200 / 1,496 | 3,833 / 3,147 / 3,961 |
| ten reports, median and most, before | 4,602 and 5,137 | 1,830 and 2,110 | 5,848 and 7,335 |
| ten reports, since | 2,285 and 2,782 | 1,248 and 1,383 | 3,320 and 3,887 |

SmolLM2-135M is far too small for this. On the bug of tabulate it ends by itself in each strategy,
within a budget of four minutes, and nothing that it wrote was taken for a right test: of six
samples two held tests, and none stood; it could not turn the test of `invert` round, which a rule
then did; as the agent it wrote nothing. Of replay's tests, which are right, it said no, and that
did not count, because the words that it quoted are not the report's.

A trial with a capable model that saw nothing but the prompts: ten reports of ten projects for which
replay finds no right test (dacite 176, jsonschema 1257, omegaconf 238, parse 125, parso 51, peewee
1473, pypika 335, tablib 583, validators 107, vulture 413), each with two samples of `libro` and one
`invert`. With the true fix 31 of 31 candidates passed, and those at rank 1 in ten of ten. It took
69 prompts, 5 to 11 a report. The questions about a test that fails:

| asked about | yes | right of these | no | right of these | not counted |
|--:|--:|--:|--:|--:|--:|
| 11 | 9 | 9 | 1 | 0 | 1 |

Asked about 22 of replay's tests on 14 reports, 9 right and 13 wrong, it said yes of all right ones
and of one wrong one, and no of ten wrong ones; two answers were not counted.

It found unclear, and this has been changed since: that a test to be turned round "was written to
assert the wrong behaviour" when it was about something else; that a function is wanted where the
tests shown are methods; that the words that say what should happen may be those that say what goes
wrong; and the third question. It also missed code that decides (the operator `isin` of pypika, the
tokenizer of parso), and found tests of other subjects among those shown. This is still so.

A trial of repairs in the same way, as a study (`--brt-stages repair --brt-strategy replay,libro
--brt-samples 1 --brt-steps 15 --brt-variants 2`, a context of 4,096 tokens): six bugs drawn by a
seed, one a project; the hidden tests of one (peewee 1572) could not be run here.

| bug | hidden tests ask for | repairagent, with / without test | passerine, with / without |
|---|---|---|---|
| parse 125 | what the report does | right / right | right / right |
| vulture 413 | what the report does | right / right | right / right |
| jsonpatch 55 | more than the report | not right / not right | not right / not right |
| anytree 125 | a new exception class | not right / not right | not right / not right |
| omegaconf 348 | what the report does | none / wrong | right, not kept / wrong |

A right fix took 2 to 5 steps, the whole trial 122 prompts. The fixes of omegaconf that were right
broke two existing tests, which the true fix changes. One model answered all runs of a bug one
after another, so the later ones knew what the earlier ones had found: compare bugs, not columns.
What it showed to be wrong has been mended: without a failing test no variant of a fix was ever
kept; long failures left no room for the first step (omegaconf, given the test); how variants
failed was not told; a kept fix was left out of the next prompt, which did not say that a better
one starts without it; a fix that nothing tests was said to pass; a right fix was thrown away where
it breaks existing tests; with 4,096 tokens what was read was soon left out, so that two functions
were seldom seen together (about twice as much is shown now); passerine was told to run a source
file for the examples in it, or a test file for a single test that was near by chance. Still so:
places found by failing tests put code that formats an error before the code that raises it.
"""

#: What each folder's prompts are for, and each file that its name does not explain.
ABOUT = {
    "agent": "BRT Agent ([the agent](writing-tests.md#agent))",
    "agent/edit": "the second question of `edit`: writes one test function",
    "agent/examples": "two dialogues that come before it, in turns; one ends without a test",
    "invert": "pass, then invert ([how](writing-tests.md#invert))",
    "invert/plan": "what to call, and what is wrong with it now",
    "invert/write": "writes a passing test",
    "invert/refine": "corrects a test that does not pass",
    "invert/flip": "turns the assertion round",
    "judge": "the questions about a test that fails ([the judge](writing-tests.md#the-judge))",
    "judge/input": "the first: is the test about what the report complains about",
    "judge/value": "the second: does the report support what the test asserts",
    "judge/other": "the third: is there a correct fix that fails the test",
    "libro": "many samples ([how](writing-tests.md#libro))",
    "libro/examples": "two reports and their tests, in turns, where no code is shown",
    "libro/repair": "corrects a test that is broken by an import, a name or a fixture",
    "places": "chooses the three likeliest of the places where the bug may be",
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
    return HEAD + "\n".join(rows) + "\n" + TAIL


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
