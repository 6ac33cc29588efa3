"""One file with several tests becomes modules with one test each."""

from __future__ import annotations

import ast
import subprocess
import sys
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pytest_brt.reproduce.model_tests.make import code_in
from pytest_brt.reproduce.model_tests.split import MOST, parses, split_tests
from tests.reproduce.model_tests.replies import CODE, PIECES


def by_name(code: str) -> dict[str, str]:
    return {single.name: single.source for single in split_tests(code, "x")}


def test_each_test_stands_alone_with_what_it_needs() -> None:
    found = by_name(CODE)
    assert list(found) == [
        "test_a",
        "test_b",
        "TestC::test_one",
        "TestC::test_two",
        "TestOld::test_three",
    ]
    assert found["test_b"] == (
        "from __future__ import annotations\nimport pytest\nfrom pkg import f\n\n\n"
        '@pytest.mark.parametrize("n", [1, 2])\ndef test_b(n):\n    """Say so."""\n'
        "    assert f(n) == 1\n"
    )
    assert "def thing" in found["test_a"]
    assert "LIMIT = helper(3)" in found["test_a"]
    assert "# What f is given.\ndef helper" in found["test_a"]
    assert "OTHER" not in "".join(found.values())
    assert "unused" not in "".join(found.values())
    assert "test_two" not in found["TestC::test_one"]
    assert "setup_method" in found["TestC::test_two"]


def test_what_would_hide_a_failure_goes() -> None:
    everything = "".join(by_name(CODE).values())
    assert "xfail" not in everything
    assert "skip" not in everything


def test_nothing_is_run_while_collecting() -> None:
    for source in by_name(CODE).values():
        assert "__main__" not in source
        assert not [
            node
            for node in ast.parse(source).body
            if isinstance(node, ast.Expr) and isinstance(node.value, ast.Call)
        ]


def test_pytest_finds_exactly_the_one_test(tmp_path: Path) -> None:
    (tmp_path / "pkg.py").write_text("unused = 1\ndef f(x): return 1\n", encoding="utf-8")
    for number, single in enumerate(split_tests(CODE.replace("= helper(3)", "= 3"), "x")):
        (tmp_path / f"test_n{number}.py").write_text(single.source, encoding="utf-8")
    command = [sys.executable, "-m", "pytest", "--collect-only", "-q", "-p", "no:randomly"]
    result = subprocess.run(
        [*command, "-p", "no:cacheprovider"],
        cwd=tmp_path,
        capture_output=True,
        text=True,
        encoding="utf-8",
        check=False,
    )
    found = [line for line in result.stdout.split("\n") if "::" in line]
    assert found == [
        "test_n0.py::test_a",
        "test_n1.py::test_b[1]",
        "test_n1.py::test_b[2]",
        "test_n2.py::TestC::test_one",
        "test_n3.py::TestC::test_two",
        "test_n4.py::TestOld::test_three",
    ]


@pytest.mark.parametrize(
    ("code", "source"),
    [
        (
            "from m import f\nx = f(1)\nassert x == 2\n",
            "from m import f\n\n\ndef test_x():\n    x = f(1)\n    assert x == 2\n",
        ),
        (
            "from m import f\n\ndef reproduce():\n    assert f(1) == 2\n\nreproduce()\n",
            "from m import f\n\n\ndef test_x():\n    assert f(1) == 2\n",
        ),
    ],
)
def test_a_script_becomes_a_test(code: str, source: str) -> None:
    assert by_name(code) == {"test_x": source}


@pytest.mark.parametrize("code", ["x = 1\n", "", "import m\n", "def helper(a):\n    return a\n"])
def test_code_that_checks_nothing_is_no_test(code: str) -> None:
    assert split_tests(code, "x") == ()


def test_a_class_that_pytest_would_pass_over_gets_a_name_that_it_knows() -> None:
    code = "class Sizes:\n    def test_a(self):\n        assert f(1)\n"
    assert list(by_name(code)) == ["TestSizes::test_a"]
    assert by_name("class Size(int):\n    def test_a(self):\n        assert f(1)\n") == {}


def test_many_tests_are_cut() -> None:
    code = "".join(f"def test_{n}():\n    assert f({n})\n" for n in range(50))
    assert len(split_tests(code, "x")) == MOST


@given(st.lists(PIECES, max_size=15).map("".join))
def test_any_reply_that_parses_can_be_split(text: str) -> None:
    for single in split_tests(code_in(text), "x"):
        assert parses(single.source)
        assert single.name.rpartition("::")[2] in single.source
