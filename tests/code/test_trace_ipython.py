from __future__ import annotations

from tests.code.trace_texts import only

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
