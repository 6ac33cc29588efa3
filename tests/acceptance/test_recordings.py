"""What a capable model answered to our prompts on the examples, played again.

It was at the far end of `server:` and had seen nothing but the prompts.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import tomllib
from pathlib import Path
from typing import Any

import pytest

from tests.acceptance.examples import EXAMPLES, unpack
from tests.support.reports import patches_of, read_report
from tests.support.sessions import LEAN
from tests.support.trees import tree_hash

pytestmark = pytest.mark.slow
RECORDINGS = Path(__file__).parent / "recordings"


def play(strategy: str, example: str, samples: int, folder: Path) -> dict[str, Any]:
    """Run a strategy on an example, rank patches by what it wrote, and return the JSON."""
    root = unpack(EXAMPLES / example, folder)
    before = tree_hash(root)
    (folder / "patches").mkdir()
    for name in patches(example, "right") | patches(example, "wrong-place"):
        shutil.copy(EXAMPLES / example / "patches" / name, folder / "patches")
    script = RECORDINGS / f"{strategy}-{example.partition('-')[0]}.txt"
    command = [
        sys.executable, "-m", "pytest", "-q", *LEAN.split(), "-p", "no:cacheprovider",
        f"--brt-issue={EXAMPLES / example / 'issue.md'}", f"--brt-strategy={strategy}",
        f"--brt-model=scripted:{script}", f"--brt-samples={samples}",
        f"--rank-fixes={folder / 'patches'}", "--brt-guard=no",
        f"--brt-report={folder / 'found.json'}",
    ]  # fmt: skip
    env = {key: value for key, value in os.environ.items() if not key.startswith("PYTEST")}
    done = subprocess.run(
        command, cwd=root, env=env, capture_output=True, text=True, encoding="utf-8", check=False
    )
    assert tree_hash(root) == before
    found: dict[str, Any] = read_report(folder / "found.json")
    sure = any(test["reproduces"] for test in found["tests"])
    assert done.returncode in ((0, 7) if sure else (1, 7)), done.stdout + done.stderr
    return found


def patches(example: str, kind: str) -> set[str]:
    """Return the names of the patches of a kind."""
    text = (EXAMPLES / example / "example.toml").read_text("utf-8")
    kinds: dict[str, str] = tomllib.loads(text)["patches"]
    return {name for name, label in kinds.items() if label == kind}


@pytest.mark.parametrize(
    ("strategy", "example", "samples", "candidates"),
    [
        ("libro", "humanize-precisedelta", 5, 5),
        ("invert", "tabulate-maxcolwidths", 1, 1),
        ("agent", "sqlparse-strip-comments", 1, 1),
    ],
)
def test_what_was_written_fails_on_the_bug_and_passes_on_right_patches(
    strategy: str, example: str, samples: int, candidates: int, tmp_path: Path
) -> None:
    found = play(strategy, example, samples, tmp_path)
    assert sum(test["candidate"] for test in found["tests"]) == candidates
    epr = {name: patch["epr"] for name, patch in patches_of(found).items()}
    assert {epr[name] for name in patches(example, "right")} == {1.0}, epr
    assert all(epr[name] < 1.0 for name in patches(example, "wrong-place")), epr
