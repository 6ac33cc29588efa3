"""Which files of tests are near a change, and which of their tests."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from pytest_brt.guard.changes import Touched
from pytest_brt.guard.nearness import Nearness
from pytest_brt.guard.suite import Suite

BODY = "\n\ndef test_x():\n    pass\n"


def order(files: dict[str, str], place: str, *hints: str) -> tuple[str, ...]:
    return Nearness(Suite(files=files), [Touched(places=(place,), size=1)], hints).files()


def test_the_file_called_after_what_is_changed_comes_before_one_that_mentions_it() -> None:
    files = {
        "tests/test_a.py": "def test_walk():\n    walk()\n",
        "tests/test_b.py": "def test_far():\n    pass\n",
        "tests/test_core.py": "def test_beside():\n    pass\n",
    }
    assert order(files, "pkg/core.py::walk") == (
        "tests/test_core.py",
        "tests/test_a.py",
        "tests/test_b.py",
    )


def test_a_rare_name_says_more_than_a_common_one() -> None:
    files = {f"t/test_{n}.py": "def test_common():\n    Common()\n" for n in range(9)}
    files["t/test_z.py"] = "def test_rare():\n    Common(), rare()\n"
    assert order(files, "x/core.py::Common.rare")[0] == "t/test_z.py"


def test_names_of_the_candidates_order_what_is_equal() -> None:
    files = {
        "t/test_0.py": "def test_a():\n    walk(1)\n",
        "t/test_1.py": "def test_b():\n    walk(special)\n",
        "t/test_2.py": "def test_c():\n    pass\n",
    }
    expected = ("t/test_1.py", "t/test_0.py", "t/test_2.py")
    assert order(files, "x/core.py::walk", "special") == expected


def test_what_says_nothing_of_the_change_comes_by_what_it_imports() -> None:
    files = {
        "t/test_a.py": f"import json{BODY}",
        "t/test_b.py": f"import pkg.other{BODY}",
        "t/test_c.py": f"from pkg import (\n    deep,\n){BODY}",
        "t/test_d.py": f"from pkg.deep.part import open{BODY}",
    }
    assert order(files, "src/pkg/deep/part.py::inner") == (
        "t/test_d.py",
        "t/test_c.py",
        "t/test_b.py",
        "t/test_a.py",
    )


def test_tests_of_a_file_that_speak_of_the_change_come_first() -> None:
    source = "def test_a():\n    pass\n\ndef test_b():\n    walk()\n\ndef test_c():\n    run()\n"
    touched = Touched(places=("x/core.py::walk",), size=1)
    nearness = Nearness(Suite(files={"t/test_a.py": source}), [touched], ("run",))
    assert nearness.speaking("t/test_a.py") == ("test_b", "test_c")
    nodes = [test.node for test in nearness.tests()]
    assert nodes == ["test_b", "test_c", "test_a"]


@given(st.text(max_size=300))
def test_any_text_can_be_a_file(text: str) -> None:
    suite = Suite(files={"test_a.py": text})
    nearness = Nearness(suite, [Touched(places=("a.py::x",), size=1)], ("y",))
    assert nearness.files() == ("test_a.py",)
    nearness.tests()
    assert suite.counts["test_a.py"] >= 0
