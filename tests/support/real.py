"""Real weights, fetched once into the user's cache; skipped with a word offline."""

from __future__ import annotations

import importlib.util
import sys
from functools import cache
from pathlib import Path
from types import ModuleType

import pytest


@cache
def _weights() -> ModuleType:
    path = Path(__file__).parents[2] / "examples" / "weights.py"
    spec = importlib.util.spec_from_file_location("brt_examples_weights", path)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = module
    spec.loader.exec_module(module)
    return module


def model(name: str) -> Path:
    """Return the GGUF file of a small real model, "smollm2" or "gemma3"; skip where it is not."""
    weights = _weights()
    try:
        path: Path = weights.fetch_model(name)
    except (weights.FetchError, OSError) as error:
        pytest.skip(f"no real weights: {error}")
    return path
