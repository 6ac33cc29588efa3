"""Results as the project's tests see them.

A conftest may change how things are printed; then a test that forbids the text seen in a
plain process passes although nothing is right. The result is asked for again, in a test.
"""

from __future__ import annotations

import ast
from dataclasses import replace

from pytest_brt.execute.engine import Engine
from pytest_brt.execute.row import Row, TestTarget
from pytest_brt.observe.watch import Replayed
from pytest_brt.oracle.assertion import literal
from pytest_brt.oracle.write import Draft, module, script
from pytest_brt.reading.compare import is_steady, likeness
from pytest_brt.reading.mend import parses
from pytest_brt.syntax import parse_expression
from pytest_brt.types import OracleKind


def retold(draft: Draft, replayed: Replayed, engine: Engine) -> Draft | None:
    """Return the draft with the text that a test gets to see, None when it cannot be told."""
    if draft.index is None or draft.kind is not OracleKind.GONE or " != " not in draft.body[-1]:
        return None
    text = draft.body[-1].removeprefix("assert ")
    left = _left(text)
    if not left or not (left.endswith(".out") or left.startswith(("str(", "repr("))):
        return None
    lines = [line for line in draft.body[:-1] if not line.startswith("reported = ")]
    probe = replace(draft, body=(*lines, f"raise LookupError({left})"))
    source = module(probe, replayed, "test_probe")
    if source is None:
        return None
    folder = engine.subject.test_root.strip("/")
    path = "test_brt_probe.py" if folder in ("", ".") else f"{folder}/test_brt_probe.py"
    target = TestTarget(id="probe", path=path, source=source, node="test_probe")
    runs = engine.run(Row(targets=(target,))).runs
    raised = runs[0].raised if runs else None
    if raised is None or raised.type != "LookupError" or not is_steady(raised.message):
        return None
    shown = raised.message
    seen = replayed.seen[draft.index].did
    if left.endswith(".out") and seen and not likeness(shown, seen.stdout):
        return _in_own_process(draft, replayed, lines[0], seen.stdout)
    constant = literal(shown)
    body = [*lines, f"assert {left} != {constant}"]
    if "\n" in constant:
        body = [f"reported = {constant}", *lines, f"assert {left} != reported"]
    return replace(
        draft,
        body=tuple(body),
        score=draft.score - 0.02,
        reasons=(*draft.reasons, "as this project's tests see it"),
    )


def _in_own_process(draft: Draft, replayed: Replayed, statement: str, seen: str) -> Draft | None:
    """Print in a process that no conftest has changed, as the report did."""
    plain = replace(draft, body=(statement,), fixtures=())
    text = script(plain, replayed)
    if text is None:
        return None
    code, reported = literal(text), literal(seen)
    return replace(
        draft,
        body=(
            f"script = {code}",
            f"reported = {reported}",
            'command = [sys.executable, "-c", script]',
            'done = subprocess.run(command, capture_output=True, encoding="utf-8", check=True)',
            "assert done.stdout != reported",
        ),
        fixtures=(),
        imports=("import subprocess", "import sys"),
        score=draft.score - 0.02,
        reasons=(*draft.reasons, "in a process of its own, as the report shows it"),
    )


def _left(text: str) -> str:
    if not parses(text):
        return ""
    node = parse_expression(text)
    if isinstance(node, ast.Compare) and len(node.ops) == 1 and isinstance(node.ops[0], ast.NotEq):
        return ast.get_source_segment(text, node.left) or ""
    return ""
