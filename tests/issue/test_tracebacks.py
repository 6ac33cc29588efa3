from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from pytest_brt.issue.tracebacks import final_exception, read_tracebacks

PLAIN = """\
Traceback (most recent call last):
  File "<stdin>", line 1, in <module>
  File "/pkg/core.py", line 12, in run
    raise ValueError("no")
ValueError: no
"""

CHAINED = """\
Traceback (most recent call last):
  File "a.py", line 1, in f
KeyError: 'x'

During handling of the above exception, another exception occurred:

Traceback (most recent call last):
  File "a.py", line 2, in g
pkg.errors.LookupFailed: gone
"""

JUPYTER = """\
---------------------------------------------------------------------------
TypeError                                 Traceback (most recent call last)
<ipython-input-3-46dd21e9c95a> in <module>()
----> 1 f(1)

~/lib/python3.8/site-packages/pkg/core.py in f(x, *args)
     10 def f(x):
---> 11     return g(x)

TypeError: 'NoneType' object is not callable
"""

PYTEST = """\
    def test_a():
>       f(1)
pkg/core.py:7: in f
    return g(x)
E   ZeroDivisionError: division by zero

pkg/core.py:9: ZeroDivisionError
"""


def test_plain_traceback() -> None:
    (raised,) = read_tracebacks(PLAIN)
    assert (raised.type, raised.message) == ("ValueError", "no")
    assert [(f.path, f.line, f.function) for f in raised.frames] == [
        ("<stdin>", 1, "<module>"),
        ("/pkg/core.py", 12, "run"),
    ]


def test_the_last_of_a_chain_is_what_the_caller_saw() -> None:
    first, last = read_tracebacks(CHAINED)
    assert first.type == "KeyError"
    assert (last.type, last.message) == ("pkg.errors.LookupFailed", "gone")
    assert final_exception(CHAINED) == last


def test_jupyter_frames_and_their_lines() -> None:
    raised = final_exception(JUPYTER)
    assert raised is not None
    assert raised.type == "TypeError"
    assert raised.message == "'NoneType' object is not callable"
    assert [(f.function, f.line) for f in raised.frames] == [("<module>", 1), ("f", 11)]


def test_frames_of_newer_notebooks() -> None:
    (raised,) = read_tracebacks(
        "ValueError                         Traceback (most recent call last)\n"
        "Cell In[1], line 4\n----> 4 g(1)\n\n"
        "File ~/lib/pkg/core.py:12, in g(x)\n     11 def g(x):\n---> 12     raise ValueError\n\n"
        "ValueError: no\n"
    )
    assert (raised.type, raised.message) == ("ValueError", "no")
    (frame,) = raised.frames
    assert (frame.path, frame.line, frame.function) == ("~/lib/pkg/core.py", 12, "g")


def test_pytest_output() -> None:
    raised = read_tracebacks(PYTEST)[0]
    assert raised.type == "ZeroDivisionError"
    assert raised.frames[0].path == "pkg/core.py"


def test_message_on_the_next_line() -> None:
    raised = final_exception(
        "Traceback (most recent call last):\n...\nNotImplementedError:\nonly this"
    )
    assert raised is not None
    assert raised.message == "only this"


def test_prose_is_no_traceback() -> None:
    assert read_tracebacks("This raises an error.\nNo: really") == ()


@given(st.text())
def test_any_text_is_accepted(text: str) -> None:
    for raised in read_tracebacks(text):
        assert raised.type
