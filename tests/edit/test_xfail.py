from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pytest_brt.edit.add_tests import mark_xfail, marked_tests, unmark
from pytest_brt.errors import EditProblem

HOST = """\
import pytest

@pytest.mark.slow
def test_a():
    pass

class TestX:
    def test_a(self): ...
"""


def unmarked(text: str, node: str) -> str:
    return unmark("t.py", text.encode(), node).decode()


def test_mark_and_unmark() -> None:
    marked = mark_xfail(HOST, 'says "no"\nand more')
    line = '@pytest.mark.xfail(strict=True, reason="says \\"no\\" and more")\n'
    assert f"    {line}    def test_a(self): ...\n" in marked
    assert f"\n{line}@pytest.mark.slow\ndef test_a" in marked
    assert unmarked(unmarked(marked, "TestX::test_a"), "test_a[1-x]") == HOST
    assert unmarked(HOST, "test_a") == HOST


def test_marks_that_are_not_ours_stay() -> None:
    host = f'{HOST}\n    @pytest.mark.xfail(reason="old")\n    def test_b(self): ...\n'
    assert unmarked(host, "TestX::test_b") == host


@pytest.mark.parametrize("node", ["test_c", "TestY::test_a", "TestX::test_c", ""])
def test_unknown_test(node: str) -> None:
    with pytest.raises(EditProblem, match="has no test"):
        unmark("t.py", HOST.encode(), node)


@settings(max_examples=12)
@given(st.text(st.characters(codec="utf-8", exclude_categories=["Cc", "Cs", "Zl", "Zp"])))
def test_any_reason(reason: str) -> None:
    marked = mark_xfail(HOST, reason)
    compile(marked, "t.py", "exec")
    assert unmarked(unmarked(marked, "TestX::test_a"), "test_a") == HOST


def test_an_import_that_only_the_mark_needed_goes_with_it() -> None:
    host = "from pkg import f\n\n\ndef test_a():\n    assert f()\n"
    marked = mark_xfail(host, "why")
    assert "import pytest\n" in marked
    assert unmarked(marked, "test_a") == host
    used = f"{marked}\n\ndef test_b():\n    with pytest.raises(ValueError):\n        f(1)\n"
    assert "import pytest\n" in unmarked(used, "test_a")
    idle = f"import pytest\n{host}"
    assert unmarked(idle, "test_a") == idle, "nothing was marked"


def test_comments_around_a_mark_stay() -> None:
    host = (
        "import pytest\n\n\nclass TestX:\n    # One.\n    @pytest.mark.slow\n"
        "    # Two.\n    @pytest.mark.xfail(\n        reason='x', strict=True\n    )\n"
        "    # Three.\n    def test_a(self): ...\n"
    )
    mark = "    @pytest.mark.xfail(\n        reason='x', strict=True\n    )\n"
    assert unmarked(host, "TestX::test_a") == host.replace(mark, "")


def test_marked_tests_are_found_in_classes() -> None:
    marked = mark_xfail(HOST, "x").encode()
    assert marked_tests("t.py", marked) == ("test_a", "TestX::test_a")
    assert marked_tests("t.py", HOST.encode()) == ()
