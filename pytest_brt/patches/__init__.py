"""Patches as people have them, and what they make of a tree."""

from pytest_brt.patches.apply import apply_patch, canonical_diff

__all__ = ["apply_patch", "canonical_diff"]
