"""A report made to be slow to read is read in time that grows with it, not with its square."""

from __future__ import annotations

import time

import pytest

from pytest_brt.issue.load import read_issue
from pytest_brt.issue.read import read_report
from pytest_brt.localise.query import query_of

LENGTH = 60_000


@pytest.mark.parametrize(
    "token",
    [
        "a.b.",
        "www.",
        "A",
        "aA",
        "a_",
        "1.2.",
        "yield ",
        "    - a\n",
        "<a",
        "<!--",
        "`",
        "(",
        "File ",
        "> ",
        ">\n",
        "> a\n",
        ">>> a\n",
        "```\n",
    ],
)
def test_a_token_repeated_is_read(token: str) -> None:
    begin = time.process_time()
    issue = read_issue(f"word\n\n{token * (LENGTH // len(token))}", "x.md")
    read_report(issue)
    query_of(issue)
    assert time.process_time() - begin < 30  # what grows with the square takes a minute
