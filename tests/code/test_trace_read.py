from __future__ import annotations

import itertools
import textwrap

from hypothesis import given
from hypothesis import strategies as st

from pytest_brt.code.traces import read_tracebacks


def test_chain() -> None:
    first, second = read_tracebacks(
        textwrap.dedent(
            """\
            Traceback (most recent call last):
              File "a.py", line 1, in f
                d[1]
            KeyError: 1

            During handling of the above exception, another exception occurred:

            Traceback (most recent call last):
              File "a.py", line 3, in f
                raise ValueError("no")
            ValueError: no
            """
        )
    )
    assert (first.raised.type, second.raised.type) == ("KeyError", "ValueError")


@given(st.text(max_size=300))
def test_never_raises_on_text(text: str) -> None:
    read_tracebacks(text)


PIECES = [
    "Traceback (most recent call last):",
    '  File "a.py", line 1, in f',
    "    g()",
    "ValueError: bad",
    "TypeError   Traceback (most recent call last)",
    "----> 1 f()",
    "a.py in f(x)",
    "E   ValueError: x",
    "a.py:3: ValueError",
    "a.py:3: in f",
    "    def f():",
    "During handling of the above exception, another exception occurred:",
    "",
    "prose",
    "> ",
]


@given(st.lists(st.sampled_from(PIECES), max_size=20))
def test_never_raises_on_shuffled_tracebacks(lines: list[str]) -> None:
    traces = read_tracebacks("\n".join(lines))
    for trace in traces:
        assert 1 <= trace.line <= trace.end_line <= len(lines)
    for before, after in itertools.pairwise(traces):
        assert before.line <= after.line


def test_prose_has_no_traceback() -> None:
    assert read_tracebacks("It raises ValueError: bad value, see pkg/core.py:3: why?") == ()
