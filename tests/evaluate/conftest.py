"""What the tests of whole studies share."""

from __future__ import annotations

import os

import pytest

from tests.evaluate.bugs import NO_MATPLOTLIB


@pytest.fixture
def without_plots(pytester: pytest.Pytester, monkeypatch: pytest.MonkeyPatch) -> None:
    missing = pytester.mkdir("missing")
    (missing / "matplotlib.py").write_text(NO_MATPLOTLIB, "utf-8")
    monkeypatch.setenv("PYTHONPATH", str(missing), prepend=os.pathsep)
