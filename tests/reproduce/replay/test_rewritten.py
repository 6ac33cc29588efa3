"""Reports about tools that write a file anew, and about what tools say of a file."""

from __future__ import annotations

import pytest

from pytest_brt.execute.engine import Engine
from pytest_brt.types import OracleKind
from tests.reproduce.replay.project import attempt, candidates


def claims(engine: Engine, report: str) -> list[tuple[OracleKind, str]]:
    found = []
    for item in candidates(attempt(engine, f"Trimming loses comments\n\n{report}")):
        last = (item.test.source or "").rstrip().split("\n")[-1].strip()
        found.append((item.test.oracle.kind, last))
    return found


LONG = "x = 1\n" * 9 + "import decimal\n"


@pytest.mark.parametrize(
    "report",
    [
        # The message is quoted in a sentence, or printed by a tool that calls this one.
        f"```python\n{LONG}```\n\nA false positive: `reported.py:10: error: line is long`.\n",
        f"`a.py`:\n\n```python\n{LONG}```\n\n```\n→ pkg a.py\na.py:10: error: line is long\n```\n",
        f"`a.py`:\n\n```python\n{LONG}```\n\n```\n$ lint a.py\na.py:10: error: line is long\n```\n",
    ],
)
def test_a_message_is_known_wherever_it_stands(engine: Engine, report: str) -> None:
    found = claims(engine, report)
    assert [kind for kind, _ in found] == [OracleKind.NO_PRINT]
    assert "line is long" in found[0][1]
