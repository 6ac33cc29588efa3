from __future__ import annotations

import pytest

from pytest_brt.render.levels import not_started_words, trouble_words
from pytest_brt.types.trouble import (
    Leak,
    Leaked,
    LevelTrouble,
    NoTrial,
    NotThere,
    OthersFiles,
    OtherSystem,
    Switch,
)


def test_each_level_is_named_with_its_reason_and_the_likely_cause() -> None:
    switch = Switch(path="/proc/sys/user/max_user_namespaces", value="0")
    troubles = (
        LevelTrouble(level="ns", why=NoTrial(said="ended"), switch=switch),
        LevelTrouble(level="landlock", why=OtherSystem(platform="darwin")),
    )
    assert trouble_words(troubles) == (
        "no ns: ended (user namespaces are off: /proc/sys/user/max_user_namespaces is 0); "
        "no landlock: needs Linux, and this is darwin"
    )
    assert trouble_words(()) == ""


def test_a_reason_that_is_the_project_s_is_said_to_be() -> None:
    trouble = LevelTrouble(level="ns", why=OthersFiles())
    assert "files are of another user or group" in trouble_words((trouble,))
    there = LevelTrouble(level="ns", why=NotThere(reason=NoTrial(said="no overlay")))
    assert trouble_words((there,)) == "no ns: not where the project lies: no overlay"


@pytest.mark.parametrize("leak", Leak)
def test_every_leak_has_words(leak: Leak) -> None:
    assert len(trouble_words((LevelTrouble(level="ns", why=Leaked(leak=leak)),))) > len("no ns: ")


def test_an_interpreter_that_does_not_start_is_named_with_its_level() -> None:
    assert not_started_words("/p/python", "ns", "ended") == (
        "'/p/python' does not start at the level 'ns': ended"
        " (choose another: --brt-python, or another level: --brt-sandbox)"
    )


def test_of_a_library_that_is_not_found_it_is_said_how_to_show_it() -> None:
    said = "error while loading shared libraries: libx.so: cannot open shared object file: No such"
    words = not_started_words("/p/python", "ns", said)
    assert words.startswith(f"'/p/python' does not start at the level 'ns': {said} (")
    assert "--brt-show DIR" in words
