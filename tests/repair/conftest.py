from __future__ import annotations

from collections.abc import Iterator

import pytest

from tests.repair.scenes import Scene, open_scene


@pytest.fixture(scope="session")
def scene(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Scene]:
    with open_scene(tmp_path_factory.mktemp("repair") / "project") as scene:
        yield scene
