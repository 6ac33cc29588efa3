"""What the page about machines without a network tells a reader to type works as written."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

from tests import tiny
from tests.real import needs_server

ROOT = Path(__file__).parent.parent
PAGE = (ROOT / "docs/airgap.md").read_text("utf-8")


def typed_below(heading: str) -> list[str]:
    """Return the first commands below a heading."""
    found = re.search(rf"## {heading}\n.*?\n\n((?:    [^\n]+\n)+)", PAGE, re.DOTALL)
    assert found is not None
    return [line.strip() for line in found[1].splitlines()]


@needs_server
@pytest.mark.slow
@pytest.mark.long
def test_installing_without_a_network(tmp_path: Path) -> None:
    out = tmp_path / "out"
    out.mkdir()
    tiny.write_llama(tmp_path / "model.gguf", quantised=True)
    gather, copy, sums = typed_below("Gather")
    python = {**os.environ, "PATH": f"{Path(sys.executable).parent}:{os.environ['PATH']}"}
    for line, folder in ((gather, ROOT), (copy, tmp_path), (sums, tmp_path)):
        command = line.replace("OUT", str(out))
        subprocess.run(command, shell=True, cwd=folder, env=python, check=True)
    offline = {
        **{k: v for k, v in os.environ.items() if not k.startswith(("PIP_", "PYTHON"))},
        "PIP_INDEX_URL": "http://127.0.0.1:9/simple",
        "PIP_CONFIG_FILE": os.devnull,
        "PYTEST_BRT_MODELS": str(tmp_path / "models"),
        "PATH": python["PATH"],
    }
    said = ""
    for line in typed_below("Install"):
        done = subprocess.run(
            line, shell=True, cwd=out, env=offline, check=True, stdout=subprocess.PIPE, text=True
        )
        said = done.stdout
    assert re.search(r"ok +generation +works, in a child process: \d+ tokens of model.gguf", said)
    subprocess.run([str(out / "brt/bin/pytest"), "--version"], env=offline, check=True)
