"""The real bugs of `examples/`, for tests that need a project of some size."""

from __future__ import annotations

import importlib.util
import sys
from pathlib import Path

EXAMPLES = Path(__file__).parents[2] / "examples"
NAMES = tuple(sorted(path.parent.name for path in EXAMPLES.glob("*/example.toml")))


def unpack(example: Path, into: Path) -> Path:
    """Unpack the release that has the bug into `into`, and return the root of its tree."""
    spec = importlib.util.spec_from_file_location("brt_examples_run", EXAMPLES / "run.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = module
    spec.loader.exec_module(module)
    root: Path = module.unpack(example, into)
    return root
