"""``python -m pytest_brt`` is the command ``pytest-brt``."""

from __future__ import annotations

import os
import sys

if __name__ == "__main__":
    # Python puts the current folder, the project, before everything that is imported from here on.
    sys.path[:] = [path for path in sys.path if path not in ("", os.getcwd())]  # noqa: PTH109

    from pytest_brt.cli.main import main

    raise SystemExit(main())
