from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from tests.scenarios.server import Model, serving

TEST = """```python
from version import newest


def test_ten():
    assert newest(["1.9", "1.10"]) == "1.10"
```
"""


def run(*words: str, folder: Path) -> str:
    command = [sys.executable, "-m", "pytest_brt", "models", *words]
    env = {"PYTEST_BRT_MODELS": str(folder), "HOME": str(folder), "PATH": "/usr/bin:/bin"}
    done = subprocess.run(
        command, capture_output=True, text=True, check=False, encoding="utf-8", env=env
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


def test_files_servers_and_models_worth_having(tmp_path: Path) -> None:
    (tmp_path / "small.gguf").write_bytes(b"GGUF" + bytes(100))
    said = run(folder=tmp_path)
    assert "  small: 0.0 GB" in said
    assert "ollama: " in said
    assert "Qwen3.5-9B" in said


@pytest.mark.slow
def test_a_model_is_measured_on_ten_bugs(tmp_path: Path) -> None:
    """It writes the same test for two of them, right for one, and refuses to answer otherwise."""
    model = Model([], always=TEST, judge={"words_": "ten is more than nine"})
    about = ("newest() takes 1.9", "takes the money")
    model.refuse = lambda asked: None if any(title in str(asked) for title in about) else "no"
    with serving(model):
        said = run("--measure", f"server:127.0.0.1:{model.port}", folder=tmp_path)
    assert "version: right" in said
    assert "wallet: not right" in said
    assert "1 of 10 right first" in said
