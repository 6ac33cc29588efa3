"""How much an installed but unused pytest-brt slows a plain pytest start.

Runs `pytest --collect-only` on an empty folder with and without the plugin, in turns, and
compares the medians of the processes' CPU seconds. The last line is one JSON object.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import tempfile
from statistics import median


def cpu_seconds(command: list[str], folder: str) -> float:
    """Return the CPU seconds (user and system) of one run of `command` in `folder`."""
    before = os.times()
    subprocess.run(command, cwd=folder, check=False, stdout=subprocess.DEVNULL)
    after = os.times()
    used = after.children_user - before.children_user
    return used + after.children_system - before.children_system


def measure(rounds: int) -> dict[str, float]:
    """Return the median CPU seconds of a start without and with the plugin, and their ratio."""
    # Plugins of others stay out on both sides, so that only ours makes the difference.
    plain = [sys.executable, "-m", "pytest", "--collect-only", "-q", "-p", "no:cacheprovider"]
    sides = {"without": [*plain, "-p", "no:brt"], "with": plain}
    os.environ.pop("PYTEST_ADDOPTS", None)
    seconds: dict[str, list[float]] = {side: [] for side in sides}
    with tempfile.TemporaryDirectory() as folder:
        for turn in range(rounds + 1):
            for side, command in sides.items():
                used = cpu_seconds(command, folder)
                if turn:  # the first turn fills the caches
                    seconds[side].append(used)
    ratios = [a / b for a, b in zip(seconds["with"], seconds["without"], strict=True)]
    return {
        "without": round(median(seconds["without"]), 4),
        "with": round(median(seconds["with"]), 4),
        "startup_ratio": round(median(ratios), 4),
    }


def main() -> None:
    """Print what was measured."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--quick", action="store_true", help="5 rounds instead of 40")
    arguments = parser.parse_args()
    figures = measure(5 if arguments.quick else 40)
    print(f"CPU seconds of a start: {figures['without']} without, {figures['with']} with")
    print(json.dumps({"startup_ratio": figures["startup_ratio"]}))


if __name__ == "__main__":
    main()
