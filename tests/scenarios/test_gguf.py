"""Real files of models: whatever they say, a run ends by itself, and noise is not believed."""

from __future__ import annotations

import importlib.util
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from tests.scenarios.gguf import write_tiny
from tests.scenarios.project import Make
from tests.scenarios.samples import FILES, SLIDERS_REPORT

pytestmark = pytest.mark.slow

WEIGHTS = Path(__file__).parents[2] / "examples/weights.py"
SERVER = importlib.util.find_spec("xllamacpp") or shutil.which("llama-server")
#: What runs a file, by the option that chooses it.
ENGINES = [
    pytest.param(
        "llama-server", marks=pytest.mark.skipif(not SERVER, reason="wants the extra server")
    ),
    pytest.param("llama-cpp-python", marks=pytest.mark.llama),
]


def ask(make: Make, model: Path, engine: str, context: int, *options: str) -> None:
    """Let a model try: it answers, and none of its tests is shown as one that counts."""
    project = make(FILES)
    run = project.issue(
        SLIDERS_REPORT,
        f"--brt-model=gguf:{model},engine={engine},context={context}",
        "--brt-samples=1",
        *options,
    )
    assert run.code == 1, run.said
    assert run.report.questions
    assert "Traceback" not in run.out + run.err
    assert not [test for test in run.report.tests if test.counts]


@pytest.mark.parametrize("engine", ENGINES)
@pytest.mark.parametrize("strategy", ["libro", "agent"])
def test_a_tiny_model(make: Make, tmp_path: Path, engine: str, strategy: str) -> None:
    tiny = write_tiny(tmp_path / "tiny.gguf")
    ask(make, tiny, engine, 16384, f"--brt-strategy={strategy}", "--brt-steps=2")


@pytest.mark.parametrize("engine", ENGINES)
def test_a_real_model(make: Make, engine: str) -> None:
    fetch = [sys.executable, str(WEIGHTS), "smollm2"]
    done = subprocess.run(fetch, capture_output=True, text=True, check=False, encoding="utf-8")
    if done.returncode:
        pytest.skip("the weights of SmolLM2 cannot be had")
    ask(make, Path(done.stdout.strip()), engine, 4096, "--brt-strategy=libro")


def test_a_file_that_is_no_model(make: Make, tmp_path: Path) -> None:
    bad = tmp_path / "bad.gguf"
    bad.write_bytes(b"GGUF" + bytes(100))
    run = make(FILES).issue(SLIDERS_REPORT, f"--brt-model=gguf:{bad}")
    assert run.refuses("bad.gguf"), run.said
