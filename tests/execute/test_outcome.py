"""What each level of isolation can be the cause of, and tests that never got to their body."""

from __future__ import annotations

from dataclasses import replace

import pytest

from pytest_brt.execute.engine import TestTarget
from pytest_brt.execute.process import Event, Places, ToldException
from pytest_brt.execute.verdict import Scene, broken, is_denial, shortly
from pytest_brt.types import Raised, Verdict

SCENE = Scene(
    target=TestTarget(id="t", path="tests/test_x.py", node="test_a"),
    places=Places(tree="/copy", root="/project"),
)
LIMITS = {"MemoryError", "EFBIG", "EMFILE"}
COUNTS = {"EAGAIN", "ENOMEM"}
WRITING = {"EROFS", "EACCES", "EPERM", "ENOSPC", "EDQUOT"}
NETWORK = {"ENETUNREACH", "ENETDOWN", "EADDRNOTAVAIL", "gaierror"}


@pytest.mark.parametrize(
    ("level", "denials"),
    [
        ("none", LIMITS),
        ("process", LIMITS | COUNTS),
        ("landlock", LIMITS | COUNTS | WRITING | NETWORK),
        ("ns", LIMITS | COUNTS | WRITING | NETWORK),
    ],
)
def test_each_level_denies_what_it_can(level: str, denials: set[str]) -> None:
    for name in (*LIMITS, *COUNTS, *WRITING, *NETWORK, "ENOENT", ""):
        told = ToldException(type="OSError", message="m", denied=name)
        assert is_denial(replace(SCENE, level=level), told) is (name in denials)


def test_what_never_got_to_its_body_is_broken_and_says_by_what() -> None:
    told = ToldException(
        type="OSError", message="no /copy/a\nmore", frames=(("/copy/a.py", 3, "f"),)
    )
    outcome = broken(SCENE, Event(event="collect_error", raised=told), "setup failed")
    assert (outcome.verdict, outcome.reason) == (
        Verdict.BROKEN,
        "setup failed: OSError: no /project/a",
    )
    assert outcome.raised is not None
    assert outcome.raised.frames[0].path == "a.py"


def test_what_the_sandbox_denied_is_said_first() -> None:
    event = Event(event="report", raised=ToldException(type="OSError", message="m", denied="EROFS"))
    found = broken(replace(SCENE, level="ns"), event, "setup failed")
    assert found.reason == "sandbox: EROFS: setup failed: OSError: m"
    assert broken(SCENE, event, "setup failed").reason == "setup failed: OSError: m"


@pytest.mark.parametrize(
    ("message", "said"), [("", "E"), (" \n", "E"), ("a\nb", "E: a"), ("\n a \nb", "E: a ")]
)
def test_an_exception_in_short_is_its_type_and_first_line(message: str, said: str) -> None:
    assert shortly(Raised(type="E", message=message)) == said
