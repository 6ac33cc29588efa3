"""Who runs the tests: an ordinary user, that no account is needed for."""

from __future__ import annotations

from pathlib import Path

#: Of the repository.
ROOT = Path(__file__).parents[2]

#: No account is needed for it.
ORDINARY = 12345
