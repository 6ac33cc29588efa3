"""What code in a sandbox may try: ``python -m tests.hostile.attempts LEVEL FOLDER MARK SHOWN``.

It prints, as JSON and by resource, what of it could be done. The table of docs/safety.md is
made of that.
"""

from __future__ import annotations

import json
import sys
from pathlib import Path

from pytest_brt.execute.engine import Row, TestTarget
from pytest_brt.types import Verdict
from tests.hostile.run_cases import filled, scene
from tests.support.projects import make_project, open_on

_CALL = "import ctypes; c = ctypes.CDLL(None, use_errno=True)"
_CONNECT = "import socket; s = socket.socket(socket.AF_UNIX); s.connect"
#: Resource → what is tried, in the words of the table → statements that raise where it fails.
ATTEMPTS = {
    "files: reading": {
        "your home": "open('SECRET').read()",
        "`/tmp`": "open('OUTSIDE/kept').read()",
        "`/dev/shm`": "open('/dev/shm/MARK.host').read()",
        "other folders, where you may": "open('SHOWN/kept').read()",
        "pipes in other folders": "import os\n  n = os.open('SHOWN/pipe', os.O_NONBLOCK)\n"
        "  assert os.read(n, 1)",
    },
    "files: writing": {
        "`/tmp`": "open('OUTSIDE/x', 'w').close()",
        "other folders, where you may": "open('SHOWN/kept', 'a').close()",
        "pipes in other folders": "import os; os.open('SHOWN/pipe', os.O_WRONLY | os.O_NONBLOCK)",
    },
    "files: metadata": {
        "mode": "import os; os.chmod('SHOWN/kept', 0o644)",
        "times": "import os; os.utime('SHOWN/kept')",
        "attributes": "import os; os.setxattr('SHOWN/kept', 'user.x', b'1')",
    },
    "sockets": {
        "in your home or `/tmp`": f"{_CONNECT}('OUTSIDE/socket')",
        "in other folders": f"{_CONNECT}('SHOWN/socket')",
        "abstract": f"{_CONNECT}('\\x00ABSTRACT')",
        "TCP to this machine": "import socket\n  for protocol in (6, 262):\n"
        "    try:\n      s = socket.socket(2, 1, protocol)\n      s.settimeout(2)\n"
        "      s.connect(('127.0.0.1', PORT))\n      break\n    except OSError as error: pass\n"
        "  else: raise OSError",
        "AF_VSOCK": "import socket; socket.socket(40, 1)",
    },
    "terminal": {
        "reading": "import os; os.open('TERMINAL', os.O_RDONLY)",
        "writing": "open('TERMINAL', 'w').close()",
    },
    "keyring": {"the session's keys": f"{_CALL}; assert c.syscall(KEYCTL, 0, -3, 0) > 0"},
    "memory": {
        "more in files than in a process": "import os\n  held = [os.memfd_create('x') for _ in "
        "range(4)]\n  for one in held: os.truncate(one, 200 << 20)",
        "more in semaphores than in a process": f"{_CALL}\n"
        "  sets = [c.semget(0, 32000, 0o600) for _ in range(8)]\n"
        "  for one in sets: c.semctl(one, 0, 0)  # IPC_RMID\n"
        "  assert min(sets) >= 0",
        "a user namespace of its own": f"{_CALL}; assert c.unshare(0x10000000) == 0",
    },
    "processes": {
        "seeing yours": "import os; os.stat('/proc/TOOL')",
        "signalling yours": "import os; os.kill(TOOL, 0)",
        "limiting yours": "import resource as r\n  kept = r.prlimit(TOOL, r.RLIMIT_CORE)\n"
        "  r.prlimit(TOOL, r.RLIMIT_CORE, kept)",
        "slowing yours": "import os\n  kept = os.getpriority(os.PRIO_PROCESS, TOOL)\n"
        "  os.setpriority(os.PRIO_PROCESS, TOOL, kept)",
        "reading the memory of yours": "open('/proc/TOOL/mem', 'rb').close()",
    },
}
#: What a row leaves for the next one to find, in the words of the table.
LEFT = {
    "files in `TMPDIR` and `HOME`": (
        "import os, tempfile\n  for f in (tempfile.gettempdir(), os.environ['HOME']):\n"
        "    open(f + '/MARK', 'w').close()",
        "import os, tempfile\n  assert any(os.path.exists(f + '/MARK') for f in "
        "(tempfile.gettempdir(), os.environ['HOME']))",
    ),
    "files in the project": (
        "import os\n  open('MARK', 'w').close(); os.mkfifo('MARK.pipe')",
        "import os\n  assert os.path.exists('MARK') or os.path.exists('MARK.pipe')",
    ),
    "files in `/dev/shm`": (
        "open('/dev/shm/MARK.row', 'w').close()",
        "open('/dev/shm/MARK.row').close()",
    ),
    "shared memory": (
        f"{_CALL}; c.shmget(0x62727402, 4096, 0o1666)",
        f"{_CALL}; assert c.shmget(0x62727402, 1, 0) >= 0",
    ),
    "a port": (
        "import socket\n  s = socket.create_server(('127.0.0.1', 28679))\n"
        "  c = socket.create_connection(('127.0.0.1', 28679)); s.accept()[0].close(); c.close()",
        "import socket, pytest\n  with pytest.raises(OSError, match='in use'):\n"
        "    socket.socket().bind(('127.0.0.1', 28679))",
    ),
    "processes": (
        f"import os, time\n  {_CALL}\n  there, told = os.pipe()\n  if os.fork() == 0:\n"
        "    os.setsid()\n    if os.fork() == 0:\n      c.prctl(15, b'MARK')  # PR_SET_NAME\n"
        "      os.write(told, b'x')\n      time.sleep(120)\n"
        "    os._exit(0)\n  os.wait(); os.read(there, 1)",
        "import os\n  def comm(n):\n    try: return open('/proc/' + n + '/comm').read()\n"
        "    except OSError: return ''\n"
        "  assert any('MARK'[:15] in comm(n) for n in os.listdir('/proc') if n.isdigit())",
    ),
}
ROWS = "other rows: what is left"


def main() -> None:
    """Try everything at one level, and tell what could be done."""
    level, folder, mark, shown = sys.argv[1], Path(sys.argv[2]), sys.argv[3], Path(sys.argv[4])
    root = make_project(folder / "project")
    with scene(folder, mark, shown) as (words, _):
        engine = open_on(root, env={"BRT_TEST_MARK": mark}, sandbox=level)

        def run(sources: dict[str, str]) -> set[str]:
            targets = [
                TestTarget(
                    id=name,
                    path="tests/test_t.py",
                    source=filled(f"def test_a():\n  {source}", words),
                    node="test_a",
                )
                for name, source in sources.items()
            ]
            result = engine.run(Row(targets=tuple(targets)))
            return {run.test for run in result.runs if run.verdict is Verdict.PASS}

        def run_at_once(sources: dict[str, str]) -> set[str]:
            """Try all in one test, as each takes a new interpreter where there is no sandbox."""
            tries = "".join(
                f"  def try_it():\n    {indented}\n  try_it()\n"
                for indented in (source.replace("\n", "\n  ") for source in sources.values())
            )
            return set(sources) if run({"": tries.lstrip()}) else run(sources)

        attempt = run_at_once if level == "none" else run
        try:
            done = {}
            for resource, tried in ATTEMPTS.items():
                worked = attempt(tried)
                done[resource] = [name for name in tried if name in worked]
            attempt({name: leaves for name, (leaves, _) in LEFT.items()})
            found = run({name: finds for name, (_, finds) in LEFT.items()})
            done[ROWS] = [name for name in LEFT if name in found]
        finally:
            engine.close()
    print(json.dumps(done))


if __name__ == "__main__":
    main()
