"""The small project with a bug of each kind, for reports that are really run on it."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from pytest_brt.execute.engine import Engine
from tests.reproduce.replay.project import open_project


@pytest.fixture(scope="module")
def engine(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Engine]:
    engine = open_project(tmp_path_factory.mktemp("replay") / "project")
    yield engine
    engine.close()
