"""What each level of isolation can be the cause of, and tests that never got to their body."""

from __future__ import annotations

from dataclasses import replace

import pytest

from pytest_brt.execute.engine import TestTarget
from pytest_brt.execute.process import Event, Places, ToldException
from pytest_brt.execute.verdict import Scene, broken, is_denial
from pytest_brt.types import Verdict
from pytest_brt.types.cause import Phase, PhaseFailed

SCENE = Scene(
    target=TestTarget(id="t", path="tests/test_x.py", node="test_a"),
    places=Places(tree="/copy", root="/project"),
)
LIMITS = {"MemoryError", "EFBIG", "EMFILE"}
COUNTS = {"EAGAIN", "ENFILE", "ENOMEM", "ETOOMANYREFS"}
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
    outcome = broken(SCENE, Event(event="collect_error", raised=told), Phase.COLLECTION)
    assert (outcome.verdict, outcome.cause) == (
        Verdict.BROKEN,
        PhaseFailed(phase=Phase.COLLECTION),
    )
    assert outcome.raised is not None
    assert outcome.raised.message == "no /project/a\nmore"
    assert outcome.raised.frames[0].path == "a.py"


def test_what_the_sandbox_denied_is_told() -> None:
    event = Event(event="report", raised=ToldException(type="OSError", message="m", denied="EROFS"))
    found = broken(replace(SCENE, level="ns"), event, Phase.SETUP)
    assert found.cause == PhaseFailed(phase=Phase.SETUP, denied="EROFS")
    assert broken(SCENE, event, Phase.SETUP).cause == PhaseFailed(phase=Phase.SETUP)
