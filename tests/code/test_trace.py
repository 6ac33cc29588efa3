from __future__ import annotations

import itertools
import sys
import textwrap
import traceback

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pytest_brt.code.layout import TreePaths, find_layout
from pytest_brt.code.trace import PastedTrace, TraceForm, place_frames, read_tracebacks


def only(text: str) -> PastedTrace:
    (trace,) = read_tracebacks(textwrap.dedent(text))
    return trace


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
    assert trace.form is TraceForm.PLAIN
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
    assert first.chained
    assert not second.chained
    assert (first.raised.type, second.raised.type) == ("KeyError", "ValueError")


OLD_IPYTHON = """\
---------------------------------------------------------------------------
TypeError                                 Traceback (most recent call last)
<ipython-input-342-b32e493b70d3> in <module>()
----> 1 pkg.f(1)[2]

/venv/lib/python3.5/site-packages/pkg/printing/mathml.py in mathml(expr, **settings)
    442 def mathml(expr, **settings):
--> 444     return MathMLPrinter(settings).doprint(expr)
    445 \n
TypeError: 'Indexed' object is not iterable
"""

NEW_IPYTHON = """\
TypeError                                 Traceback (most recent call last)
Cell In[3], line 2
      1 import pkg
----> 2 pkg.f()

File ~/envs/x/lib/python3.11/site-packages/pkg/core.py:12, in Thing.f(self, a)
     11 def f(self, a):
---> 12     return a + 1

TypeError: unsupported operand
"""


def test_ipython_old() -> None:
    trace = only(OLD_IPYTHON)
    assert trace.form is TraceForm.IPYTHON
    assert (trace.raised.type, trace.raised.message) == (
        "TypeError",
        "'Indexed' object is not iterable",
    )
    assert [(f.line, f.function) for f in trace.raised.frames] == [(1, "<module>"), (444, "mathml")]


def test_ipython_new() -> None:
    trace = only(NEW_IPYTHON)
    assert [(f.path, f.line, f.function) for f in trace.raised.frames] == [
        ("Cell In[3]", 2, "<module>"),
        ("~/envs/x/lib/python3.11/site-packages/pkg/core.py", 12, "f"),
    ]
    assert trace.raised.message == "unsupported operand"


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
    assert trace.form is TraceForm.PYTEST
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


@pytest.mark.skipif(sys.version_info < (3, 11), reason="exception groups")
def test_exception_group() -> None:
    try:
        raise ExceptionGroup("all", [ValueError("a"), KeyError("b")])
    except ExceptionGroup as error:
        text = "".join(traceback.format_exception(error))
    assert read_tracebacks(text)[0].raised.type == "ExceptionGroup"
    assert read_tracebacks(text)[0].raised.frames[0].path == __file__


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


FILES = [
    "pkg/__init__.py",
    "pkg/core/__init__.py",
    "pkg/core/basic.py",
    "pkg/tests/test_basic.py",
    "pkg/other/__init__.py",
    "pkg/other/basic.py",
    "pkg/util.py",
]


@pytest.mark.parametrize(
    ("reported", "expected"),
    [
        ("/usr/lib/python3.9/site-packages/pkg/core/basic.py", "pkg/core/basic.py"),
        ("/home/me/code/pkg/pkg/core/basic.py", "pkg/core/basic.py"),
        ("C:\\work\\pkg\\other\\basic.py", "pkg/other/basic.py"),
        ("pkg/core/basic.py", "pkg/core/basic.py"),
        (".../core/basic.py", "pkg/core/basic.py"),
        ("util.py", "pkg/util.py"),
        ("basic.py", None),
        ("/usr/lib/python3.9/site-packages/numpy/core/basic.py", None),
        ("/usr/lib/python3.9/util.py", None),
        ("/home/me/mine/util.py", None),
        ("<stdin>", None),
        ("", None),
    ],
)
def test_paths_are_found(reported: str, expected: str | None) -> None:
    assert TreePaths(find_layout(FILES)).find(reported) == expected


def test_src_layout() -> None:
    paths = TreePaths(find_layout(["src/_pkg/__init__.py", "src/_pkg/a.py"]))
    assert paths.find("/x/site-packages/_pkg/a.py") == "src/_pkg/a.py"
    assert paths.find("/home/me/pkg/src/_pkg/a.py") == "src/_pkg/a.py"


def test_place_frames() -> None:
    text = (
        "Traceback (most recent call last):\n"
        '  File "/v/site-packages/pkg/tests/test_basic.py", line 1, in t\n'
        '  File "/v/site-packages/pkg/core/basic.py", line 2, in g\n'
        '  File "/usr/lib/python3.9/abc.py", line 3, in h\n'
        "ValueError: x\n"
    )
    raised = place_frames(only(text).raised, TreePaths(find_layout(FILES)))
    assert [(f.path, f.project) for f in raised.frames] == [
        ("pkg/tests/test_basic.py", False),
        ("pkg/core/basic.py", True),
        ("/usr/lib/python3.9/abc.py", False),
    ]
