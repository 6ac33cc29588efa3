"""What an agent works on, the project's files with its changes, and the tools that read them."""

from __future__ import annotations

import difflib
import re
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from typing import NamedTuple

from pytest_brt.agents.prompts import numbered, render, report_text, system_and_user
from pytest_brt.model.model import Model
from pytest_brt.model.request import Message, Reply, Request
from pytest_brt.project.definitions import Definition
from pytest_brt.project.index import Index, search_definitions
from pytest_brt.project.layout import escapes_root, is_test_path
from pytest_brt.pysource.parse import decode
from pytest_brt.types import FileChange, Issue, Step, Verdict

#: The line, or the test, that a model writes behind a path.
_BEHIND = re.compile(r"(?::\d[\d:,-]*|::.*)$")
#: Lines of a file that are shown at once, hits, and definitions of one name.
_LINES, _HITS, _SHOWN = 160, 20, 3
_DEFINES = re.compile(r"\s*(?:async\s+def|def|class)\b")


class Refused(Exception):
    """A tool was not run; the text tells the model what to do instead."""


class Observation(NamedTuple):
    """What a tool returns that has more than text to say."""

    text: str
    #: Files of the private tree that it changed, as they are now.
    changes: tuple[FileChange, ...] = ()
    #: What the tests did that it ran.
    verdict: Verdict | None = None
    #: The fixes that it tried and took back.
    diffs: tuple[str, ...] = ()
    #: Whether the dialogue ends.
    is_over: bool = False


@dataclass(kw_only=True)
class Workspace:
    """A private view of the project: nothing of the user's is written."""

    issue: Issue
    index: Index
    model: Model
    #: Writes code where another model thinks; the same as `model` else.
    editor: Model
    #: The run's first seed; each question has its own.
    seed: int = 0
    say: Callable[[str], None] = lambda _: None
    #: Files that are other than on disk, by path.
    changed: dict[str, bytes] = field(default_factory=dict)
    #: The messages that the dialogue began with, and the steps so far.
    opening: tuple[Message, ...] = ()
    steps: list[Step] = field(default_factory=list)

    def next_seed(self) -> int:
        """Return the seed of this step's questions."""
        return (self.seed + 1000 * len(self.steps)) % 2**31

    def ask(
        self, model: Model, name: str, longest: int, n: int = 1, /, **values: object
    ) -> list[Reply]:
        """Return the replies to a question that a tool asks, in at most so many tokens each."""
        request = Request(
            messages=system_and_user(
                name,
                title=self.issue.title,
                report=report_text(self.issue, model.context),
                **values,
            ),
            n=n,
            temperature=0.2 if n == 1 else 0.9,
            seed=self.next_seed(),
            max_tokens=min(longest, model.context // 4),
        )
        return model.complete(request)

    def find(self, path: str) -> str:
        """Return the project's path for one as a model wrote it.

        Raises:
            Refused: none is meant by it, or several.
        """
        bare = _BEHIND.sub("", path.strip(" '\"`"))
        if found := bare if bare in self.changed else self.index.layout.find_path(bare):
            return found
        like = difflib.get_close_matches(bare, self.index.layout.files, n=4, cutoff=0.5)
        raise Refused(
            f"There is no file {path!r}. Files like it: {', '.join(like) or 'none'}."
        )

    def on_disk(self, path: str) -> bytes:
        """Return a file as the project has it, b"" where it has none."""
        root = self.index.root
        if path not in self.index.layout.files or escapes_root(root, path):
            return b""
        return (root / path).read_bytes()

    def read(self, path: str) -> bytes:
        """Return a file as it is now, b"" where there is none."""
        return self.changed[path] if path in self.changed else self.on_disk(path)

    def lines(self, path: str) -> list[str]:
        """Return the lines of a file, as their numbers count them."""
        return decode(self.read(path)).removesuffix("\n").split("\n")


def named(name: str, names: Iterable[str]) -> str:
    """Return the known name that `name` means: the same, part of it, or nearly so; "" for none.

    >>> named("search", ["cat", "code_search"])
    'code_search'
    """
    known = list(names)
    plain = re.sub(r"[^a-z0-9]+", "_", name.lower()).strip("_")
    for same in (name, plain):
        if same in known:
            return same
    like = [one for one in known if len(plain) > 2 and (plain in one or one in plain)]
    like = like or difflib.get_close_matches(plain, known, n=2, cutoff=0.9)
    return like[0] if len(like) == 1 else ""


# -- tools that read and search: files, definitions, calls --


def cat(env: Workspace, path: str, first: str = "1", last: str = "") -> str:
    """Show a file, or its lines from "first" to "last"."""
    path = env.find(path)
    lines = env.lines(path)
    begin, end = (int(re.sub(r"\D", "", number) or 0) for number in (first, last))
    begin = min(max(1, begin), len(lines))
    end = min(len(lines), end or len(lines), begin + _LINES - 1)
    return f"{path}, lines {begin} to {end} of {len(lines)}:\n{numbered(lines, begin, end)}"


def read_range(env: Workspace, path: str, first: str, last: str) -> str:
    """Show lines of a file."""
    return cat(env, path, first, last)


def definitions_called(env: Workspace, path: str, name: str = "") -> list[Definition]:
    """Return the functions, methods and classes of a file that `name` can mean, "" for all.

    Raises:
        Refused: it means none.
    """
    bare = name.partition("(")[0].strip(" .:").replace("::", ".")
    end = bare and f".{bare}"
    meant = [
        one
        for one in env.index.definitions_in(path)
        if not one.is_variable and f".{one.qualname}".endswith(end)
    ]
    if name and not meant:
        raise Refused(
            f"{path} has no {name!r}. List what it defines, or search for the name."
        )
    return meant


def get_classes_and_methods(env: Workspace, path: str) -> str:
    """List the classes and functions of a file with their lines."""
    path = env.find(path)
    return render("definitions", path=path, known=definitions_called(env, path))


def extract_method(env: Workspace, path: str, name: str) -> str:
    """Show the whole source of a function or method."""
    path = env.find(path)
    known, lines = definitions_called(env, path, name)[:_SHOWN], env.lines(path)
    return render("methods", path=path, known=known, lines=lines)


def code_search(env: Workspace, text: str) -> str:
    """Find the lines of the project that contain a name or some code, definitions first."""
    return _lines_with(env, text.strip(" '\"`").removesuffix("()"), "")


def find_similar_api_calls(env: Workspace, name: str) -> str:
    """Show calls of a function, given by its name or by code that calls it."""
    return _lines_with(env, re.split(r"\W+", name.partition("(")[0].strip())[-1], "(")


def _lines_with(env: Workspace, text: str, bracket: str) -> str:
    """Return the lines with a text, definitions first and tests last; only calls with a bracket."""
    hits = []
    wanted = f"{text}{bracket}".lower()
    for path in env.index.layout.files:
        for number, line in enumerate(env.lines(path), 1):
            is_other = _DEFINES.match(line) is None
            if text and wanted in line.lower() and (is_other or not bracket):
                hits.append(
                    (is_other, is_test_path(path), path, number, line.strip()[:140])
                )
    lines = [f"{path}:{number}: {line}" for *_, path, number, line in sorted(hits)[:_HITS]]
    return "\n".join([*lines, f"({len(hits)} in all)"])


def search_code_base(env: Workspace, keywords: str) -> str:
    """Find files, classes and functions by words of their names or code."""
    lines = [
        f"{chunk.path} → {chunk.function or 'module'} (line {chunk.line}): {', '.join(words)}"
        for chunk, words in search_definitions(keywords, env.index, _HITS)
    ]
    return "\n".join(lines) or f"Nothing has a name like {keywords!r}."
