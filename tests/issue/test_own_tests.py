"""The tests that stand in a report are found, each with what it needs."""

from __future__ import annotations

from textwrap import dedent

from pytest_brt.issue.load import read_issue
from pytest_brt.issue.own_tests import own_tests
from pytest_brt.types.reading import OwnTest


def found(*blocks: str) -> tuple[OwnTest, ...]:
    fences = [f"```python\n{dedent(block).strip()}\n```" for block in blocks]
    return own_tests(read_issue("\n\n".join(["A title", *fences]), "issue.md"))


def test_a_function_with_a_fixture_and_what_it_needs() -> None:
    (own,) = found(
        """
        import os
        from pkg import read
        LIMIT = 3
        UNUSED = 4

        def helper(path):
            return os.fspath(path)

        def test_newline(tmp_path):
            assert read(helper(tmp_path), LIMIT)
        """
    )
    assert own.name == "test_newline"
    assert [need.split("\n")[0] for need in own.needs] == [
        "import os",
        "from pkg import read",
        "LIMIT = 3",
        "def helper(path):",
    ]
    assert own.source.startswith("def test_newline(tmp_path):")


def test_what_it_needs_may_stand_in_another_block() -> None:
    (own,) = found("from pkg import f", "def test_f():\n    assert f(1) == 2")
    assert own.needs == ("from pkg import f",)


def test_decorators_belong_to_it() -> None:
    (own,) = found(
        """
        import pytest

        @pytest.mark.parametrize("n", [1, 2])
        def test_n(n):
            assert n
        """
    )
    assert own.source.startswith("@pytest.mark.parametrize")
    assert own.needs == ("import pytest",)


def test_of_a_class_each_method_is_one_with_all_that_is_no_test() -> None:
    one, two = found(
        """
        from unittest import TestCase

        class Reading(TestCase):
            def setUp(self):
                self.n = 1

            def test_a(self):
                self.assertEqual(self.n, 2)

            def test_b(self):
                self.assertEqual(self.n, 3)
        """
    )
    assert (one.name, two.name) == ("Reading::test_a", "Reading::test_b")
    assert "def setUp" in one.source
    assert "test_b" not in one.source
    assert "test_a" not in two.source


def test_no_tests_are_other_functions_classes_and_what_is_run() -> None:
    assert not found(
        """
        def check():
            assert False

        class Thing:
            def test_a(self):
                pass

        check()
        """
    )


def test_what_only_runs_or_shows_is_left_out() -> None:
    (own,) = found("def test_a():\n    assert f()\n\nf = len\nprint(f)\ntest_a()")
    assert own.needs == ("f = len",)
