"""Text → `Patch`, and patches applied safely to a copy of what they touch."""

from pytest_brt.patches.apply import apply_patch
from pytest_brt.patches.canonical import canonical_diff
from pytest_brt.patches.read import read_patches

__all__ = ["apply_patch", "canonical_diff", "read_patches"]
