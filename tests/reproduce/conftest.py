"""Small projects with bugs, for reports that are really run on them."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from pytest_brt.sandbox.run_tests import Runner
from tests.reproduce.project import open_project


@pytest.fixture(scope="session")
def engine(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Runner]:
    """Return an engine that nobody changes: one for all files, as each takes a second."""
    engine = open_project(tmp_path_factory.mktemp("replay") / "project")
    yield engine
    engine.close()
