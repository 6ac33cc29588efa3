"""Which lines of the project tests run, and which functions a report's code calls.

Both are seen in the subject's own interpreter, in isolation.
"""

from __future__ import annotations

import base64
import json
import zlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

from pytest_brt.code.layout import is_test_path
from pytest_brt.execute.engine import Engine, Observed, Program
from pytest_brt.execute.process import INSIDE
from pytest_brt.types import FileChange

#: The statement that makes `inside/lines.py` known as ``_brt``.
_LOADING = "_brt = __import__('sys').modules['_brt_start'].load('lines')"
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

    They have `seconds` of wall-clock time together. coverage.py is used where the subject's
    interpreter has it, unless `prefer` is "trace". Code that runs when a module is imported counts
    for no test.

    Raises:
        SubjectProblem: the interpreter cannot be started at all.
    """
    subject = engine.subject
    args = list(subject.pytest_args)
    if not subject.ini:
        args += ["-c", str(INSIDE / "empty.ini")]
    asked = (list(nodes), subject.source_roots[0], args, prefer)
    statements = (_LOADING, f"_parts = _brt.run(*{asked!r})", *_telling())
    observation = engine.observe(
        Program(
            statements=statements,
            changes=tuple(changes),
            statement_seconds=seconds,
            total_seconds=seconds + 30.0,
        )
    )
    seen = observation.observed
    raised = next((one.raised for one in seen if one.raised), None)
    if raised is not None:
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
            lines={
                path: frozenset(lines) for path, lines in files.items() if not is_test_path(path)
            },
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
    begin = f"_calls = _brt.Calls({engine.subject.source_roots[0]!r})"
    program = (*prepare, _LOADING, begin, *statements, "_parts = _calls.parts()", *_telling())
    seen = engine.observe(Program(statements=program)).observed
    data = _told(seen) if len(seen) == len(program) else None
    return frozenset((path, line) for path, line in data or ())


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
