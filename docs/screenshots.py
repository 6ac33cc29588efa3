"""Takes the pictures of the HTML page in docs/: runs the demo and opens its page in chromium.

python docs/screenshots.py
"""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
from pathlib import Path

#: Name → width, height, and the colour scheme as chromium numbers it (0 is dark).
PICTURES = {"page.webp": (1400, 1000, 1), "page-narrow.webp": (400, 1000, 0)}
HERE = Path(__file__).parent


def take(page: Path, folder: Path) -> None:
    """Open `page` at each width and write the pictures; `folder` may be filled by chromium."""
    for name, (width, height, scheme) in PICTURES.items():
        subprocess.run(
            [
                "chromium", "--headless=new", "--no-sandbox", "--disable-gpu", "--hide-scrollbars",
                "--disable-background-networking", f"--user-data-dir={folder / name}",
                f"--window-size={width},{height}",
                f"--blink-settings=preferredColorScheme={scheme}",
                f"--screenshot={HERE / name}", page.as_uri(),
            ],
            check=True, capture_output=True)  # fmt: skip


if __name__ == "__main__":
    with tempfile.TemporaryDirectory() as scratch:
        command = [sys.executable, "-m", "pytest_brt", "demo"]
        environment = {**os.environ, "TMPDIR": scratch}
        # That no patch leads clearly is a result, too: chromium says whether there is a page.
        subprocess.run(command, check=False, env=environment, stdout=subprocess.DEVNULL)
        (project,) = Path(scratch).glob("demo-of-pytest-brt-*")
        take(project / "report.html", Path(scratch))
