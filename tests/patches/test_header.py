from __future__ import annotations

import pytest

from pytest_brt.patches.header import read_name, split_pair


@pytest.mark.parametrize(
    ("rest", "name"),
    [
        ("a/m.py", "a/m.py"),
        ("a/sp ace.py\t", "a/sp ace.py"),
        ("m.py\t2024-01-01 10:00:00 +0000", "m.py"),
        ("m.py 2024-01-01 10:00:00.5 +0000", "m.py"),
        ("m.py (revision 12)", "m.py"),
        ("notes 2024.py", "notes 2024.py"),
        ('"a/tab\\there.py"', "a/tab\there.py"),
        ("/dev/null", None),
        ("/dev/null\t1970-01-01 00:00:00 +0000", None),
    ],
)
def test_read_name(rest: str, name: str | None) -> None:
    assert read_name(rest) == name


@pytest.mark.parametrize(
    ("rest", "pair"),
    [
        ("a/m.py b/m.py", ("a/m.py", "b/m.py")),
        ("a/x b/x b/x b/x", ("a/x b/x", "b/x b/x")),
        ("sp ace.py sp ace.py", ("sp ace.py", "sp ace.py")),
        ('"a/t\\t" b/x', ("a/t\t", "b/x")),
        ('a/x "b/t\\t"', ("a/x", "b/t\t")),
        ("a/old b/new name", None),
        ("nothing", None),
    ],
)
def test_split_pair(rest: str, pair: tuple[str, str] | None) -> None:
    assert split_pair(rest) == pair
