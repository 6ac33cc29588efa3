"""Real bugs, and the tool run on them from the command line: what the benches share.

An index is a JSON list, one object per bug report:

    instance_id   name of the report                 repo      "owner/name", for the tables
    issue         path of the report                 python    interpreter that runs the project
    base, fixed   trees without and with the fix     envvars   environment of the tests
    pythonpath    import path relative to a tree

The tool is given the report and the tree `base`; the true fix, where it is given at all, is one of
the patches. Nothing of the tool is imported: any version runs by its command, and its exit code and
JSON report are all that is read. A run that has ended is not made again.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import os
import shlex
import subprocess
import sys
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeVar

sys.path.insert(0, str(Path(__file__).parents[1]))  # a script's folder alone is on the path

from tests.scenarios.read import Report, read_report

#: What the true fix is called among the patches.
FIX = "the-fix.diff"
#: Seconds after which a run is given up.
_LONGEST = 3600

T = TypeVar("T")


@dataclass(frozen=True, slots=True, kw_only=True)
class Bug:
    """A bug report with its trees."""

    name: str
    repo: str
    #: Name of its data set.
    data: str
    issue: Path
    base: Path
    fixed: Path
    python: str
    #: Environment of the tests, as in "NAME=VALUE".
    variables: tuple[str, ...]

    @property
    def half(self) -> str:
        """Half of the projects that it belongs to, "A" or "B", so that one can be left unread."""
        return "A" if hashlib.sha256(self.repo.encode()).hexdigest()[0] < "8" else "B"

    def fix(self) -> str:
        """Return the true fix as a diff."""
        command = ["git", "-C", str(self.fixed), "diff", "HEAD"]
        return subprocess.run(command, capture_output=True, text=True, check=True).stdout


@dataclass(frozen=True, slots=True, kw_only=True)
class Run:
    """What came of one command."""

    exit_code: int
    #: CPU seconds of all its processes.
    cpu: float
    #: None where it wrote none.
    report: Report | None
    #: The last line that it wrote where there is no report.
    problem: str = ""


def add_options(parser: argparse.ArgumentParser) -> None:
    """Declare what every bench takes."""
    parser.add_argument(
        "index", nargs="+", type=Path, metavar="INDEX", help="lists of reports"
    )
    parser.add_argument(
        "--out", type=Path, required=True, help="folder for the runs; kept ones count"
    )
    parser.add_argument(
        "--brt",
        default=f"{sys.executable} -m pytest_brt",
        help="the command (default: this one)",
    )
    parser.add_argument(
        "--only", action="append", metavar="PART", help="reports with PART in id"
    )
    parser.add_argument(
        "--half", choices=["A", "B"], help="reports of one half of the projects"
    )
    parser.add_argument("--jobs", type=int, default=1, help="reports at a time (default 1)")


def read_bugs(arguments: argparse.Namespace) -> list[Bug]:
    """Return the chosen bugs of all indexes, in their order."""
    bugs = [
        _bug(entry, index.stem)
        for index in arguments.index
        for entry in json.loads(index.read_text("utf-8"))
    ]
    return [
        bug
        for bug in bugs
        if any(part in bug.name for part in arguments.only or [""])
        and arguments.half in (None, bug.half)
    ]


def _bug(entry: dict[str, Any], data: str) -> Bug:
    base = Path(entry["base"])
    path = os.pathsep.join(
        str((base / part).resolve()) for part in entry.get("pythonpath", ["."])
    )
    variables = {**entry.get("envvars", {}), "PYTHONPATH": path}
    return Bug(
        name=entry["instance_id"],
        repo=entry["repo"],
        data=data,
        issue=Path(entry["issue"]),
        base=base,
        fixed=Path(entry["fixed"]),
        python=entry["python"],
        variables=tuple(f"{name}={value}" for name, value in variables.items()),
    )


def run(bug: Bug, options: argparse.Namespace, *words: str, kind: str = "run") -> Run:
    """Run the tool on a bug and return what came of it; `kind` tells runs of one bug apart."""
    folder = options.out / kind / bug.name
    report, ended = folder / "report.json", folder / "run.json"
    if not ended.exists():
        folder.mkdir(parents=True, exist_ok=True)
        report.unlink(missing_ok=True)
        variables = [word for one in bug.variables for word in ("--env", one)]
        command = [*shlex.split(options.brt), *words, "--root", str(bug.base)]
        command += ["--python", bug.python, *variables, "--report", str(report.resolve())]
        command += ["-o", f"cache_dir={(folder / 'cache').resolve()}"]
        exit_code, cpu = _execute(command, folder)
        ended.write_text(json.dumps({"exit_code": exit_code, "cpu": cpu}), "utf-8")
    kept = json.loads(ended.read_text("utf-8"))
    if report.exists():
        return Run(**kept, report=read_report(report.read_text("utf-8")))
    lines = (folder / "output.txt").read_text("utf-8", "replace").split("\n")
    last = next((line for line in reversed(lines) if line.strip()), "no output")
    return Run(**kept, report=None, problem=last)


def _execute(command: Sequence[str], folder: Path) -> tuple[int, float]:
    """Run a command; return its exit code, and the CPU seconds of it and all that it left."""
    variables = {**os.environ, "PYTHONPATH": ""}
    spent = [sys.executable, str(Path(__file__).with_name("spent.py")), str(_LONGEST)]
    with (folder / "output.txt").open("wb") as output:
        process = subprocess.Popen(
            [*spent, *command],
            cwd=folder,
            stdout=output,
            stderr=subprocess.STDOUT,
            env=variables,
        )
    _, status, used = os.wait4(process.pid, 0)
    process.returncode = os.waitstatus_to_exitcode(status)
    return process.returncode, used.ru_utime + used.ru_stime


def each(
    bugs: Sequence[Bug], jobs: int, work: Callable[[Bug], T]
) -> Iterator[tuple[Bug, T]]:
    """Yield each bug with what `work` makes of it, in order, as soon as it is there."""
    with ThreadPoolExecutor(jobs) as pool:
        yield from zip(bugs, pool.map(work, bugs), strict=True)


def share(hits: int, of: int) -> str:
    """Return a share as in "43 % (18 of 42)"."""
    return f"{hits / of:.0%} ({hits} of {of})" if of else "– (0 of 0)"
