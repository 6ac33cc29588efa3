"""A small project with one bug per oracle."""

from __future__ import annotations

from pathlib import Path

from pytest_brt.execute.engine import Engine
from pytest_brt.issue.load import read_issue
from pytest_brt.reproduce.replay.run import replay
from pytest_brt.types import Attempt, JudgedTest
from tests.support.projects import open_on

CORE = """\
import os
import warnings


def first(items, default=None):
    return _take(items, 0)


def _take(items, place):
    return items[place]


def double(x):
    return x + x + 1


def shout(text):
    print(text.upper() + "?")


def lines(items):
    return "".join(item + "\\n" for item in items)


def check(n):
    return n


def clean(text):
    return text.replace("  ", " ")


def encode(text):
    return text.upper()


def decode(text):
    return text


def old():
    warnings.warn("old() goes away", FutureWarning, stacklevel=2)
    return 1


class Shelf:
    def __setitem__(self, key, value):
        raise KeyError(f"no room for {key}")


def die():
    os.abort()


def lack():
    import not_installed_anywhere


class Box:
    def __init__(self, value):
        self.value = value

    def __repr__(self):
        return f"Box<{self.value}>"

    def fill(self, value):
        self.value = [value]


def render(box):
    return "[" + str(box.value) + "]"


def to_text(box):
    raise TypeError("cannot render " + repr(box.value))
"""

#: What reports about reasons are about.
MORE = """\
class Mismatch(Exception):
    pass


def match(text):
    raise Mismatch("expected identifier, found " + text)


def read(name):
    with open(name) as file:
        return file.read()


def mapping():
    import collections

    return collections.Mapping


def nothing(x):
    x + 1


def pair(x):
    return Pair(x)


class Pair:
    def __init__(self, value):
        self.value = value

    def __repr__(self):
        return f"[{self.value}, {self.value}]"


class Told(Pair):
    def __repr__(self):
        return "Told"

    def __str__(self):
        return str([self.value, self.value])


def told(x):
    return Told(x)


class Scale:
    by = 1

    @classmethod
    def set_by(cls, by):
        cls.by = by


def scaled(x):
    return x * min(Scale.by, 1) + 1


def date(day, month, year):
    return f"{year}-{day:02}-{month:02}"
"""

MAIN = """\
import difflib
import sys


def trim(name):
    # It takes spaces from the ends of lines, and comments with them.
    with open(name, encoding="utf-8") as file:
        lines = [line.split("#")[0].rstrip() for line in file]
    with open(name, "w", encoding="utf-8") as file:
        file.write("\\n".join(lines) + "\\n")
    print("Trimming " + name)


def main():
    if sys.argv[1:2] in (["--show"], ["--diff"]):
        with open(sys.argv[2], encoding="utf-8") as file:
            before = file.read().splitlines()
        after = [line.split("#")[0].rstrip() for line in before]
        changed = difflib.unified_diff(before, after, "old", "new", lineterm="")
        print("\\n".join(after if sys.argv[1] == "--show" else changed))
        return 0
    if sys.argv[1:2] == ["-"]:
        print(sys.stdin.read().split("#")[0].rstrip() + " # nothing else here")
        return 0
    if sys.argv[1:2] == ["--trim"]:
        for name in sys.argv[2:]:
            trim(name)
        return 0
    for name in sys.argv[1:]:
        with open(name, encoding="utf-8") as file:
            for number, line in enumerate(file, 1):
                if len(line) > 10:
                    print(f"{name}:{number}: error: line is long")
                    return 1
    if len(sys.argv) == 1:
        raise KeyError("no file")
    return 0


if __name__ == "__main__":
    sys.exit(main())
"""

SETUP = """\
[project]
name = "pkg"
version = "1"

[project.scripts]
pkg = "pkg.__main__:main"
"""


def make_project(root: Path) -> Path:
    """Write the project to `root`."""
    (root / "pkg").mkdir(parents=True)
    (root / "tests").mkdir()
    (root / "pyproject.toml").write_text(SETUP, encoding="utf-8")
    exports = "from pkg.core import double, first, render, to_text\n"
    (root / "pkg" / "__init__.py").write_text(exports, encoding="utf-8")
    (root / "pkg" / "core.py").write_text(CORE, encoding="utf-8")
    (root / "pkg" / "more.py").write_text(MORE, encoding="utf-8")
    (root / "pkg" / "__main__.py").write_text(MAIN, encoding="utf-8")
    (root / "tests" / "test_box.py").write_text(
        "from pkg.core import Box\n\n\ndef test_box():\n    assert Box(1).value == 1\n",
        encoding="utf-8",
    )
    return root


def open_project(root: Path) -> Engine:
    """Return an engine on a new copy of the project."""
    return open_on(make_project(root), seconds=20)


def attempt(engine: Engine, text: str, *, repeat: int = 1) -> Attempt:
    issue = read_issue(text, "issue.md")
    return replay(issue, engine=engine, repeat=repeat)


def candidates(made: Attempt) -> list[JudgedTest]:
    return [item for item in made.tests if item.judgement.candidate]
