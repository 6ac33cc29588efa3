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
    """Return `file` with the settings it lacks, from the example most like the report.

    Args:
        file: settings in Python: assignments only.
        text: the whole report, which names what it is about.
        paths: the files that the report shows; settings that name their folders are taken.
        subject: the project; only its tests are looked at.
        empty: complete settings of which the report shows nothing, too.
    """
    if not file.path.endswith(".py") or not _is_settings(file.content):
        return file
    if not empty and not _assigned(file.content):
        return file
    examples = _examples(subject, file.path.rpartition("/")[2])
    if not examples:
        return file
    frequency = Counter(word for example in examples for word in _words(example))
    rare = {word for word, count in frequency.items() if count <= max(1, len(examples) // 3)}
    words = _words(text) & rare
    best = max(examples, key=lambda example: (len(_words(example) & words), -len(example)))
    if not _words(best) & words:
        return file
    own = _assigned(file.content)
    lacking = [
        ast.unparse(node)
        for node in parse(best).body
        if not (isinstance(node, ast.Assign) and _targets(node) & own)
    ]
    have = own | _assigned("\n".join(lacking))
    lacking += _about_folders(examples, {path.split("/")[0] for path in paths if "/" in path}, have)
    return replace(file, content="\n".join([*lacking, file.content]).strip("\n") + "\n")


def _about_folders(examples: list[str], folders: set[str], have: set[str]) -> list[str]:
    """Return the most usual settings that name one of `folders`, as in `paths = ["_files"]`."""
    found: Counter[str] = Counter()
    for example in examples:
        for node in parse(example).body:
            if not isinstance(node, ast.Assign) or _targets(node) & have:
                continue
            values = {c.value for c in ast.walk(node.value) if isinstance(c, ast.Constant)}
            if values & folders:
                found[ast.unparse(node)] += 1
    return [setting for setting, _ in found.most_common(1)]


def _is_settings(content: str) -> bool:
    return parses(content) and all(
        isinstance(node, ast.Assign | ast.Import | ast.ImportFrom) for node in parse(content).body
    )


def _words(text: str) -> set[str]:
    return set(_WORD.findall(text.lower()))


def _assigned(content: str) -> set[str]:
    return {
        name
        for node in parse(content).body
        if isinstance(node, ast.Assign)
        for name in _targets(node)
    }


def _targets(node: ast.Assign) -> set[str]:
    return {target.id for target in node.targets if isinstance(target, ast.Name)}


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
        if parses(text) and not re.search(r"^\s*(?:def|class) ", text, re.MULTILINE):
            found.append(text)
    return sorted(found)
