"""What the level `ns` is there for, tried at once: the slow set has the rest."""

from __future__ import annotations

import os
import socket
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from pytest_brt.execute.engine import Engine
from pytest_brt.render.causes import run_words
from pytest_brt.types import Verdict
from tests.support.projects import make_project, open_on, run_one

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="namespaces are Linux's")


@pytest.fixture(scope="module")
def engine(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Engine]:
    engine = open_on(make_project(tmp_path_factory.mktemp("ns") / "project"), sandbox="ns")
    yield engine
    engine.close()


def test_nothing_outside_is_written(engine: Engine, tmp_path: Path) -> None:
    tmp_path.chmod(0o777)
    folders = [tmp_path, Path.home(), Path("/var/tmp"), Path("/dev/shm"), Path(engine.subject.root)]
    names = [str(folder / f"brt-{os.getpid()}") for folder in folders]
    source = (
        f"def test_a():\n  for name in {names!r}:\n"
        "    try: open(name, 'w').close()\n    except OSError: pass\n"
        "  open('/etc/brt', 'w')\n"
    )
    run = run_one(engine, source)
    assert run.verdict is Verdict.FAIL
    assert run_words(run).startswith("sandbox: EROFS")
    assert [name for name in names if os.path.lexists(name)] == []


def test_no_network_is_seen(engine: Engine) -> None:
    with socket.create_server(("127.0.0.1", 0)) as server:
        port = server.getsockname()[1]
        source = (
            "import os, socket\ndef test_a():\n"
            "  assert [name for _, name in socket.if_nameindex()] == ['lo']\n"
            f"  socket.create_connection(('127.0.0.1', {port}), 2)\n"
        )
        run = run_one(engine, source)
    assert run.verdict is Verdict.FAIL
    assert "ConnectionRefusedError" in run_words(run)


def test_files_are_not_made_without_end(engine: Engine) -> None:
    source = (
        "import tempfile\ndef test_a():\n  for number in range(200_000):\n"
        "    open(f'{tempfile.gettempdir()}/{number}', 'w').close()\n"
    )
    assert "ENOSPC" in run_words(run_one(engine, source))
