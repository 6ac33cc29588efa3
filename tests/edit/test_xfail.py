from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pytest_brt.edit.add_tests import mark_xfail, marked_tests, unmark
from pytest_brt.errors import EditProblem

HOST = b"""\
import pytest

@decorate
def test_a():
    pass

class TestX:
    def test_a(self): ...

    @pytest.mark.xfail(reason="old")
    def test_b(self): ...
"""


def test_mark_and_unmark() -> None:
    marked = mark_xfail("t.py", HOST, "TestX::test_a", 'says "no"\nand more')
    assert (
        b'    @pytest.mark.xfail(strict=True, reason="says \\"no\\" and more")\n'
        b"    def test_a(self): ...\n"
    ) in marked
    assert mark_xfail("t.py", marked, "TestX::test_a", "again") == marked
    assert unmark("t.py", marked, "TestX::test_a") == HOST
    assert unmark("t.py", HOST, "test_a") == HOST


def test_above_other_decorators() -> None:
    marked = mark_xfail("t.py", HOST, "test_a[1-x]", "why")
    assert b'\n@pytest.mark.xfail(strict=True, reason="why")\n@decorate\ndef test_a' in marked
    assert unmark("t.py", marked, "test_a") == HOST


def test_pytest_is_imported() -> None:
    marked = mark_xfail("t.py", b"import os\r\ndef test_a(): ...\r\n", "test_a", "why")
    assert marked.startswith(b"import os\r\nimport pytest\r\n\r\n@pytest.mark.xfail(")
    assert marked.count(b"\n") == marked.count(b"\r\n")


def test_marks_that_are_not_ours_stay() -> None:
    assert unmark("t.py", HOST, "TestX::test_b") == HOST
    assert mark_xfail("t.py", HOST, "TestX::test_b", "x") == HOST


@pytest.mark.parametrize("node", ["test_c", "TestY::test_a", "TestX::test_c", ""])
def test_unknown_test(node: str) -> None:
    with pytest.raises(EditProblem, match="has no test"):
        mark_xfail("t.py", HOST, node, "why")


@settings(max_examples=30)
@given(st.text(st.characters(codec="utf-8", exclude_categories=["Cc", "Cs", "Zl", "Zp"])))
def test_any_reason(reason: str) -> None:
    marked = mark_xfail("t.py", HOST, "test_a", reason)
    compile(marked, "t.py", "exec")
    assert unmark("t.py", marked, "test_a") == HOST


def test_an_import_that_only_the_mark_needed_goes_with_it() -> None:
    host = b"from pkg import f\n\n\ndef test_a():\n    assert f()\n"
    marked = mark_xfail("t.py", host, "test_a", "why")
    assert b"import pytest\n" in marked
    assert unmark("t.py", marked, "test_a") == host
    used = marked + b"\n\ndef test_b():\n    with pytest.raises(ValueError):\n        f(1)\n"
    assert b"import pytest\n" in unmark("t.py", used, "test_a")
    idle = b"import pytest\n" + host
    assert unmark("t.py", idle, "test_a") == idle, "nothing was marked"


def test_comments_around_a_mark_stay() -> None:
    host = (
        b"import pytest\n\n\nclass TestX:\n    # One.\n    @pytest.mark.slow\n"
        b"    # Two.\n    @pytest.mark.xfail(\n        reason='x', strict=True\n    )\n"
        b"    # Three.\n    def test_a(self): ...\n"
    )
    mark = b"    @pytest.mark.xfail(\n        reason='x', strict=True\n    )\n"
    assert unmark("t.py", host, "TestX::test_a") == host.replace(mark, b"")


def test_marked_tests_are_found_in_classes() -> None:
    marked = mark_xfail("t.py", mark_xfail("t.py", HOST, "TestX::test_a", "x"), "test_a", "y")
    assert marked_tests("t.py", marked) == ("test_a", "TestX::test_a")
    assert marked_tests("t.py", HOST) == ()
