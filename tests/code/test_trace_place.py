from __future__ import annotations

from pytest_brt.code.layout import TreePaths, find_layout
from pytest_brt.code.traces import place_frames
from tests.code.trace_texts import only

FILES = [
    "pkg/__init__.py",
    "pkg/core/__init__.py",
    "pkg/core/basic.py",
    "pkg/tests/test_basic.py",
]


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
