"""Settings that a report shows in part → whole ones, after the project's own examples.

A report gives the two settings that matter; the tool needs the others, too, such as the list
of its plugins. The project's tests hold settings files of the same name that work.
"""

from __future__ import annotations

import ast
import os
import re
from collections import Counter
from collections.abc import Collection
from dataclasses import replace
from pathlib import Path

from pytest_brt.code.layout import is_test_path
from pytest_brt.execute.subject import Subject
from pytest_brt.reading.mend import parses
from pytest_brt.reading.reported_files import File
from pytest_brt.syntax import parse

_WORD = re.compile(r"[a-z]{4,}")
#: Examples read at most, and bytes of each.
_MOST_FILES, _MOST_BYTES = 400, 20_000


def completed(
    file: File, text: str, paths: Collection[str], subject: Subject, *, empty: bool = False
) -> File:
    """Return `file` with the settings it lacks, from the example most like the report's `text`.

    Of other examples the usual setting is taken that names a folder of the report's `paths`.
    Settings of which the report shows nothing are completed with `empty` only.
    """
    own = _settings(file.content) if file.path.endswith(".py") else None
    if own is None or not (own or empty):
        return file
    examples = _examples(subject, file.path.rpartition("/")[2])
    frequency = Counter(word for example in examples for word in _words(example))
    rare = {word for word, count in frequency.items() if count <= max(1, len(examples) // 3)}
    alike = {example: len(_words(example) & _words(text) & rare) for example in examples}
    best = max(alike, key=lambda example: (alike[example], -len(example)), default="")
    if not alike.get(best):
        return file
    lacking = {name: line for name, line in (_settings(best) or {}).items() if name not in own}
    folders = [repr(path.split("/")[0]) for path in paths if "/" in path]
    about = Counter(
        line
        for example in examples
        for name, line in (_settings(example) or {}).items()
        if name not in own | lacking and any(folder in line for folder in folders)
    )
    lines = [*lacking.values(), *(line for line, _ in about.most_common(1)), file.content]
    return replace(file, content="\n".join(lines).strip("\n") + "\n")


def _settings(content: str) -> dict[str, str] | None:
    """Return the lines of a file of settings by the names they set; None where it is another."""
    found: dict[str, str] = {}
    for node in parse(content).body if parses(content) else (ast.Pass(),):
        line = ast.unparse(node)
        if isinstance(node, ast.Assign) and isinstance(node.targets[0], ast.Name):
            found[node.targets[0].id] = line
        elif isinstance(node, ast.Import | ast.ImportFrom | ast.Expr):
            found[line] = line
        else:
            return None
    return found


def _words(text: str) -> set[str]:
    return set(_WORD.findall(text.lower()))


def _examples(subject: Subject, name: str) -> list[str]:
    """Return the short Python files of that name among the project's tests."""
    found: list[str] = []
    for folder, folders, files in os.walk(subject.root):
        folders[:] = sorted(entry for entry in folders if not entry.startswith("."))
        if name not in files or len(found) >= _MOST_FILES:
            continue
        path = Path(folder) / name
        if not is_test_path(path.relative_to(subject.root).as_posix()):
            continue
        text = path.read_bytes()[:_MOST_BYTES].decode("utf-8", "replace")
        if _settings(text):
            found.append(text)
    return sorted(found)
