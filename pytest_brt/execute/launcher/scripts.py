"""The scripts for the subject that the launcher uses as well."""

from __future__ import annotations

import importlib.util
from pathlib import Path
from types import ModuleType

_INSIDE = Path(__file__).parents[1] / "inside"


def load_script(name: str) -> ModuleType:
    """Return one of the scripts for the subject, which are not a package."""
    spec = importlib.util.spec_from_file_location(f"_brt_{name}", _INSIDE / f"{name}.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module
