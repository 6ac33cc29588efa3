from __future__ import annotations

import textwrap

from pytest_brt.code.trace_lines import PastedTrace
from pytest_brt.code.traces import read_tracebacks


def only(text: str) -> PastedTrace:
    """Return the one traceback in `text`."""
    (trace,) = read_tracebacks(textwrap.dedent(text))
    return trace
