"""``python -m pytest_brt`` is the command ``pytest-brt``."""

from __future__ import annotations

from pytest_brt.cli.main import main

if __name__ == "__main__":
    raise SystemExit(main())
