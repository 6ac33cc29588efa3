"""``pytest-brt models --measure SPEC``: how good a model is at writing tests, on ten bugs."""

from __future__ import annotations

import json
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from pytest_brt import __version__
from pytest_brt.cli.demo import files_in
from pytest_brt.model.spec import read_spec
from pytest_brt.shown import say

#: The bugs: each file below a line with its path, "fix.diff" what makes it right.
_BUGS = Path(__file__).parent / "bugs.txt"


def measure(spec: str) -> None:
    """Let a model write tests for ten bugs, and say how many of the first ones are right.

    A test is right where it fails on the bug and passes with the fix, which no model sees.

    Raises:
        BrtError: there is no such model.
    """
    name = read_spec(spec).text
    right = tokens = 0
    begin = time.monotonic()
    with tempfile.TemporaryDirectory(prefix="pytest-brt-measure-") as folder:
        names = _write(Path(folder))
        for bug in names:
            first, spent = _try(Path(folder) / bug, spec)
            right += first
            tokens += spent
            say(f"{bug}: {'right' if first else 'not right'}, {spent:,} tokens")
    seconds = time.monotonic() - begin
    say(
        f"\n{name}: {right} of {len(names)} right first, {tokens:,} tokens, {seconds:.0f} s "
        f"(pytest-brt {__version__})"
    )


def _write(folder: Path) -> list[str]:
    """Write the bugs into a folder each, and return their names."""
    files = files_in(_BUGS)
    for path, text in files.items():
        (folder / path).parent.mkdir(exist_ok=True)
        (folder / path).write_text(text, "utf-8")
    return list(dict.fromkeys(path.partition("/")[0] for path in files))


def _try(folder: Path, spec: str) -> tuple[bool, int]:
    """Return whether the first test for a bug is right, and the tokens that it took."""
    options = ("--rank=fix.diff", f"--model={spec}", "--report=report.json", "--write=no")
    command = [sys.executable, "-P", "-m", "pytest_brt", "issue", "issue.md", *options]
    subprocess.run(command, cwd=folder, capture_output=True, check=False)
    try:
        report = json.loads((folder / "report.json").read_text("utf-8"))
    except FileNotFoundError:  # the run could not begin, as without any sandbox
        return False, 0
    attempts = [attempt for issue in report["issues"] for attempt in issue["attempts"]]
    spent = sum(one["cost"]["prompt_tokens"] + one["cost"]["tokens"] for one in attempts)
    tests = [test["id"] for test in report["tests"] if test["candidate"]]
    patches = [patch for ranking in report["rankings"] for patch in ranking["patches"]]
    cells = {cell["test"]: cell["verdict"] for patch in patches for cell in patch["cells"]}
    return bool(tests) and cells.get(tests[0]) == "PASS", spent
