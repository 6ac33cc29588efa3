"""What a patch changes, by name."""

from __future__ import annotations

from pathlib import Path

import pytest

from pytest_brt.guard.changes import touched_by
from pytest_brt.types import FileChange

BEFORE = """\
LIMIT = 3


class Thing:
    size = 1

    def walk(self):
        def step(n):
            return n + 1

        return step(self.size)

    def __len__(self):
        return self.size


def plain(value):
    return value
"""


def changed(path: str, after: str | None) -> tuple[FileChange, ...]:
    return (FileChange(path=path, content=None if after is None else after.encode()),)


@pytest.fixture
def root(tmp_path: Path) -> Path:
    (tmp_path / "pkg").mkdir()
    (tmp_path / "pkg" / "core.py").write_text(BEFORE, encoding="utf-8")
    return tmp_path


@pytest.mark.parametrize(
    ("old", "new", "places"),
    [
        ("LIMIT = 3", "LIMIT = 4", ("pkg/core.py::",)),
        ("n + 1", "n + 2", ("pkg/core.py::Thing.walk.step",)),
        ("return step(self.size)", "return 0", ("pkg/core.py::Thing.walk",)),
        ("    size = 1\n", "    size = 2\n", ("pkg/core.py::Thing",)),
        ("def plain(value):", "@cache\ndef plain(value):", ("pkg/core.py::plain",)),
        (
            "def plain(value):\n    return value\n",
            "def helper():\n    return 1\n\n\ndef plain(value):\n    return helper()\n",
            ("pkg/core.py::", "pkg/core.py::plain"),
        ),
    ],
)
def test_the_innermost_definition_that_was_there_before(
    root: Path, old: str, new: str, places: tuple[str, ...]
) -> None:
    assert old in BEFORE
    assert touched_by(changed("pkg/core.py", BEFORE.replace(old, new)), root).places == places


def test_names_by_which_tests_may_speak_of_it(root: Path) -> None:
    after = BEFORE.replace("return self.size", "return 0").replace("n + 1", "n")
    touched = touched_by(changed("pkg/core.py", after), root)
    assert touched.names == {"Thing", "walk", "step"}
    assert touched.files == ("pkg/core.py",)
    assert touched.size == 4


@pytest.mark.parametrize(
    ("path", "after"),
    [
        ("pkg/new.py", "x = 1\n"),
        ("pkg/core.py", None),
        ("pkg/data.txt", "a\n"),
        ("pkg/core.py", "def broken(:\n"),
    ],
)
def test_what_cannot_be_told_apart_is_the_file(root: Path, path: str, after: str | None) -> None:
    touched = touched_by(changed(path, after), root)
    assert touched.places == (f"{path}::",)
    assert not touched.names
    assert touched.size > 0
