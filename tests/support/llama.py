"""What tests that generate with llama-cpp-python share; `tox -e llama` runs them."""

from __future__ import annotations

import ctypes
from dataclasses import replace
from importlib.util import find_spec
from typing import TYPE_CHECKING

import pytest

from pytest_brt.model.base import Settings
from pytest_brt.model.engine import open_file
from pytest_brt.model.worker_model import WorkerModel

if TYPE_CHECKING:  # it needs numpy, which comes with the extra
    from pytest_brt.model.worker.llama import Context, Weights

#: Whether it is installed; looked up, not imported: that takes a second.
INSTALLED = find_spec("llama_cpp") is not None
needs_llama = pytest.mark.llama


def open_gguf(path: str, settings: Settings, **how: str) -> WorkerModel:
    """Return the model in the file at `path` in a worker."""
    model = open_file(path, replace(settings, engine="inprocess"), **how)
    assert isinstance(model, WorkerModel)
    return model


def free(context: Context) -> None:
    """Free the memory of a context, which may not be used after it."""
    context.lib.llama_free(context.context)


def unload(weights: Weights) -> None:
    """Free a model whose contexts are free; nothing made from it may be used after it."""
    weights.lib.llama_model_free(weights.model)
    weights.lib.llama_log_set(weights.lib.llama_log_callback(0), ctypes.c_void_p(0))
