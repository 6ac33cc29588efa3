"""Whether a coding agent started this run: it reads an answer, and no picture of one."""

from __future__ import annotations

from collections.abc import Mapping

#: Variables that agents set: two that any of them may, then those of single ones, as their
#: documentation and the packages that tell them apart have them (2026-11).
VARIABLES = (
    "AI_AGENT", "AGENT", "CLAUDECODE", "CLAUDE_CODE", "CURSOR_AGENT", "GEMINI_CLI", "CODEX_SANDBOX",
    "CODEX_CI", "COPILOT_AGENT", "COPILOT_CLI", "AUGMENT_AGENT", "OPENCODE", "ANTIGRAVITY_AGENT",
)  # fmt: skip


def is_agent(environ: Mapping[str, str]) -> bool:
    """Say whether the variables of a process tell of a coding agent."""
    return any(environ.get(name) for name in VARIABLES)
