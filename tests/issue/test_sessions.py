from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from pytest_brt.issue.sessions import read_session


def pairs(text: str) -> list[tuple[str, str]]:
    return [(exchange.source, exchange.output) for exchange in read_session(text)]


def test_python_session() -> None:
    text = ">>> x = 1\n>>> for i in a:\n...     print(i)\n...\n1\n2\n>>>f(x)\n  3\n"
    assert pairs(text) == [
        ("x = 1", ""),
        ("for i in a:\n    print(i)", "1\n2"),
        ("f(x)", "  3"),
    ]


def test_ipython_session() -> None:
    text = "IPython 5\n\nIn [1]: def f():\n   ...:     return 1\n   ...: \n\nIn [2]: f()\nOut[2]: 1\n\nIn [3]: g()\nOut[3]: \n  a\n b\n"  # noqa: E501
    assert pairs(text) == [("def f():\n    return 1", ""), ("f()", "1"), ("g()", "  a\n b")]


def test_session_of_pypy() -> None:
    assert pairs(">>>> x = f(\n....     1)\n>>>> x\n2") == [("x = f(\n    1)", ""), ("x", "2")]


def test_ellipsis_in_output_is_output() -> None:
    text = ">>> f()\nTraceback (most recent call last):\n...\nValueError: no"
    assert pairs(text) == [("f()", "Traceback (most recent call last):\n...\nValueError: no")]


@given(st.text(alphabet=st.sampled_from(">.In[]1: \nOutx"), max_size=60))
def test_any_text_is_accepted(text: str) -> None:
    for exchange in read_session(text):
        assert 0 <= exchange.line <= text.count("\n")
