"""What the project's own files say about a name: where it is defined, how it is imported."""

from __future__ import annotations

import os
import re
from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path

from pytest_brt.project.definitions import read_facts
from pytest_brt.project.layout import is_ignored_folder, is_test_path, is_vendored, module_names
from pytest_brt.pysource.parse import parses
from pytest_brt.types.subject import Subject

_DOCS = (".rst", ".md", ".txt")
#: Files larger than this are data.
_MOST_BYTES = 600_000
#: Files looked at, nearest to the root first.
_MOST_FILES = 4000
#: Ways of importing a name that are looked at.
_MOST_WAYS = 3


@dataclass(frozen=True, slots=True, kw_only=True)
class Mentions:
    """Where the project's files have a name."""

    #: The modules that define it at top level, the shortest first.
    defining: tuple[str, ...]
    #: How tests, docs and docstrings import it, the most usual way first.
    imports: tuple[str, ...]


def find_mentions(subject: Subject, names: Iterable[str]) -> dict[str, Mentions]:
    """Return where the project's files define and import each of `names`."""
    wanted = sorted({name for name in names if name.isidentifier()})
    if not wanted:
        return {}
    choice = "|".join(map(re.escape, wanted)).encode()
    definition = re.compile(
        rb"^(?:class|def|async def)[ ]+(" + choice + rb")\b|^(" + choice + rb")[ ]*(?::[^=\n]+)?=",
        re.MULTILINE,
    )
    binding = re.compile(
        rb"^[ \t]*(?:>>> )?((?:from [\w.]+ )?import [^\n#]*\b(?:" + choice + rb")\b[^\n#]*)$",
        re.MULTILINE,
    )
    usual: dict[str, Counter[str]] = {name: Counter() for name in wanted}
    defined: dict[str, set[str]] = {name: set() for name in wanted}
    for path, data in project_files(subject):
        test = is_test_path(path)
        if path.endswith(".py") and not test:
            module = module_name(path, subject)
            for match in definition.finditer(data) if module else ():
                defined[(match[1] or match[2]).decode()].add(module)
        for match in binding.finditer(data):
            line = match[1].decode("utf-8", "replace")
            if test or b">>> " in match[0] or not path.endswith(".py"):
                for name, statement in _canonical(line, wanted):
                    usual[name][statement] += 1
    return {
        name: Mentions(
            defining=tuple(sorted(defined[name], key=lambda m: (m.count("."), len(m), m))),
            imports=tuple(way for way, _ in usual[name].most_common(_MOST_WAYS)),
        )
        for name in wanted
    }


def main_packages(subject: Subject) -> tuple[str, ...]:
    """Return the project's packages; its lone modules only when it has no package.

    A module beside the packages is mostly a script, and importing it would run it.
    """
    folders = tuple(
        name
        for name in subject.packages
        if any((Path(subject.root) / root / name).is_dir() for root in subject.source_roots)
    )
    return folders or subject.packages


def module_name(path: str, subject: Subject) -> str:
    """Return the dotted name of a source file of the project, "" when it has none."""
    roots = sorted(subject.source_roots, key=len, reverse=True)
    names = (name for name in module_names(path, roots) if name.split(".")[0] in subject.packages)
    return next(names, "")


def project_files(subject: Subject) -> Iterator[tuple[str, bytes]]:
    """Yield path and content of the project's own Python and documentation files."""
    seen = 0
    for folder, folders, files in os.walk(subject.root):
        top = folder == str(subject.root)
        folders[:] = sorted(f for f in folders if not is_ignored_folder(f, top=top))
        for name in sorted(files):
            full = Path(folder) / name
            path = full.relative_to(subject.root).as_posix()
            if not name.endswith((".py", *_DOCS)) or is_vendored(path):
                continue
            seen += 1
            if seen > _MOST_FILES:
                return
            try:
                if full.stat().st_size > _MOST_BYTES:
                    continue
                data = full.read_bytes()
            except OSError:
                continue  # vanished or unreadable: it teaches nothing
            yield path, data


def _canonical(line: str, wanted: list[str]) -> Iterator[tuple[str, str]]:
    """Yield each wanted name that `line` imports, with the shortest statement that does."""
    line = line.strip().rstrip(";\\")
    for item in read_facts(line).imports if parses(line) else ():
        if item.bound in wanted and item.name != "*" and not item.module.startswith("."):
            yield item.bound, item.statement
