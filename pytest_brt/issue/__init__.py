"""Reads bug reports: text in, blocks, sessions, tracebacks and sentences out."""

from __future__ import annotations

from pytest_brt.issue.load import load_issue, read_issue

__all__ = ["load_issue", "read_issue"]
