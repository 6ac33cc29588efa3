"""A server on loopback that stands in for those that people run."""

from __future__ import annotations

import json
import subprocess
import sys
import time
from pathlib import Path
from typing import Any


class Server:
    """The process, what it is to do and what it was asked."""

    def __init__(self, folder: Path, port: int = 0) -> None:
        self.folder = folder
        self.models("one")
        self.plan({"text": "hello"})
        script = Path(__file__).with_name("chat_server.py")
        self.process = subprocess.Popen([sys.executable, str(script), str(folder), str(port)])
        while not (folder / "port").exists():
            time.sleep(0.01)
        self.port = int((folder / "port").read_text(encoding="ascii"))
        self.url = f"http://127.0.0.1:{self.port}"

    def end(self) -> None:
        self.process.kill()
        self.process.wait()

    def plan(self, *steps: dict[str, object]) -> None:
        (self.folder / "plan.json").write_text(json.dumps(steps), encoding="utf-8")

    def models(self, *names: str) -> None:
        (self.folder / "models.json").write_text(json.dumps(names), encoding="utf-8")

    def about(self, **told: object) -> None:
        """Answer `told` elsewhere: each path with "/" for "__"."""
        paths = {name.replace("__", "/"): body for name, body in told.items()}
        (self.folder / "about.json").write_text(json.dumps(paths), encoding="utf-8")

    def asked(self) -> list[dict[str, Any]]:
        lines = (self.folder / "log").read_text(encoding="utf-8").splitlines()
        return [json.loads(line) for line in lines]
