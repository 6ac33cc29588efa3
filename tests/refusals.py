"""Sessions that are to end at once, in one line: several in one process, one after the other."""

from __future__ import annotations

import json
import sys

import pytest

from tests.conftest import tree_hash

#: Runs pytest for each list of arguments, and says how that ended.
SESSIONS = """
import contextlib, io, json, sys, pytest
for arguments in json.loads(sys.argv[1]):
    shown, told = io.StringIO(), io.StringIO()
    with contextlib.redirect_stdout(shown), contextlib.redirect_stderr(told):
        code = pytest.main(arguments)
    print(json.dumps([code, [line for line in told.getvalue().splitlines() if line.strip()]]))
"""


def assert_refused(
    project: pytest.Pytester, messages: dict[tuple[str, ...], tuple[str, ...]]
) -> None:
    """Start sessions with these arguments; each ends at once, in one line that has its words."""
    before = tree_hash(project.path)
    done = project.run(sys.executable, "-c", SESSIONS, json.dumps(list(messages)))
    for line, words in zip(done.outlines, messages.values(), strict=True):
        code, errors = json.loads(line)
        assert (code, len(errors)) == (4, 1), errors
        assert all(word in errors[0] for word in words), errors
    assert tree_hash(project.path) == before
