"""The rules: what a report says and what was seen → drafts of tests, one file per family."""

from __future__ import annotations

from pytest_brt.oracle.rules.apply import apply_rules

__all__ = ["apply_rules"]
