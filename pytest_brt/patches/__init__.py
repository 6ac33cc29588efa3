"""Text → `Patch`, and patches applied safely to a copy of what they touch."""

from pytest_brt.patches.application import apply_patch, canonical_diff
from pytest_brt.patches.folder import read_patches

__all__ = ["apply_patch", "canonical_diff", "read_patches"]
