"""The job for GitLab that the docs show, run against a stand-in for its interface."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from threading import Thread
from xml.etree import ElementTree

import pytest

from tests.support.interval import CLAMP, CLAMP_ISSUE, FIXES, SOURCE
from tests.support.repository import Repository

pytestmark = pytest.mark.slow
PAGE = Path(__file__).parents[2] / "docs/ci.md"
TOKEN = "glpat-of-the-user"


class GitLab(ThreadingHTTPServer):
    """Has one issue, and keeps the notes that are written below a merge request."""

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), Answers)
        self.notes: list[str] = []


class Answers(BaseHTTPRequestHandler):
    server: GitLab

    def do_GET(self) -> None:
        assert self.path == "/api/v4/projects/7/issues/4", self.path
        self._answer({"iid": 4, "title": "clamp() ignores a bound", "description": CLAMP_ISSUE})

    def do_POST(self) -> None:
        assert self.path == "/api/v4/projects/7/merge_requests/3/notes", self.path
        self.server.notes.append(self.rfile.read(int(self.headers["Content-Length"])).decode())
        self._answer({})

    def _answer(self, value: dict[str, object]) -> None:
        self.send_response(200 if self.headers["PRIVATE-TOKEN"] == TOKEN else 401)
        self.end_headers()
        self.wfile.write(json.dumps(value).encode())

    def log_message(self, *_: object) -> None:
        """Keep the test's output to itself."""


@pytest.fixture
def gitlab() -> Iterator[GitLab]:
    with GitLab() as server:
        Thread(target=server.serve_forever, daemon=True).start()
        yield server
        server.shutdown()


def lines_of(key: str) -> list[str]:
    """Return the lines that a key of the job has."""
    text = PAGE.read_text("utf-8").partition("\n## On GitLab\n")[2]
    below = text.partition(f"\n  {key}:\n")[2].splitlines()
    end = next(at for at, line in enumerate(below) if not line.startswith("    - "))
    return [line.removeprefix("    - ") for line in below[:end]]


def test_the_job_ranks_a_merge_request_and_writes_the_answer_below_it(
    project: pytest.Pytester, gitlab: GitLab
) -> None:
    repository = Repository(project.path)
    base = repository.commit("start")
    repository.git("checkout", "-q", "-b", "fix")
    fixed = SOURCE.replace(CLAMP, FIXES["a-right"])
    (project.path / "interval/__init__.py").write_text(fixed, "utf-8")
    head = repository.commit("fix")
    repository.git("remote", "add", "origin", "https://gitlab-ci-token:secret@gitlab.example/a/b")
    repository.git("checkout", "-q", "--detach")
    environment = {
        **os.environ,
        "PATH": f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}",
        "BRT_TOKEN": TOKEN,
        "BRT_ISSUE": "4",
        "CI_API_V4_URL": f"http://127.0.0.1:{gitlab.server_port}/api/v4",
        "CI_COMMIT_SHA": head,
        "CI_MERGE_REQUEST_DIFF_BASE_SHA": base,
        "CI_MERGE_REQUEST_IID": "3",
        "CI_PROJECT_ID": "7",
    }
    install, *script = lines_of("script")
    assert install.startswith("pip install ")
    for commands in (script, lines_of("after_script")):
        assert commands
        subprocess.run(
            ["bash", "-euo", "pipefail", "-c", "\n".join(commands)],
            cwd=project.path,
            env=environment,
            check=True,
        )
    (note,) = gitlab.notes
    assert "merge\\-request" in note or "merge-request" in note
    assert "Only" in note or "Best" in note
    assert "secret" not in note
    assert TOKEN not in note
    cases = ElementTree.parse(project.path / "brt.xml").getroot().iter("testcase")
    assert sum(1 for _ in cases) == 2
