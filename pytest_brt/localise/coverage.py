"""Which lines of the project tests run, seen in the subject's own interpreter, in isolation."""

from __future__ import annotations

import base64
import json
import zlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, ClassVar

from pytest_brt.execute.engine import Engine
from pytest_brt.execute.observation import Program
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
    source = _INSIDE.read_text(encoding="utf-8")
    asked = (list(nodes), subject.source_roots[0] if subject.source_roots else ".", args, prefer)
    statements = (
        "import os, types",
        "_brt = types.ModuleType('_brt_lines')",
        f"exec(compile({source!r}, '<lines>', 'exec'), _brt.__dict__)",
        f"_args = {asked!r}",
        "_args[2][:] = [os.path.abspath(a) if a == 'brt-empty.ini' else a for a in _args[2]]",
        "_parts = _brt.run(*_args)",
        "len(_parts)",
        *(f"_parts[{n}] if len(_parts) > {n} else ''" for n in range(_PARTS)),
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
    parts = [one.value.str for one in seen[7:] if one.value is not None]
    if len(seen) < len(statements):
        return Watched(tests=(), problem=observation.ended or "the tests did not end")
    if seen[6].value is None or int(seen[6].value.str) > _PARTS:
        return Watched(tests=(), problem="the tests run too many lines to be told")
    return _read("".join(parts))


def _read(text: str) -> Watched:
    data: Any = json.loads(zlib.decompress(base64.b64decode(text)))
    tests = tuple(
        TestLines(
            node=node,
            outcome=outcome,
            lines={path: _numbers(spans) for path, spans in files.items()},
        )
        for node, outcome, files in data["tests"]
    )
    return Watched(tests=tests, by=data["by"])


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
