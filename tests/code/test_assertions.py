"""What assertions say, and which of them cannot both hold."""

from __future__ import annotations

from pathlib import Path
from textwrap import dedent, indent

import pytest

from pytest_brt.code.assertions import Assertion, contradict, read_assertion
from pytest_brt.guard.edited import said_by

IMPORTS = "import pytest\nfrom pkg.mod import f, g, Thing\nimport pkg\n\n"


def read(body: str, *, imports: str = IMPORTS, head: str = "def test_a(x, self):") -> Assertion:
    """Read the last statement of a test."""
    source = f"{imports}{head}\n{indent(dedent(body), '    ')}"
    found = read_assertion(source, source.count("\n") + 1)
    assert found is not None
    return found


OPPOSITE = [
    ("assert f(1) == 2", "assert f(1) == 3"),
    ("assert f(1) == 2", "assert 3 == f(1)"),
    ('"""A docstring."""\nassert f(1) == 2', "assert 3 == f(1)"),
    ("assert f(1) == 2", "assert f(1) != 2"),
    ("assert f(1) == 2", "self.assertEqual(f(1), 3)"),
    ("assert f(1) == 2", "self.assertNotEqual(2, f(1))"),
    ("assert f(1)", "assert not f(1)"),
    ("assert f(1)", "assert f(1) is False"),
    ("self.assertTrue(f(1))", "assert f(1) == []"),
    ("assert f(1) is None", "self.assertIsNotNone(f(1))"),
    ("assert 2 in f(1)", "assert 2 not in f(1)"),
    ("assert f(1) < 2", "assert not f(1) < 2"),
    ("assert f(1) < 2", "assert f(1) >= 2"),
    ("assert f(1) == 2 and g(1) == 3", "assert g(1) == 4"),
    ("result = f(1)\nassert result == 2", "assert pkg.f(1) == 3"),
    (
        "thing = Thing()\nthing.add(1)\nassert thing.all() == [1]",
        "t = Thing()\nt.add(1)\nassert t.all() == []",
    ),
    ("with pytest.raises(ValueError):\n    f(1)", "assert f(1) == 3"),
    ("with pytest.raises(ValueError):\n    y = 1\n    f(y)", "f(1)"),
    ("pytest.raises(ValueError, f, 1)", "value = f(1)"),
    ("self.assertRaises(ValueError, lambda: f(1))", "f(1)"),
    (
        "pytest.raises(ValueError, f, 3)\npytest.raises(ValueError, f, 1)",
        "self.assertEqual(f, f)\nf(1)",
    ),
    # Fixtures are holes: the same ones in the same places.
    ("one = f(x, 2)\nassert one is f(x, 2)", "assert f(self, 2) is not f(self, 2)"),
]
COMPATIBLE = [
    ("assert f(1) == 2", "assert f(1) == 2"),
    ("assert f(1) == 1", "assert f(1) == True"),
    ("assert f(1) == 2", "assert f(2) == 3"),
    ("assert f(1) == 2", "assert g(1) == 3"),
    ("assert f(1) == g(1)", "assert f(1) == g(2)"),
    ("assert f(1) == 2 or g(1) == 3", "assert g(1) == 4"),
    ("assert f(1) != 2", "assert f(1) != 3"),
    ("assert f(1)", "assert f(1) == 3"),
    ("with pytest.raises(ValueError):\n    f(1)", "with pytest.raises(KeyError):\n    f(1)"),
    ("with pytest.raises(ValueError):\n    f(1)", "f(2)"),
    (
        "thing = Thing()\nthing.add(1)\nassert thing.all() == [1]",
        "thing = Thing()\nthing.add(2)\nassert thing.all() == [2]",
    ),
    (
        "thing = Thing()\nthing.size = 1\nassert thing.all() == [1]",
        "thing = Thing()\nassert thing.all() == []",
    ),
    # What a fixture stands for is not known, and what is called on it may be anything.
    ("assert f(x) == 2", "assert f(x) == 3"),
    ("assert x.get(1)", "assert not x.get(1)"),
    # An option that is set may be what makes the difference.
    ("pkg.set_option('a', 1)\nassert f(1) == 2", "assert f(1) == 3"),
    ("with pkg.option('a'):\n    assert f(1) == 2", "assert f(1) == 3"),
    # A loop gives its variable many values.
    ("for n in (1, 2):\n    assert f(n) == 2", "for n in (3, 4):\n    assert f(n) == 3"),
]


@pytest.mark.parametrize(("one", "other"), OPPOSITE)
def test_assertions_that_cannot_both_hold(one: str, other: str) -> None:
    assert contradict(read(one), read(other))
    assert contradict(read(other), read(one))


@pytest.mark.parametrize(("one", "other"), COMPATIBLE)
def test_assertions_that_may_both_hold(one: str, other: str) -> None:
    assert not contradict(read(one), read(other))
    assert not contradict(read(other), read(one))


def test_the_same_thing_is_imported_from_its_module_or_its_package() -> None:
    ways = [
        ("from pkg import f\n", "assert f(1) == 2"),
        ("from pkg.mod import f as h\n", "assert h(1) == 2"),
        ("import pkg.mod\n", "assert pkg.mod.f(1) == 2"),
        ("import pkg.mod as m\n", "assert m.f(1) == 2"),
        ("from pkg import *\n", "assert f(1) == 2"),
        ("import pkg\nx = pkg.f(1)\n", "assert x == 2"),
    ]
    said = {read(body, imports=imports, head="def test_a():").claims for imports, body in ways}
    assert len(said) == 1
    other = read("assert f(1) == 2", imports="from other import f\n", head="def test_a():")
    assert other.claims not in said


def test_a_package_that_is_a_module_of_the_project_is_no_part_of_a_name() -> None:
    source = "from pkg import mod\n\ndef test_a():\n    assert mod.f(1) == 2\n"
    plain = read_assertion(source, 4)
    known = read_assertion(source, 4, "", {"pkg.mod"}.__contains__)
    assert plain is not None
    assert known is not None
    assert plain.claims[0].subject == "pkg:mod.f(1)"
    assert known.claims[0].subject == "pkg:f(1)"


CASES = """\
import pytest
from pkg import f

@pytest.mark.parametrize(("text", "size"), [("a", 1), ("b c", 2), pytest.param("d", 3, id="last")])
@pytest.mark.parametrize("flag", [True, None])
def test_a(flag, text, size):
    assert f(text, flag) == size
"""


@pytest.mark.parametrize(
    ("case", "subject", "value"),
    [
        ("True-a-1", "pkg:f('a', True)", "1"),
        ("None-b c-2", "pkg:f('b c', None)", "2"),
        ("True-last", "pkg:f('d', True)", "3"),
        ("unknown", "pkg:f(‹text›, ‹flag›)", "‹size›"),
    ],
)
def test_a_case_has_its_parameters(case: str, subject: str, value: str) -> None:
    found = read_assertion(CASES, 7, case)
    assert found is not None
    (claim,) = found.claims
    assert {claim.subject, claim.other} == {subject, value}


@pytest.mark.parametrize("source", ["def test_a(:\n", "", "x = 1\n"])
def test_where_nothing_stands_nothing_is_asserted(source: str) -> None:
    assert read_assertion(source, 7) is None


def test_what_is_nested_too_deeply_is_passed_over() -> None:
    deep = "+".join(["x"] * 900)
    assert read_assertion(f"def test_a(x):\n    assert {deep} == 1\n", 2) is None
    assert said_by(f"def test_a(x):\n    assert {deep} == 1\n    assert x\n") == {"assert x"}


def test_every_line_of_a_test_can_be_read() -> None:
    """Those of this file, and of others with all that Python has."""
    odd = """\
        def test_a(x):
            try:
                f(1)
            except ValueError:
                return
            else:
                g(2)
            finally:
                assert f(3) == 4
            if x:
                global y
                y = 1
            while x:
                break
            async with x as z:
                assert await z == 1
            yield x
            del x
            import os, sys as s
            from . import q
            a, (b, *c) = x, y
            d: int = 3
            d += 1
            lambda w, *v, **u: w
            assert {k: v for k, v in x} == [i for i in y]
            class A: pass
            raise x
        """
    texts = [dedent(odd), Path(__file__).read_text("utf-8")]
    for text in texts:
        lines = text.count("\n") + 1
        read_lines = [read_assertion(text, line) for line in range(1, lines + 1)]
        assert sum(found is not None for found in read_lines) > 10


def test_a_value_that_grows_is_compared_by_its_hash() -> None:
    body = "x = f(1)\n" + "x = x + x\n" * 30 + "assert x == 2"
    (claim,) = read(body).claims
    assert len(claim.subject) < 2100
    assert contradict(read(body), read(body.replace("== 2", "== 3")))
