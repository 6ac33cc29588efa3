"""Tests that generate with llama.cpp are left out where the extra is not installed."""

from __future__ import annotations

from importlib.util import find_spec

import pytest

#: Whether it is; looked up, not imported: that takes a second.
INSTALLED = find_spec("llama_cpp") is not None
needs_llama = pytest.mark.skipif(not INSTALLED, reason="wants the extra llama")
