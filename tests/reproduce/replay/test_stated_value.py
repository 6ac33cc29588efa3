"""However a report states the right value, a test asks for it."""

from __future__ import annotations

import pytest

from pytest_brt.execute.engine import Engine
from pytest_brt.types import OracleKind
from tests.reproduce.replay.project import attempt, candidates

CODE = "```python\nfrom pkg.core import double\ndouble(2)\n```\n"
SAID = (
    "This returns `5` but should return `4`.",
    "I get 5, I expect 4.",
    "Expected: 4\nActual: 5",
    "**Expected behavior**\n\n4\n\n**Actual behavior**\n\n5",
    "The result is 5 instead of 4.",
    "Expected output:\n\n```\n4\n```\n\nActual output:\n\n```\n5\n```",
)
SHOWN = ("from pkg.core import double\nprint(double(2))  # 5, expected 4",)


@pytest.mark.parametrize(
    "report", [*(f"{CODE}\n{words}" for words in SAID), *(f"```python\n{it}\n```" for it in SHOWN)]
)
def test_it_is_asked_for(engine: Engine, report: str) -> None:
    found = candidates(attempt(engine, f"double() is off\n\n{report}\n"))
    wanted = [it.test.source or "" for it in found if it.test.oracle.kind is OracleKind.EQUALS]
    assert wanted
    assert "== 4" in wanted[0] or '== "4"' in wanted[0]
