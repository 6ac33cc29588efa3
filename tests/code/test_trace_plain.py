from __future__ import annotations

import textwrap
import traceback

import pytest

from pytest_brt.code.traces import read_tracebacks
from tests.code.trace_texts import only


def test_plain() -> None:
    trace = only(
        """\
        I get this:

        Traceback (most recent call last):
          File "/home/me/run.py", line 3, in <module>
            main()
            ~~~~^^
          File "/home/me/pkg/core.py", line 17, in main
            return walk(x)
          [Previous line repeated 990 more times]
        pkg.errors.WalkError: too deep: 3

        What can I do: nothing?
        """
    )
    assert (trace.line, trace.end_line) == (3, 10)
    assert trace.raised.type == "pkg.errors.WalkError"
    assert trace.raised.message == "too deep: 3"
    assert [(f.path, f.line, f.function) for f in trace.raised.frames] == [
        ("/home/me/run.py", 3, "<module>"),
        ("/home/me/pkg/core.py", 17, "main"),
    ]


def test_prose_right_below_is_not_the_message() -> None:
    text = 'Traceback (most recent call last):\n  File "a.py", line 1, in f\n    g()\n'
    assert only(text + "ValueError: bad\nThis is strange.").raised.message == "bad"


def test_open_message_goes_on() -> None:
    text = (
        "Traceback (most recent call last):\n...\nNotImplementedError:\nonly small ones (so\nfar)\n"
    )
    raised = only(text + "Thanks").raised
    assert (raised.type, raised.message) == ("NotImplementedError", "only small ones (so\nfar)")


@pytest.mark.parametrize("margin", ["    ", "> ", "INTERNALERROR> ", "| "])
def test_margins(margin: str) -> None:
    text = """\
Traceback (most recent call last):
  File "a.py", line 1, in f
    g()
KeyError: 'x'"""
    raised = only("Before\n" + textwrap.indent(text, margin)).raised
    assert (raised.type, raised.message, len(raised.frames)) == ("KeyError", "'x'", 1)


def test_lower_case_exception_below_a_stack() -> None:
    raised = only(
        """\
        Traceback (most recent call last):
          File "sre_parse.py", line 350, in _class_escape
            raise source.error('bad escape %s' % escape, len(escape))
        re.error: bad escape \\p at position 1
        """
    ).raised
    assert (raised.type, raised.message) == ("re.error", "bad escape \\p at position 1")


def test_cut_off_at_both_ends() -> None:
    trace = only(
        """\
          File "a.py", line 1, in f
            g()
          File "b.py", line 2, in g
            h()
        """
    )
    assert trace.line == 1
    assert [f.path for f in trace.raised.frames] == ["a.py", "b.py"]
    assert trace.raised.type == ""


def test_real_exceptions_are_read_back() -> None:
    def deep(n: int) -> None:
        if n == 0:
            raise LookupError("over there")
        deep(n - 1)

    try:
        deep(3)
    except LookupError as error:
        text = "".join(traceback.format_exception(error))
        expected = traceback.extract_tb(error.__traceback__)
    raised = only(text).raised
    assert (raised.type, raised.message) == ("LookupError", "over there")
    assert [(f.path, f.line, f.function) for f in raised.frames] == [
        (f.filename, f.lineno, f.name) for f in expected
    ]


def test_exception_group() -> None:
    try:
        raise ExceptionGroup("all", [ValueError("a"), KeyError("b")])
    except ExceptionGroup as error:
        text = "".join(traceback.format_exception(error))
    assert read_tracebacks(text)[0].raised.type == "ExceptionGroup"
    assert read_tracebacks(text)[0].raised.frames[0].path == __file__
