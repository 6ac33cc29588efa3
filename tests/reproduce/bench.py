"""A workbench in a small project with a scripted model, for tests of strategies."""

from __future__ import annotations

import itertools
import json
import sys
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from pytest_brt.execute.engine import Engine
from pytest_brt.issue.load import load_issue
from pytest_brt.model.base import Settings
from pytest_brt.model.scripted import ScriptedModel
from pytest_brt.reproduce.strategy import Workbench
from pytest_brt.types import Issue
from tests.support.interval import SOURCE, TESTS
from tests.support.projects import open_on

_NUMBERS = itertools.count()


def open_project(root: Path) -> Engine:
    """Write the small project of `tests.support.interval` to `root` and return an engine for it."""
    (root / "interval").mkdir()
    (root / "interval/__init__.py").write_text(SOURCE, "utf-8")
    (root / "tests").mkdir()
    (root / "tests/test_interval.py").write_text(TESTS, "utf-8")
    return open_on(root, sandbox="auto", seconds=20)


def issue_of(text: str, folder: Path) -> Issue:
    """Return the report that `text` is."""
    path = folder / f"report-{next(_NUMBERS)}.md"
    path.write_text(text, "utf-8")
    return replace(load_issue(str(path), sys.stdin.buffer), source="clamp.md")


def bench_of(engine: Engine, folder: Path, script: str, **changes: Any) -> Workbench:
    """Return a workbench whose model follows `script`."""
    path = folder / f"script-{next(_NUMBERS)}.txt"
    path.write_text(script, "utf-8")
    said: list[str] = []
    context = changes.pop("context", 0)
    given: dict[str, Any] = {
        "engine": engine,
        "repeat": 1,
        "keep": 5,
        "model": ScriptedModel(str(path), Settings(context=context)),
        "say": said.append,
        **changes,
    }
    return Workbench(**given)


def replies(*parts: str) -> str:
    """Return a script of replies, each used once, in order."""
    return "".join(f"=== reply\n{part}\n" for part in parts)


def act(action: str, **arguments: str) -> str:
    """Return a reply that asks for an action."""
    return json.dumps({"thought": "because", "action": action, **arguments})


def code(source: str) -> str:
    """Return a reply that is one block of code."""
    return f"```python\n{source.strip()}\n```"


def problems(steps: Sequence[Any]) -> list[str]:
    """Return the first words of what was refused, per step."""
    told = ("" if step.is_done else step.observation for step in steps)
    return [" ".join(text.split()[:4]) for text in told]
