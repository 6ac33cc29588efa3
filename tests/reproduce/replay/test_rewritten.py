"""Reports about tools that write a file anew, and about what tools say of a file."""

from __future__ import annotations

import pytest

from pytest_brt.execute.engine import Engine
from pytest_brt.types import OracleKind
from tests.reproduce.replay.test_replay import attempt, candidates

FILE = "`a.py`:\n\n```python\nx = 1  # one\ny = 2   \n```\n\nRunning `pkg --trim a.py`.\n\n"
ACTUAL = "Actual result:\n\n```python\nx = 1\ny = 2\n```\n\n"
EXPECTED = "Expected result:\n\n```python\nx = 1  # one\ny = 2\n```\n"
SESSION = """\
```
$ cat a.py
x = 1  # one
$ pkg --trim a.py
Trimming a.py
$ cat a.py
x = 1
```
"""


def claims(engine: Engine, report: str) -> list[tuple[OracleKind, str]]:
    found = []
    for item in candidates(attempt(engine, f"Trimming loses comments\n\n{report}")):
        last = (item.test.source or "").rstrip().split("\n")[-1].strip()
        found.append((item.test.oracle.kind, last))
    return found


def test_what_becomes_of_a_file_is_forbidden_and_what_should_is_demanded(engine: Engine) -> None:
    assert claims(engine, FILE + ACTUAL + EXPECTED) == [
        (OracleKind.EQUALS, r'assert written == "x = 1  # one\ny = 2\n"'),
        (OracleKind.NO_PRINT, r'assert written != "x = 1\ny = 2\n"'),
    ]
    assert [kind for kind, _ in claims(engine, FILE + ACTUAL)] == [OracleKind.NO_PRINT]


def test_a_second_look_at_a_file_shows_what_it_became(engine: Engine) -> None:
    assert claims(engine, SESSION) == [(OracleKind.NO_PRINT, r'assert written != "x = 1\n"')]


@pytest.mark.parametrize(
    "report",
    [
        # It becomes something else than the report shows, or what it should.
        FILE + ACTUAL.replace("x = 1", "x = 7") + EXPECTED,
        FILE + EXPECTED,
        FILE + "This works:\n\n" + ACTUAL.partition("\n\n")[2],
        SESSION.replace("# one", ""),
    ],
)
def test_other_results_make_no_claim(engine: Engine, report: str) -> None:
    assert [last for _, last in claims(engine, report) if "written" in last] == []


LONG = "x = 1\n" * 9 + "import decimal\n"


@pytest.mark.parametrize(
    "report",
    [
        # The message is quoted in a sentence, or printed by a tool that calls this one.
        f"```python\n{LONG}```\n\nA false positive: `reported.py:10: error: line is long`.\n",
        f"```\n→ cat a.py\n{LONG}→ pkg a.py\na.py:10: error: line is long\n```\n",
        f"```\n$ cat a.py\n{LONG}$ lintall a.py\na.py:10: error: line is long\n```\n",
    ],
)
def test_a_message_is_known_wherever_it_stands(engine: Engine, report: str) -> None:
    found = claims(engine, report)
    assert [kind for kind, _ in found] == [OracleKind.NO_PRINT]
    assert "line is long" in found[0][1]


def test_a_tool_that_reads_its_input(engine: Engine) -> None:
    session = "```\n$ echo 'x = 1  # one' | pkg -\nx = 1 # nothing else here\n```\n"
    made = candidates(attempt(engine, f"It replaces comments with nothing else here\n\n{session}"))
    source = made[0].test.source or ""
    assert 'given = "x = 1  # one\\n"' in source
    assert 'assert "x = 1 # nothing else here" not in done.stdout + done.stderr' in source
