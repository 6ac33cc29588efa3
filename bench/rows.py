"""How many rows a ranking of eight patches and a replay take, and what an import costs in each.

    python bench/rows.py [--rounds N] [--apart] [--unrehearsed]

The demo's project, bare and with a library that it imports first. A row is one tree with all its
tests (`Engine.run`): the figure to know before each row pays for loading the project by itself.
Counted in the process that drives the work; CPU seconds are of all processes, medians of the
rounds. A library that is not installed where this runs is passed over. The last line is one JSON
object.

What rows gain by being forked from one process shows against `--apart`, where each row starts a
process of its own, and `--unrehearsed`, where that process has not run pytest once beforehand.
"""

from __future__ import annotations

import argparse
import importlib.util
import json
import os
import resource
import subprocess
import sys
import tempfile
from pathlib import Path
from statistics import median

from pytest_brt.cli.demo import project_files

#: Loaded into each session by -p: writes how many rows and observations the engine ran.
COUNTER = """
import atexit, json, os
from pytest_brt.execute.local import LocalEngine
counts = {"rows": 0, "targets": 0, "programs": 0}
run, observe = LocalEngine.run, LocalEngine.observe

def counted_run(self, row):
    counts["rows"] += 1
    counts["targets"] += len(row.targets)
    return run(self, row)

def counted_observe(self, program):
    counts["programs"] += 1
    return observe(self, program)

LocalEngine.run, LocalEngine.observe = counted_run, counted_observe

if os.environ.get("ROWS_APART"):
    from pytest_brt.execute.slots import Slots
    talk = Slots.talk

    def talk_anew(self, slot, seed):
        for other in list(slot.workers):
            self.drop(slot, other)
        self.modules = ()
        return talk(self, slot, seed)

    Slots.talk = talk_anew
if os.environ.get("ROWS_UNREHEARSED"):
    from pytest_brt.execute.sandbox import Sandbox
    specify = Sandbox.specification

    def specify_unrehearsed(self, *arguments, **options):
        return {**specify(self, *arguments, **options), "fork": False}

    Sandbox.specification = specify_unrehearsed
atexit.register(lambda: open(os.environ["ROWS"], "w").write(json.dumps(counts)))
"""
LIBRARIES = ("", "numpy", "pandas")
#: Different programs, so that no two share a result.
PATCHES = 8
MODULE = "interval/__init__.py"


def make_project(root: Path, library: str) -> None:
    """Write the demo's project, which imports `library` first, and eight patches of it."""
    files = project_files()
    source = files[MODULE]
    first = f"import {library}\n" if library else ""
    files[MODULE] = source.replace('intervals."""\n', f'intervals."""\n{first}', 1)
    files = {name: text for name, text in files.items() if not name.startswith("patches/")}
    old = "    return max(low, min(value, low))\n"
    at = files[MODULE].split("\n").index(old.rstrip("\n")) + 1
    for number in range(PATCHES):
        new = f"    return max(low, min(value, {'high' if number % 2 else number}))\n"
        head = f"--- a/{MODULE}\n+++ b/{MODULE}\n@@ -{at},1 +{at},2 @@\n"
        files[f"patches/fix-{number}.diff"] = f"{head}-{old}+    mark = {number}\n+{new}"
    for name, text in files.items():
        path = root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")


def session(root: Path, folder: Path, *options: str) -> dict[str, float]:
    """Run one session; return what it counted, and its CPU seconds."""
    told = folder / "rows.json"
    path = os.pathsep.join([str(folder), os.environ.get("PYTHONPATH", "")])
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    subprocess.run(
        [
            sys.executable, "-m", "pytest", "-q", "-p", "rows_counter", "-p", "no:cacheprovider",
            "--brt-issue=issue.md", "--brt-jobs=1", *options,
        ],
        cwd=root,
        env={**os.environ, "PYTHONPATH": path, "ROWS": str(told), "PYTEST_ADDOPTS": ""},
        stdout=subprocess.DEVNULL,
        check=False,
    )  # fmt: skip
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    cpu = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
    found: dict[str, float] = json.loads(told.read_text("utf-8"))
    return {**found, "cpu": cpu}


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--apart", action="store_true", help="a process of its own for each row")
    parser.add_argument("--unrehearsed", action="store_true", help="without a first run of pytest")
    options = parser.parse_args()
    for name, is_set in (("APART", options.apart), ("UNREHEARSED", options.unrehearsed)):
        if is_set:
            os.environ[f"ROWS_{name}"] = "1"
    rounds = options.rounds
    found: dict[str, dict[str, float]] = {}
    print(f"{'':22}{'rows':>6}{'tests':>7}{'programs':>10}{'CPU s':>8}")
    for library in LIBRARIES:
        if library and importlib.util.find_spec(library) is None:
            print(f"{library}: not installed")
            continue
        with tempfile.TemporaryDirectory(prefix="brt-rows-") as name:
            folder, root = Path(name), Path(name, "project")
            (folder / "rows_counter.py").write_text(COUNTER, encoding="utf-8")
            make_project(root, library)
            for what, more in (("replay", ()), ("ranking", ("--rank-fixes=patches",))):
                runs = [session(root, folder, *more) for _ in range(rounds)]
                row = {key: median(run[key] for run in runs) for key in runs[0]}
                found[f"{library or 'bare'} {what}"] = row
                print(
                    f"{library or 'bare':10}{what:12}{row['rows']:6.0f}{row['targets']:7.0f}"
                    f"{row['programs']:10.0f}{row['cpu']:8.2f}"
                )
    print(json.dumps(found))


if __name__ == "__main__":
    main()
