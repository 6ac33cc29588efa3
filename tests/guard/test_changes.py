"""What a patch changes, by name and by lines."""

from __future__ import annotations

from pathlib import Path

import pytest

from pytest_brt.patches.changes import changed_places, touched_by
from pytest_brt.types import FileChange

BEFORE = """\
LIMIT = 3


class Thing:
    size = 1

    def walk(self):
        def step(n):
            return n + 1

        return step(self.size)


def plain(value):
    return value
"""
ALL = set(range(1, len(BEFORE.splitlines()) + 1))


@pytest.mark.parametrize(
    ("old", "new", "names", "lines"),
    [
        ("LIMIT = 3", "LIMIT = 4", set(), ALL),
        ("n + 1", "n + 2", {"Thing", "walk"}, {8, 9, 10, 11}),
        ("return step(self.size)", "return 0", {"Thing", "walk"}, {8, 9, 10, 11}),
        ("    size = 1\n", "    size = 2\n", {"Thing"}, ALL),
        ("def plain", "def more(): ...\n\ndef plain", {"more"}, ALL),
        ("    return value", "    # as it is\n    return value", set(), set()),
        ("    return value\n", "    return value\n    more()\n", {"plain"}, {15}),
        ("def plain(value):", "def plain(other):", {"plain"}, {15}),
    ],
)
def test_names_and_lines_that_change(old: str, new: str, names: set[str], lines: set[int]) -> None:
    assert old in BEFORE
    bits = sum(1 << line for line in lines)
    assert changed_places(BEFORE.encode(), BEFORE.replace(old, new).encode()) == (names, bits)


def test_what_is_new_or_no_python_has_no_lines(tmp_path: Path) -> None:
    (tmp_path / "data.txt").write_text("a\n", encoding="utf-8")
    changes = [
        FileChange(path="new.py", content=b"x = 1\n"),
        FileChange(path="data.txt", content=b"b\n"),
    ]
    touched = touched_by(changes, tmp_path)
    assert (touched.files, touched.names, touched.lines) == (("data.txt", "new.py"), (), ())
