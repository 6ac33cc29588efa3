"""No network socket is opened unless a server is named, by a model or by a run."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from tests.support.llama import needs_llama

ROOT = Path(__file__).parents[2]

GUARD = """
import os, sys
def guard(event, arguments):
    if event in ("socket.connect", "socket.bind", "socket.sendto", "socket.sendmsg",
                 "socket.getaddrinfo", "socket.gethostbyname"):
        # No address: the socket was connected before, which was seen, or is one of a pair.
        if event.startswith("socket.get") or not isinstance(arguments[1], (str, bytes, type(None))):
            with open(os.environ["GUARD_LOG"], "a") as log:
                log.write(f"{event} {arguments[1:]} in {sys.argv}\\n")
            raise RuntimeError(f"a network socket: {event} {arguments[1:]}")
sys.addaudithook(guard)
"""

JOB = """
import sys
from pathlib import Path
from pytest_brt.model import catalogue
from pytest_brt.model.base import *
from pytest_brt.model.opening import open_model
from pytest_brt.model.scripted import RecordedModel
from tests.support import tiny

folder = Path(sys.argv[1])
file = tiny.write_llama(folder / "tiny.gguf", quantised=True)
catalogue.add_model(file, folder / "models", link=False)
settings = Settings(models_dir=str(folder / "models"), threads=1)
prompt = Prompt(messages=(Message(role=Role.USER, text="hi"),), sampling=Sampling(max_tokens=5))
model = RecordedModel(open_model("gguf:tiny", settings), str(folder))
assert model.complete(prompt)[0].tokens
model.close()
assert open_model(f"scripted:{folder}/replies.jsonl", settings).complete(prompt)[0].tokens
print("done")
"""


def run(tmp_path: Path, code: str, *, before: tuple[str, ...] = ()) -> tuple[str, str]:
    """Run `code` under the guard; return what it printed and what the guard saw."""
    (tmp_path / "sitecustomize.py").write_text(GUARD, encoding="utf-8")
    log = tmp_path / "log"
    env = {
        **os.environ,
        "PYTHONPATH": os.pathsep.join([str(tmp_path), str(ROOT)]),
        "GUARD_LOG": str(log),
    }
    command = [*before, sys.executable, "-c", code, str(tmp_path)]
    done = subprocess.run(
        command, env=env, capture_output=True, text=True, check=False, encoding="utf-8"
    )
    seen = log.read_text(encoding="utf-8") if log.exists() else ""
    return done.stdout + done.stderr, seen


def test_the_guard_sees_a_socket(tmp_path: Path) -> None:
    said, seen = run(tmp_path, "import urllib.request as u; u.urlopen('http://127.0.0.1:9')")
    assert "a network socket" in said
    assert "socket." in seen


@needs_llama
def test_local_models_open_no_socket_and_need_no_network(tmp_path: Path) -> None:
    """Where the system has namespaces, in one in which there is nothing to connect to."""
    namespace = ("unshare", "--user", "--map-root-user", "--net")
    can = (
        shutil.which("unshare") and not subprocess.run([*namespace, "true"], check=False).returncode
    )
    said, seen = run(tmp_path, JOB, before=namespace if can else ())
    assert said.endswith("done\n"), said
    assert seen == ""


def test_a_server_that_is_refused_is_not_contacted(tmp_path: Path) -> None:
    code = (
        "from pytest_brt.errors import ModelProblem\n"
        "from pytest_brt.model.base import Settings\n"
        "from pytest_brt.model.opening import open_model\n"
        "for url in ('http://example.com', 'http://192.0.2.1', 'http://[2001:db8::1]:80'):\n"
        "    try: open_model('server:' + url, Settings())\n"
        "    except ModelProblem as problem: assert 'not on this machine' in str(problem)\n"
        "    else: raise SystemExit('accepted')\n"
        "print('done')"
    )
    said, seen = run(tmp_path, code)
    assert said == "done\n"
    assert seen == ""


@pytest.mark.slow
def test_a_report_and_its_patches_open_no_socket(project: pytest.Pytester, tmp_path: Path) -> None:
    asked = ["--brt-issue=clamp.md", "--rank-fixes=patches", "--brt-guard=no", "-pno:cacheprovider"]
    code = f"import os, pytest; os.chdir({str(project.path)!r}); print(int(pytest.main({asked})))"
    said, seen = run(tmp_path, code)
    assert "Best: " in said or "No patch stands out: " in said, said
    assert seen == ""
