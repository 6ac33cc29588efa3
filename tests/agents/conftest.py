"""A small project that agents work on."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path

import pytest

from pytest_brt.agents.workspace import Workspace
from pytest_brt.project.index import open_index
from pytest_brt.types import Issue
from tests.agents.project import CODE, Make
from tests.model.serve import completion, open_model, serving


@pytest.fixture
def workspace(tmp_path: Path) -> Iterator[Make]:
    """Return what makes a workspace whose model plays replies in order, then the last for ever."""
    (tmp_path / "interval.py").write_text(CODE, "utf-8")
    (tmp_path / "latin.py").write_bytes(
        "# -*- coding: latin-1 -*-\nNAME = 'é'\r\n".encode("latin-1")
    )
    text = "# clamp\n\nclamp(5, 0, 10) gives 0."
    issue = Issue(id="i", source="issue.md", title="clamp", text=text, blocks=())
    with ExitStack() as stack:
        index = stack.enter_context(open_index(tmp_path))

        def make(*replies: str) -> Workspace:
            left = list(replies)
            url = stack.enter_context(
                serving(lambda _: completion(left.pop(0) if left[1:] else left[0]))
            )
            model = open_model(url)
            return Workspace(issue=issue, index=index, model=model, editor=model)

        yield make
