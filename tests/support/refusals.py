"""Sessions that are to end at once, in one line: several in one process, one after the other."""

from __future__ import annotations

import json
import sys

import pytest

from tests.support.trees import tree_hash

#: Runs pytest for each list of arguments, and says how that ended.
SESSIONS = """
import contextlib, io, json, sys, pytest
for arguments in json.loads(sys.argv[1]):
    shown, told = io.StringIO(), io.StringIO()
    with contextlib.redirect_stdout(shown), contextlib.redirect_stderr(told):
        code = pytest.main(arguments)
    print(json.dumps([code, [line for line in told.getvalue().splitlines() if line.strip()]]))
"""


def assert_refused(project: pytest.Pytester, messages: dict[str, str], *always: str) -> None:
    """Start a session for each of the options; it ends at once, in one line that has the message.

    Options are separated by blanks, and come after those that are `always` given.
    """
    before = tree_hash(project.path)
    sessions = [[*always, *options.split()] for options in messages]
    done = project.run(sys.executable, "-c", SESSIONS, json.dumps(sessions))
    for line, message in zip(done.outlines, messages.values(), strict=True):
        code, errors = json.loads(line)
        assert (code, len(errors)) == (4, 1), errors
        assert message in errors[0], errors
    assert tree_hash(project.path) == before
