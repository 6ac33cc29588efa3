"""Failing tests from bug reports, and patches ranked by them, offline."""

from __future__ import annotations

__version__ = "0.1.0"
