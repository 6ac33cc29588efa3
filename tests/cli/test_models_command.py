from __future__ import annotations

import subprocess
import sys
from pathlib import Path


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
