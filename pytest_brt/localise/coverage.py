"""Which lines of the project tests run, and which functions a report's code calls.

Both are seen in the subject's own interpreter, in isolation.
"""

from __future__ import annotations

import base64
import json
import zlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, ClassVar

from pytest_brt.execute.engine import Engine, Observed, Program
from pytest_brt.types import FileChange

#: What runs in the subject.
_INSIDE = Path(__file__).parent.parent / "execute" / "inside" / "lines.py"
#: Parts of the answer that are asked for at most.
_PARTS = 60


@dataclass(frozen=True, slots=True, kw_only=True)
class TestLines:
    """What one test ran."""

    #: pytest must not take this for a test class.
    __test__: ClassVar[bool] = False

    #: As pytest names it, from the root of the project.
    node: str
    #: "passed", "failed" or "skipped".
    outcome: str
    #: File of the project → lines; test files are left out.
    lines: Mapping[str, frozenset[int]]


@dataclass(frozen=True, slots=True, kw_only=True)
class Watched:
    """What some tests ran."""

    tests: tuple[TestLines, ...]
    #: By what it was seen: "coverage" (coverage.py) or "trace"; "" when nothing was.
    by: str = ""
    #: Why nothing was seen, or "".
    problem: str = ""


def watch_lines(
    engine: Engine,
    nodes: Sequence[str],
    *,
    changes: Sequence[FileChange] = (),
    seconds: float = 60.0,
    prefer: str = "coverage",
) -> Watched:
    """Run `nodes` on a view of the tree with `changes`, in one process, and note their lines.

    coverage.py is used where the subject's interpreter has it. Code that runs when a module is
    imported counts for no test.

    Args:
        engine: runs it.
        nodes: tests as pytest names them, paths from the root of the project.
        changes: files to put there first, as tests that the tree does not hold.
        seconds: wall-clock time for all of them.
        prefer: "coverage", or "trace" for the trace function even where coverage.py is.

    Raises:
        SubjectProblem: the interpreter cannot be started at all.
    """
    subject = engine.subject
    args = list(subject.pytest_args)
    files: tuple[FileChange, ...] = ()
    if not subject.ini:
        files = (FileChange(path="brt-empty.ini", content=b"[pytest]\n"),)
        args += ["-c", "brt-empty.ini"]
    root = subject.source_roots[0] if subject.source_roots else "."
    statements = (
        *_loading(),
        f"_args = {(list(nodes), root, args, prefer)!r}",
        "_args[2][:] = [os.path.abspath(a) if a == 'brt-empty.ini' else a for a in _args[2]]",
        "_parts = _brt.run(*_args)",
        *_telling(),
    )
    observation = engine.observe(
        Program(
            statements=statements,
            files=files,
            changes=tuple(changes),
            statement_seconds=seconds,
            total_seconds=seconds + 30.0,
        )
    )
    seen = observation.observed
    failed = next((one for one in seen if one.raised), None)
    if failed is not None and failed.raised is not None:
        raised = failed.raised
        return Watched(tests=(), problem=f"{raised.type}: {raised.message}")
    if len(seen) < len(statements):
        return Watched(tests=(), problem=observation.ended or "the tests did not end")
    data = _told(seen)
    if data is None:
        return Watched(tests=(), problem="the tests run too many lines to be told")
    tests = tuple(
        TestLines(
            node=node,
            outcome=outcome,
            lines={path: _numbers(spans) for path, spans in files.items()},
        )
        for node, outcome, files in data["tests"]
    )
    return Watched(tests=tests, by=data["by"])


def watch_calls(
    engine: Engine, prepare: Sequence[str], statements: Sequence[str]
) -> frozenset[tuple[str, int]]:
    """Run `prepare`, then `statements`, and return the functions that the latter call.

    Each is given as its file and first line, decorators included. What raises counts as well; of
    statements that end the process nothing is known.

    Raises:
        SubjectProblem: the interpreter cannot be started at all.
    """
    roots = engine.subject.source_roots
    begin = f"_calls = _brt.Calls({roots[0] if roots else '.'!r})"
    program = (*prepare, *_loading(), begin, *statements, "_parts = _calls.parts()", *_telling())
    seen = engine.observe(Program(statements=program)).observed
    data = _told(seen) if len(seen) == len(program) else None
    return frozenset((path, line) for path, line in data or ())


def _loading() -> tuple[str, ...]:
    """Return the statements that make the code of `_INSIDE` known as ``_brt``."""
    source = _INSIDE.read_text(encoding="utf-8")
    return (
        "import os, types",
        "_brt = types.ModuleType('_brt_lines')",
        f"exec(compile({source!r}, '<lines>', 'exec'), _brt.__dict__)",
    )


def _telling() -> tuple[str, ...]:
    """Return the statements whose values are what ``_parts`` holds, the number of parts first."""
    each = (f"_parts[{n}] if len(_parts) > {n} else ''" for n in range(_PARTS))
    return ("len(_parts)", *each)


def _told(seen: Sequence[Observed]) -> Any:
    """Return what the values of `_telling` hold; None when they are too many, or not there."""
    count, *parts = [one.value.text if one.value else "" for one in seen[-_PARTS - 1 :]]
    if not count.isdigit() or int(count) > _PARTS:
        return None
    return json.loads(zlib.decompress(base64.b64decode("".join(parts))))


def _numbers(spans: str) -> frozenset[int]:
    """Return the lines that a text like "1-3,7" names.

    >>> sorted(_numbers("1-3,7"))
    [1, 2, 3, 7]
    """
    found: set[int] = set()
    for span in filter(None, spans.split(",")):
        first, _, last = span.partition("-")
        found.update(range(int(first), int(last or first) + 1))
    return frozenset(found)
