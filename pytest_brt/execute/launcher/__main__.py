"""``python launcher/__main__.py CONTROL LIFE``: finds its own package, and starts."""

from __future__ import annotations

import sys
from pathlib import Path

if __name__ == "__main__":
    sys.path.insert(0, str(Path(__file__).parents[3]))
    import pytest_brt  # noqa: F401  (this one, whatever else is installed)

    del sys.path[0]
    from pytest_brt.execute.launcher.launcher import main

    sys.exit(main())
