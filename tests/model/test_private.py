"""A private server that never gets ready, as a program on PATH."""

from __future__ import annotations

import os
import signal
import threading
import time
from pathlib import Path

import pytest

from pytest_brt.errors import ModelProblem
from pytest_brt.model.child import Child


def test_what_it_started_ends_when_killed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    noted = tmp_path / "pid"
    program = tmp_path / "llama-server"
    program.write_text(f"#!/bin/sh\necho $$ > {noted}.new\nmv {noted}.new {noted}\nexec sleep 90\n")
    program.chmod(0o755)
    monkeypatch.setenv("PATH", f"{tmp_path}{os.pathsep}{os.environ['PATH']}")
    child = Child(tmp_path / "x.gguf", 512, "llama-server")

    def kill() -> None:
        while not noted.exists():
            time.sleep(0.05)
        assert child.process is not None
        os.kill(child.process.pid, signal.SIGKILL)

    threading.Thread(target=kill, daemon=True).start()
    with pytest.raises(ModelProblem, match=r"'x\.gguf' cannot be loaded: no answer"):
        child.open()
    child.close()
    state = Path(f"/proc/{noted.read_text('utf-8').strip()}/stat")
    end = time.monotonic() + 10
    while state.exists() and " Z " not in state.read_text("utf-8") and time.monotonic() < end:
        time.sleep(0.05)
    assert not state.exists() or " Z " in state.read_text("utf-8"), "it is left"
