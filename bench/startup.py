"""How much an installed but unused pytest-brt slows a plain pytest start.

Two environments are made, one with pytest alone and one with this package too, and all that it
needs. `pytest --collect-only` is run on an empty folder in each, in turns (A B, B A, ...), so that
what else the machine does weighs on both alike; the CPU seconds of the processes are compared.
Printed are the median of the ratios and its quartiles; the last line is one JSON object.

Packages come from where pip gets them; `--without PYTHON --with PYTHON` takes environments that
are there. Most of the difference is pytest's: it reads the list of installed files of each
package that has a plugin.
"""

from __future__ import annotations

import argparse
import json
import os
import resource
import subprocess
import sys
import tempfile
from pathlib import Path
from statistics import median, quantiles

ROOT = Path(__file__).parents[1]


def environment(folder: Path, *packages: str) -> str:
    """Make an environment with some packages and return its interpreter."""
    subprocess.run([sys.executable, "-m", "venv", folder], check=True)
    python = str(folder / "bin" / "python")
    subprocess.run([python, "-m", "pip", "install", "-q", "pytest", *packages], check=True)
    return python


def cpu_seconds(python: str, folder: Path) -> float:
    """Return the CPU seconds (user and system) of one start in an empty `folder`."""
    command = [python, "-m", "pytest", "--collect-only", "-q", "-p", "no:cacheprovider"]
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    subprocess.run(command, cwd=folder, check=False, stdout=subprocess.DEVNULL)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return after.ru_utime - before.ru_utime + after.ru_stime - before.ru_stime


def measure(without: str, having: str, rounds: int, folder: Path) -> dict[str, object]:
    """Return the median CPU seconds of a start in both, the median ratio, and its quartiles."""
    found: list[tuple[float, float]] = []
    for turn in range(rounds + 1):
        if turn % 2:
            second = cpu_seconds(having, folder)
            pair = (cpu_seconds(without, folder), second)
        else:
            pair = (cpu_seconds(without, folder), cpu_seconds(having, folder))
        if turn:  # the first turn compiles and fills the caches
            found.append(pair)
    ratios = [b / a for a, b in found]
    return {
        "without": round(median(a for a, _ in found), 4),
        "with": round(median(b for _, b in found), 4),
        "startup_ratio": round(median(ratios), 4),
        "quartiles": [round(one, 4) for one in quantiles(ratios, n=4)],
    }


def main() -> None:
    """Print what was measured."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--quick", action="store_true", help="5 rounds instead of 40")
    parser.add_argument(
        "--without", metavar="PYTHON", help="an environment with pytest alone"
    )
    parser.add_argument(
        "--with", metavar="PYTHON", dest="having", help="one with this package"
    )
    arguments = parser.parse_args()
    os.environ.pop("PYTEST_ADDOPTS", None)
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        without = arguments.without or environment(folder / "without")
        having = arguments.having or environment(folder / "with", str(ROOT))
        (folder / "empty").mkdir()
        figures = measure(without, having, 5 if arguments.quick else 40, folder / "empty")
    print(f"CPU seconds of a start: {figures['without']} without, {figures['with']} with")
    print(json.dumps(figures))


if __name__ == "__main__":
    main()
