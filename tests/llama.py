"""Tests that generate with llama.cpp are left out where the extra is not installed."""

from __future__ import annotations

from dataclasses import replace
from importlib.util import find_spec

import pytest

from pytest_brt.model.base import Settings
from pytest_brt.model.host import LocalModel
from pytest_brt.model.opening import open_file

#: Whether it is; looked up, not imported: that takes a second.
INSTALLED = find_spec("llama_cpp") is not None
needs_llama = pytest.mark.skipif(not INSTALLED, reason="wants the extra llama")


def open_gguf(path: str, settings: Settings, **how: str) -> LocalModel:
    """Return the model in the file at `path` in a worker."""
    model = open_file(path, replace(settings, engine="inprocess"), **how)
    assert isinstance(model, LocalModel)
    return model
