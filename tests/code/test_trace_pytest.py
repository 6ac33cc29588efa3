from __future__ import annotations

from tests.code.trace_texts import only


def test_pytest_long() -> None:
    trace = only(
        """\
        ________________________________ test_f ________________________________

            def test_f():
        >       assert f(1) == 2

        tests/test_a.py:5:
        _ _ _ _ _ _ _ _ _ _ _ _ _ _ _ _ _ _ _ _ _ _ _ _ _ _ _ _ _ _ _ _ _ _ _ _ _

        x = 1

            def f(x):
        >       return x / 0
        E       ZeroDivisionError: division by zero

        pkg/core.py:3: ZeroDivisionError
        """
    )
    assert (trace.raised.type, trace.raised.message) == ("ZeroDivisionError", "division by zero")
    assert [(f.path, f.line, f.function) for f in trace.raised.frames] == [
        ("tests/test_a.py", 5, "test_f"),
        ("pkg/core.py", 3, "f"),
    ]


def test_pytest_short_and_assertion() -> None:
    trace = only(
        """\
        tests/test_a.py:5: in test_f
            assert f(1) == 2
        E   assert 1 == 2
        E    +  where 1 = f(1)
        """
    )
    assert trace.raised.type == "AssertionError"
    assert trace.raised.message.startswith("assert 1 == 2\n")
    assert trace.raised.frames[0].function == "test_f"
