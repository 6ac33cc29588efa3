"""What every scenario has at hand."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

import pytest

from tests.scenarios.project import Make, Project

HERE = Path(__file__).parent


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Let xdist's workers begin with these files."""
    for item in items:
        if HERE in item.path.parents:
            item.add_marker("long")


@pytest.fixture(scope="module")
def make(tmp_path_factory: pytest.TempPathFactory) -> Make:
    """Return what makes a project of some files; several tests may look at one run of it."""

    def make_project(files: Mapping[str, str]) -> Project:
        folder: Path = tmp_path_factory.mktemp("scenario")
        # Root's own temporary folders are closed to others, and tests run as nobody.
        for path in (folder, *folder.parents[:2]):
            path.chmod(0o755)
        return Project(folder, files)

    return make_project
