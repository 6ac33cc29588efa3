"""Failing tests from bug reports, and candidate fixes ranked by them, offline."""

from __future__ import annotations

__version__ = "0.1.0"
