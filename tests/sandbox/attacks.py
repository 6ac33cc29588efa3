"""Tests that mean harm, and what each comes to: at bubblewrap, and at Landlock where that differs.

A test named in `KEPT` passes where it was kept from what it tried, or may do it.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace

from pytest_brt.types import Verdict

PASS, FAIL, BROKEN, CRASH = Verdict.PASS, Verdict.FAIL, Verdict.BROKEN, Verdict.CRASH
TIMEOUT, TAMPERED, INVALID = Verdict.TIMEOUT, Verdict.TAMPERED, Verdict.INVALID


@dataclass(frozen=True, slots=True, kw_only=True)
class Attack:
    """A test `test_a`, and its verdict."""

    source: str
    verdict: Verdict
    #: Where it differs at "landlock", or there for an ordinary user: "landlock-user".
    other: dict[str, Verdict] = field(default_factory=dict)
    #: Words of the reason.
    words: str = ""
    #: It ends what runs it or changes the tree, and would spoil what others come to in one process.
    alone: bool = False

    def expected(self, isolation: str, user: str) -> Verdict:
        """Return the verdict at an isolation for "root" or an ordinary "user"."""
        at = self.other.get(isolation, self.verdict)
        return self.other.get(f"{isolation}-{user}", at)


def _body(statements: str, verdict: Verdict, words: str = "", **other: Verdict) -> Attack:
    lines = "\n".join(f"    {line}" for line in statements.strip("\n").splitlines())
    others = {name.replace("_", "-"): value for name, value in other.items()}
    return Attack(source=f"def test_a():\n{lines}\n", verdict=verdict, words=words, other=others)


def _alone(statements: str, verdict: Verdict) -> Attack:
    return replace(_body(statements, verdict), alone=True)


_LIBC = "import ctypes\nc = ctypes.CDLL(None, use_errno=True)\n"
_UNIX = "import socket\ns = socket.socket(socket.AF_UNIX)\n"
_PIPES = """
import json, os, stat
pipes = []
for n in range(3, 64):
    try: mode = os.fstat(n).st_mode
    except OSError: continue
    if stat.S_ISFIFO(mode): pipes.append(n)
assert pipes
"""
#: SECRET is a file in the user's home, OUTSIDE a folder that everyone may write to, SHOWN one that
#: tests may read, with a socket and a pipe, PORT a server on the machine, ABSTRACT one on an
#: abstract socket, TERMINAL one of the user's, TOOL the process that runs the tests, MEMORY and
#: QUEUE shared memory and a queue of the user's.
ATTACKS = {
    # What never ends, or ends what it runs in.
    "loops": _alone("while True: pass", TIMEOUT),
    "loops-while-loading": Attack(
        source="import time\nwhile True: time.sleep(1)\ndef test_a(): pass\n",
        verdict=TIMEOUT,
        alone=True,
    ),
    "os-exit": _body("import os; os._exit(0)", CRASH, "exit status 0"),
    "os-exit-while-loading": Attack(
        source="import os\nos._exit(0)\ndef test_a(): pass\n", verdict=CRASH, alone=True
    ),
    "kills-itself": _body("import os; os.kill(os.getpid(), 9)", CRASH, "SIGKILL"),
    "kills-group": _alone("import os; os.killpg(0, 9)", CRASH),
    "kills-everyone": _alone("import os; os.kill(-1, 9)", CRASH),
    "stops-itself": _alone("import os; os.kill(os.getpid(), 19)", TIMEOUT),
    "segfaults": _body("import ctypes; ctypes.string_at(0)", CRASH, "SIGSEGV"),
    "leaves-thread": _alone(
        "import threading, time\nthreading.Thread(target=time.sleep, args=(60,)).start()", TIMEOUT
    ),
    "ignores-signals": _alone(
        "import ctypes, signal\nfor n in range(1, 65):\n"
        "    try: signal.signal(n, signal.SIG_IGN)\n    except (OSError, ValueError): pass\n"
        "ctypes.CDLL(None).sleep(60)",
        TIMEOUT,
    ),
    "leaves-daemon": _body(
        "import os, time\nif os.fork() == 0:\n    os.setsid()\n    if os.fork() == 0:\n"
        f"        {'MARKED'}\n        time.sleep(600)\n    os._exit(0)\nos.wait()",
        PASS,
    ),
    "closes-everything": _body("import os; os.closerange(0, 256)", CRASH),
    "interrupts": _body("raise KeyboardInterrupt", CRASH),
    "pytest-exit": _body("import pytest; pytest.exit('x')", CRASH),
    # What tells something else than it does.
    "patches-report": _body(
        "from _pytest.reports import TestReport\nold = TestReport.from_item_and_call\n"
        "def new(item, call):\n    report = old(item, call); report.outcome = 'passed'\n"
        "    report.longrepr = None; return report\n"
        "TestReport.from_item_and_call = staticmethod(new)\nassert 0",
        TAMPERED,
    ),
    "exits-late": _body("import atexit, os\natexit.register(os._exit, 0)\nassert 0", FAIL),
    "forks-and-returns": _body("import os\nif os.fork(): os.wait()", TAMPERED, "two processes"),
    "tells-garbage": _body(_PIPES + "for n in pipes: os.write(n, b'garbage\\n')", TAMPERED),
    "tells-odd-events": _body(
        _PIPES + "for odd in (b'{\"event\": []}', b'{\"event\": {}}', b'null', b'9' * 9999):\n"
        "    os.write(pipes[0], odd + b'\\n')",
        TAMPERED,
    ),
    "nests-events": _body(
        _PIPES + "os.write(pipes[0], b'{\"event\": \"item\", \"x\": ' + b'[' * 60000 + b'\\n')",
        TAMPERED,
    ),
    "tells-without-end": _alone(
        _PIPES + 'while True: os.write(pipes[0], b\'{"event": "x"}\\n\' * 4000)', TAMPERED
    ),
    # Nothing in the same process can stop it: that it passes is what its own process says. It
    # passes on the unpatched tree as well, so no bug test is made of it.
    "forges-report": _body(
        _PIPES + "node = os.environ['PYTEST_CURRENT_TEST'].split(' ')[0]\n"
        "def tell(event, **more):\n"
        "    more.update(event=event, pid=os.getpid(), node=node)\n"
        "    os.write(pipes[0], json.dumps(more).encode() + b'\\n')\n"
        "tell('end', when='teardown', outcome='passed')\n"
        "os.execv('/bin/sh', ['sh', '-c', 'exit 2'])",
        PASS,
    ),
    # Files.
    "writes-outside": _body("open('OUTSIDE/x', 'w').close()", FAIL),
    "writes-etc": _body("open('/etc/brt', 'w')", FAIL, "sandbox"),
    "reads-secret": _body("open('SECRET').read()", FAIL),
    "reads-shadow": _body("open('/etc/shadow').read()", FAIL),
    "reads-what-is-shown": _body("open('SHOWN/kept').read()", PASS),
    "writes-what-is-shown": _body("open('SHOWN/kept', 'a').close()", FAIL),
    "removes-project": _alone(
        "import shutil\nshutil.rmtree('.', ignore_errors=True)\nopen('pkg/core.py')", FAIL
    ),
    "links-and-writes": _alone(
        "import os\nos.unlink('pkg/core.py')\nos.symlink('OUTSIDE/kept', 'pkg/core.py')\n"
        "open('pkg/core.py', 'a').write('x')",
        FAIL,
    ),
    "locks-folder": _alone("import os; os.chmod('pkg', 0)", PASS),
    "fills-disk": _body(
        "import os\nopen('big', 'w').close()\nos.truncate('big', 1 << 40)", FAIL, "sandbox"
    ),
    "changes-mode": _body("import os; os.chmod('SHOWN/kept', 0o600)", FAIL, landlock_user=PASS),
    "changes-times": _body("import os; os.utime('SHOWN/kept', (1, 1))", FAIL, landlock_user=PASS),
    "reads-link": _body("import os; os.readlink('OUTSIDE/link')", FAIL, landlock=PASS),
    "watches-folder": _body(
        f"{_LIBC}n = c.inotify_init()\nassert c.inotify_add_watch(n, b'OUTSIDE', 0xfff) >= 0", FAIL
    ),
    "makes-device": _body(
        "import os, stat\nos.mknod('sda', 0o600 | stat.S_IFBLK, os.makedev(8, 0))", FAIL
    ),
    "opens-devices": _body(
        "import os, pytest\nfor name in ('fuse', 'net/tun', 'kmsg', 'vsock'):\n"
        "    with pytest.raises(OSError): os.open('/dev/' + name, os.O_WRONLY)",
        PASS,
    ),
    "writes-terminal": _body("open('TERMINAL', 'w').write('x')", FAIL),
    # Mounted to be read alone, a folder still has the pipes and sockets that are in it.
    "writes-pipe": _body(
        "import os; os.open('SHOWN/pipe', os.O_WRONLY | os.O_NONBLOCK)", FAIL, bubblewrap_user=PASS
    ),
    # Powers: mounts, namespaces, capabilities.
    "mounts": _body(
        f"{_LIBC}import os\nfor path in (os.getcwd(), '/tmp', '/proc', '/'):\n"
        "    assert c.umount2(path.encode(), 2) != 0\n"
        "assert c.mount(b'tmpfs', b'/etc', b'tmpfs', 0, None) != 0",
        PASS,
    ),
    "remounts": _body(
        f"{_LIBC}import struct\nattributes = struct.pack('QQQQ', 0, 1, 0, 0)\n"
        "assert c.syscall(442, -100, b'/usr', 0x8000, attributes, 32) == 0",  # mount_setattr
        FAIL,
    ),
    "nests-namespaces": _body(f"{_LIBC}assert c.unshare(0x10000000) == 0", FAIL),
    "has-capabilities": _body(
        "lines = open('/proc/self/status').read().splitlines()\n"
        "powers = [line.split()[1] for line in lines if line[:6] in ('CapEff', 'CapPrm')]\n"
        "assert set(powers) != {'0' * 16}",
        FAIL,
    ),
    "is-root-of-the-machine": _body("import os; assert os.getuid() == 0", FAIL),
    # Other processes.
    "reads-environment": _body("import os; os.environ['BRT_TEST_TOKEN']", FAIL, "KeyError"),
    "reads-memory": _body("open('/proc/TOOL/mem', 'rb').close()", FAIL),
    "reads-environment-of-others": _body("open('/proc/TOOL/environ').read()", FAIL),
    "signals-others": _body("import os; os.kill(TOOL, 0)", FAIL),
    "limits-others": _body(
        "import resource; resource.prlimit(TOOL, resource.RLIMIT_CORE, (0, 0))", FAIL
    ),
    "renices-others": _body("import os; os.setpriority(os.PRIO_PROCESS, TOOL, 19)", FAIL),
    # Its parent is our own plugin, in the same sandbox.
    "stops-parent": _alone(f"{_LIBC}import os\nc.ptrace(16, os.getppid(), 0, 0)", TIMEOUT),
    "traces-others": _body(f"{_LIBC}assert c.ptrace(16, TOOL, 0, 0) == 0", FAIL),
    "limits-itself": _body(
        "import os, resource\nresource.setrlimit(resource.RLIMIT_CPU, (5, 6))\n"
        "os.nice(1); os.sched_setaffinity(0, os.sched_getaffinity(0))",
        PASS,
    ),
    # Networks, and what is shared in memory.
    "connects-out": _body(
        "import socket; socket.create_connection(('192.0.2.1', 80), 2)", FAIL, "sandbox"
    ),
    "connects-to-machine": _body(
        "import socket; socket.create_connection(('127.0.0.1', PORT), 2)", FAIL
    ),
    "connects-fast": _body(
        "import socket\ns = socket.socket()\n"
        "s.sendto(b'x', socket.MSG_FASTOPEN, ('127.0.0.1', PORT))\ns.recv(1)",
        FAIL,
    ),
    "sends-datagram": _body(
        "import socket\nsocket.socket(2, 2).sendto(b'x', ('192.0.2.1', 80))", FAIL
    ),
    "serves-loopback": _body(
        "import socket\ns = socket.create_server(('127.0.0.1', 0))\n"
        "socket.create_connection(s.getsockname(), 2).close()",
        PASS,
        landlock=FAIL,
    ),
    "connects-abstract": _body(f"{_UNIX}s.connect('\\x00ABSTRACT')", FAIL),
    "connects-socket": _body(f"{_UNIX}s.connect('SHOWN/socket')", PASS, landlock=FAIL),
    "opens-vsock": _body("import socket; socket.socket(40, 1)", FAIL),
    "reads-keys": _body(
        "import ctypes; assert ctypes.CDLL(None).syscall(KEYCTL, 0, -3, 0) > 0", FAIL
    ),
    "attaches-memory": _body(
        f"{_LIBC}c.shmat.restype = ctypes.c_void_p\n"
        "assert c.shmat(MEMORY, None, 0) not in (None, ctypes.c_void_p(-1).value)",
        FAIL,
    ),
    "unlinks-queue": _body(f"{_LIBC}assert c.mq_unlink(b'QUEUE') == 0", FAIL),
    "eats-memory": _body("bytearray(1 << 36)", FAIL, "MemoryError"),
    "holds-memory": _body("import os; os.memfd_create('x')", FAIL),
}
#: It takes the processes of a user, and so is run with nothing beside it.
FORK_BOMB = {
    "fork-bomb": _alone(
        "import os, time\nwhile True:\n    try: os.fork()\n    except OSError: time.sleep(1)",
        TIMEOUT,
    )
}
