"""Every command of docs/models.md, run against a stand-in for the server that it names."""

from __future__ import annotations

import re
import shlex
import shutil
import socket
import sys
from pathlib import Path

import pytest

from tests.model.stand_in import Server
from tests.support.docs import DOCS
from tests.support.llama import needs_llama

BLOCK = re.compile(r"<!-- run: (\w+) -->\n```sh\n(.*?)```", re.DOTALL)
COMMANDS = dict(BLOCK.findall((DOCS / "models.md").read_text("utf-8")))
#: A report that says what is wrong in words alone, so that a model is asked.
ISSUE = (
    "# clamp() ignores its upper bound\n\nA value inside of the interval comes back as the bound.\n"
)
TEST = """\
```python
from interval import clamp


def test_clamp_inside():
    assert clamp(5, 0, 10) == 5
```
"""


def listed(owner: str, name: str) -> dict[str, object]:
    return {"data": [{"id": name, "owned_by": owner}]}


def run(project: pytest.Pytester, name: str) -> list[pytest.RunResult]:
    """Run the commands as they are typed."""
    (project.path / "issue.md").write_text(ISSUE, "utf-8")
    found = []
    for line in COMMANDS[name].splitlines():
        program, *arguments = shlex.split(line)
        module = {"pytest": "pytest", "pytest-brt": "pytest_brt"}[program]
        found.append(project.run(sys.executable, "-m", module, *arguments))
    return found


def follow(project: pytest.Pytester, server: Server, name: str, spec: str) -> None:
    """Run the commands of `name`: the first finds the model, the second has it write a test."""
    server.plan({"text": TEST})
    models, issue = run(project, name)
    assert models.ret == 0
    models.stdout.fnmatch_lines([f"*  {spec}; * on port {server.port}"])
    assert server.asked()
    issue.stdout.fnmatch_lines(["*clamp(5, 0, 10) == 5*"])
    issue.stdout.no_fnmatch_line("*no model answered*")


def test_every_way_to_begin_is_run() -> None:
    assert list(COMMANDS) == ["ollama", "lmstudio", "llama", "gguf", "nothing"]


@pytest.mark.slow
def test_with_ollama(
    project: pytest.Pytester, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    server = Server(tmp_path)
    server.about(__v1__models=listed("library", "qwen3:8b"), __api__show={}, __api__ps={})
    monkeypatch.setenv("OLLAMA_HOST", f"127.0.0.1:{server.port}")
    try:
        follow(project, server, "ollama", "ollama:qwen3:8b")
    finally:
        server.end()


@pytest.mark.slow
@pytest.mark.parametrize(
    ("name", "owner", "port"),
    [("lmstudio", "organization_owner", 1234), ("llama", "llamacpp", 9931)],
)
def test_with_a_server_on_its_usual_port(
    project: pytest.Pytester, tmp_path: Path, name: str, owner: str, port: int
) -> None:
    with socket.socket() as free:
        free.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            free.bind(("127.0.0.1", port))
        except OSError:
            pytest.skip(f"somebody has port {port} already")
    server = Server(tmp_path, port)
    server.about(__v1__models=listed(owner, "qwen3-8b"), __props={}, __api__v0__models={})
    try:
        follow(project, server, name, f"{name}:qwen3-8b")
    finally:
        server.end()


@needs_llama
@pytest.mark.slow
def test_with_a_file(
    project: pytest.Pytester, weights: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PYTEST_BRT_MODELS", str(tmp_path / "models"))
    # A model of random weights has nothing to say, and takes long to say it.
    monkeypatch.setenv("PYTEST_ADDOPTS", "--brt-budget=40s --brt-engine=auto,context=2048")
    shutil.copy(weights / "llama.gguf", project.path / "model.gguf")
    added, issue = run(project, "gguf")
    added.stdout.fnmatch_lines(["use it: pytest --brt-model gguf:model*"])
    issue.stdout.fnmatch_lines(["*issue.md: clamp() ignores its upper bound"])
    issue.stdout.no_fnmatch_line("*no model answered*")


@pytest.mark.slow
def test_with_nothing(project: pytest.Pytester) -> None:
    issue, models = run(project, "nothing")
    issue.stdout.fnmatch_lines(["Not reproduced: *"])
    models.stdout.fnmatch_lines(["worth having *", "*cpu-8gb *"])
