from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pytest_brt.patches.file_names import is_prefixed, quote, read_name, split_pair, unquote


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


@pytest.mark.parametrize(
    ("old", "new", "answer"),
    [
        ("a/m.py", "b/m.py", True),
        ("a/m.py", "a/m.py", True),
        (None, "b/m.py", True),
        ("old/m.py", "new/m.py", True),
        ("pkg/m.py", "pkg/m.py", False),
        ("m.py", "m.py", False),
        ("m.py", "n.py", False),
        (None, "pkg/m.py", False),
    ],
)
def test_is_prefixed(old: str | None, new: str | None, answer: bool) -> None:
    assert is_prefixed(old, new) is answer


@given(st.binary(min_size=1).map(lambda data: data.decode("utf-8", "surrogateescape")))
def test_a_quoted_name_reads_as_itself(name: str) -> None:
    quoted = quote(name)
    assert (unquote(quoted[1:-1]) if quoted.startswith('"') else quoted) == name
    assert quoted.isascii()
    assert split_pair(f"{quote(f'a/{name}')} {quote(f'b/{name}')}") == (f"a/{name}", f"b/{name}")
