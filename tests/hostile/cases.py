"""Tests that mean harm, or are merely broken, and what each must be called."""

from __future__ import annotations

from dataclasses import dataclass, field

from pytest_brt.types import Verdict

PASS, FAIL, BROKEN, CRASH = Verdict.PASS, Verdict.FAIL, Verdict.BROKEN, Verdict.CRASH
TIMEOUT, TAMPERED, SKIP, XFAIL = Verdict.TIMEOUT, Verdict.TAMPERED, Verdict.SKIP, Verdict.XFAIL


@dataclass(frozen=True, slots=True, kw_only=True)
class Case:
    """A test `test_a`, its verdict, and words of the reason."""

    source: str
    verdict: Verdict
    #: Where a level differs, or one for an ordinary user ("landlock-user").
    other: dict[str, Verdict] = field(default_factory=dict)
    words: str = ""

    def expected(self, level: str, user: int) -> Verdict:
        """Return the verdict at an isolation level, for the user that starts the tool."""
        own = self.other.get(f"{level}-user") if user else None
        return own or self.other.get(level, self.verdict)


def _case(
    source: str,
    verdict: Verdict,
    words: str = "",
    *,
    landlock: Verdict | None = None,
    as_user: Verdict | None = None,
) -> Case:
    other = {"landlock": landlock, "landlock-user": as_user}
    return Case(
        source=source,
        verdict=verdict,
        words=words,
        other={name: value for name, value in other.items() if value is not None},
    )


#: SECRET is a file in the user's home, OUTSIDE a folder that everyone may write to, SHOWN one that
#: tests may read, with a socket and a pipe, PORT a server on the machine, ABSTRACT one on an
#: abstract socket, TERMINAL one of the user's: the runner puts them in.
CASES = {
    "passes": _case("def test_a(): assert True", PASS),
    "fails": _case("def test_a(): assert 1 == 2", FAIL, "assert 1 == 2"),
    "loops": _case("import time\ndef test_a():\n  while True: time.sleep(0.1)", TIMEOUT),
    "loops-while-loading": _case(
        "import time\nwhile True: time.sleep(0.1)\ndef test_a(): pass", TIMEOUT
    ),
    "fork-bomb": _case(
        "import os, time\ndef test_a():\n  while True:\n    try: os.fork()\n"
        "    except OSError: time.sleep(1)",
        TIMEOUT,
    ),
    "sys-exit": _case("import sys\ndef test_a(): sys.exit(0)", BROKEN, "SystemExit"),
    "os-exit": _case("import os\ndef test_a(): os._exit(0)", CRASH, "exit status 0"),
    "os-exit-while-loading": _case("import os\nos._exit(0)\ndef test_a(): pass", BROKEN),
    "kills-parent": _case(
        "import os\ndef test_a():\n  os.kill(os.getppid(), 9)", FAIL, "sandbox: EPERM"
    ),
    "kills-first": _case("import os\ndef test_a(): os.kill(1, 9)", FAIL, "sandbox: EPERM"),
    "kills-everyone": _case("import os\ndef test_a(): os.kill(-1, 9)", PASS),
    "kills-group": _case("import os\ndef test_a(): os.killpg(0, 9)", CRASH, "SIGKILL"),
    "stops-itself": _case("import os\ndef test_a(): os.kill(os.getpid(), 19)", TIMEOUT),
    "removes-project": _case(
        "import shutil\ndef test_a():\n  shutil.rmtree('.', ignore_errors=True)\n"
        "  open('pkg/core.py')",
        FAIL,
    ),
    "removes-home": _case("import shutil\ndef test_a():\n  shutil.rmtree('HOME_FOLDER')", FAIL),
    "writes-outside": _case("def test_a(): open('OUTSIDE/x', 'w').write('x')", FAIL, landlock=FAIL),
    "writes-etc": _case("def test_a(): open('/etc/brt', 'w')", FAIL, "sandbox: "),
    "reads-secret": _case("def test_a(): open('SECRET').read()", FAIL),
    "reads-what-is-shown": _case("def test_a(): open('SHOWN/kept').read()", PASS),
    "reads-environment": _case(
        "import os\ndef test_a(): os.environ['BRT_TEST_TOKEN']", FAIL, "KeyError"
    ),
    "reads-first-environ": _case("def test_a(): open('/proc/1/environ').read()", FAIL, "sandbox"),
    "reads-parent-memory": _case(
        "import os\ndef test_a(): open('/proc/%d/mem' % os.getppid(), 'rb')", FAIL, "sandbox: EACC"
    ),
    "connects-out": _case(
        "import socket\ndef test_a(): socket.create_connection(('192.0.2.1', 80), 2)",
        FAIL,
        "sandbox: ",
    ),
    "connects-to-machine": _case(
        "import socket\ndef test_a(): socket.create_connection(('127.0.0.1', PORT), 2)", FAIL
    ),
    "connects-abstract": _case(
        "import socket\ndef test_a():\n  s = socket.socket(socket.AF_UNIX)\n"
        "  s.connect('\\x00ABSTRACT')",
        FAIL,
    ),
    "resolves-names": _case(
        "import socket\ndef test_a(): socket.getaddrinfo('example.org', 80)",
        FAIL,
        "sandbox: gaierror",
    ),
    "serves-loopback": _case(
        "import socket\ndef test_a():\n  s = socket.socket()\n"
        "  s.bind(('127.0.0.1', 0)); s.listen()\n"
        "  socket.create_connection(s.getsockname(), 2).close(); s.close()",
        PASS,
        landlock=FAIL,
    ),
    "eats-memory": _case("def test_a(): x = bytearray(1 << 36)", FAIL, "sandbox: MemoryError"),
    "prints-without-end": _case(
        "def test_a():\n  for _ in range(1300): print('x' * (1 << 20))", FAIL, "sandbox: "
    ),
    "fills-disk": _case(
        "def test_a():\n  with open('big', 'wb') as f:\n"
        "    for _ in range(2000): f.write(bytes(1 << 20))",
        FAIL,
        "sandbox: ",
    ),
    "closes-everything": _case("import os\ndef test_a(): os.closerange(0, 256)", CRASH),
    "writes-to-descriptors": _case(
        "import os, stat\ndef test_a():\n  for n in range(3, 64):\n"
        "    try: mode = os.fstat(n).st_mode\n"
        "    except OSError: continue\n    assert not stat.S_ISSOCK(mode)\n"
        "    if stat.S_ISFIFO(mode): os.write(n, b'garbage\\n')",
        PASS,
    ),
    "changes-folder": _case("import os\ndef test_a(): os.chdir('/')", PASS),
    "leaves-thread": _case(
        "import threading, time\ndef test_a():\n"
        "  threading.Thread(target=time.sleep, args=(60,)).start()",
        TIMEOUT,
    ),
    "kills-itself": _case("import os\ndef test_a(): os.kill(os.getpid(), 9)", CRASH, "SIGKILL"),
    "aborts": _case("import os\ndef test_a(): os.abort()", CRASH, "SIGABRT"),
    "segfaults": _case("import ctypes\ndef test_a(): ctypes.string_at(0)", CRASH, "SIGSEGV"),
    "overflows-stack": _case("def f(): f()\ndef test_a(): f()", FAIL, "RecursionError"),
    "interrupts": _case("def test_a(): raise KeyboardInterrupt", BROKEN),
    "reads-input": _case("def test_a(): input()", FAIL),
    "patches-report": _case(
        "from _pytest.reports import TestReport\n"
        "def test_a():\n  old = TestReport.from_item_and_call\n"
        "  def new(item, call):\n    report = old(item, call); report.outcome = 'passed'\n"
        "    report.longrepr = None; return report\n"
        "  TestReport.from_item_and_call = staticmethod(new)\n  assert 0",
        TAMPERED,
    ),
    "prints-passed": _case("def test_a():\n  print('1 passed in 0.01s')\n  assert 0", FAIL),
    "exits-late": _case(
        "import atexit, os\ndef test_a():\n  atexit.register(os._exit, 0)\n  assert 0", TAMPERED
    ),
    "catches-everything": _case("def test_a():\n  try: 1 / 0\n  except BaseException: pass", PASS),
    "ignores-signals": _case(
        "import ctypes, signal\ndef test_a():\n  for n in range(1, 65):\n"
        "    try: signal.signal(n, signal.SIG_IGN)\n    except (OSError, ValueError): pass\n"
        "  ctypes.CDLL(None).sleep(60)",
        TIMEOUT,
    ),
    "odd-text": _case(
        "def test_a(): raise ValueError('\\ud800\\0\\n\\x1b[31m')", FAIL, "ValueError"
    ),
    "clears-path": _case("import sys\ndef test_a(): sys.path.clear()", PASS),
    "import-error": _case("import zork\ndef test_a(): pass", BROKEN, "zork"),
    "syntax-error": _case("def test_a(:", BROKEN, "SyntaxError"),
    "name-error": _case("def test_a(): zork", BROKEN, "NameError"),
    "no-test": _case("x = 1", BROKEN),
    "no-fixture": _case("def test_a(zork): pass", BROKEN, "fixture 'zork' not found"),
    "skips": _case("import pytest\ndef test_a(): pytest.skip('no')", SKIP),
    "expected-failure": _case("import pytest\n@pytest.mark.xfail\ndef test_a(): assert 0", XFAIL),
    "leaves-daemon": _case(
        "import os, time\ndef test_a():\n  if os.fork() == 0:\n    os.setsid()\n"
        "    if os.fork() == 0:\n      for n in range(256):\n        try: os.close(n)\n"
        "        except OSError: pass\n      time.sleep(600)\n    os._exit(0)\n  os.wait()",
        PASS,
    ),
    "forks-and-returns": _case(
        # The other process tells all of its story first: else it may be killed before it does.
        "import os\ndef test_a():\n  if os.fork():\n    os.wait()",
        TAMPERED,
        "two processes",
    ),
    "odd-repr": _case(
        "class X:\n  def __repr__(self): raise RuntimeError\ndef test_a(): assert X() == 1", FAIL
    ),
    "wipes-modules": _case(
        "import sys\ndef test_a():\n  sys.modules.clear()\n  import json\n  assert 0", BROKEN
    ),
    "project-key-error": _case(
        "from pkg.core import Thing\ndef test_a(): Thing().missing()", FAIL, "KeyError"
    ),
    "wrong-call": _case(
        "from pkg.core import divide\ndef test_a(): divide(1)", FAIL, "does not fit the project"
    ),
    "pytest-exit": _case("import pytest\ndef test_a(): pytest.exit('x')", BROKEN, "broke off"),
    "edits-project": _case(
        "def test_a():\n  open('pkg/core.py', 'a').write('# x')\n  open('new', 'w').close()", PASS
    ),
    "links-and-writes": _case(
        "import os\ndef test_a():\n  os.unlink('pkg/core.py')\n"
        "  os.symlink('OUTSIDE/kept', 'pkg/core.py')\n  open('pkg/core.py', 'w').write('x')",
        FAIL,
    ),
    "locks-folder": _case(
        "import os\ndef test_a(): os.chmod('pkg', 0)",
        PASS,
        as_user=FAIL,  # there nothing tells the copy's files from the user's own
    ),
    "mounts": _case(
        "import ctypes, os\ndef test_a():\n  c = ctypes.CDLL(None, use_errno=True)\n"
        "  for path in (os.getcwd(), '/tmp', '/proc', '/'):\n"
        "    assert c.umount2(path.encode(), 2) != 0\n"
        "  assert c.mount(b'tmpfs', b'/etc', b'tmpfs', 0, None) != 0",
        PASS,
    ),
    "gains-and-remounts": _case(
        "import ctypes\ndef test_a():\n  c = ctypes.CDLL(None, use_errno=True)\n"
        "  c.unshare(0x10000000 | 0x20000)\n"
        "  c.mount(b'none', b'/', None, 32 | 4096, None)\n"
        "  open('OUTSIDE/x', 'w').write('x')",
        FAIL,
    ),
    "traces-parent": _case(
        "import ctypes, os\ndef test_a():\n  c = ctypes.CDLL(None, use_errno=True)\n"
        "  assert c.ptrace(16, os.getppid(), 0, 0) == -1",
        PASS,
    ),
    "limits-others": _case(
        "import resource\ndef test_a(): resource.prlimit(TOOL, resource.RLIMIT_CPU, (1, 1))",
        FAIL,
        "sandbox: EPERM",
    ),
    "renices-others": _case(
        "import os\ndef test_a(): os.setpriority(os.PRIO_PROCESS, TOOL, 19)", FAIL, "sandbox: "
    ),
    "binds-others": _case(
        "import os\ndef test_a(): os.sched_setaffinity(TOOL, [0])", FAIL, "sandbox: EPERM"
    ),
    "limits-itself": _case(
        "import os, resource\ndef test_a():\n  resource.setrlimit(resource.RLIMIT_CPU, (5, 6))\n"
        "  os.nice(1); os.sched_setaffinity(0, os.sched_getaffinity(0))",
        PASS,
    ),
    "opens-pipes-of-others": _case(
        "import glob, os, stat\ndef test_a():\n"
        "  others = set(glob.glob('/proc/[0-9]*')) - {'/proc/%d' % os.getpid()}\n"
        "  for path in others | {'/proc/TOOL'}:\n    for n in range(256):\n"
        "      try: opened = os.open('%s/fd/%d' % (path, n), os.O_WRONLY | os.O_NONBLOCK)\n"
        "      except OSError: continue\n"
        "      assert not stat.S_ISFIFO(os.fstat(opened).st_mode)",
        PASS,
    ),
    "makes-device": _case(
        "import os, stat\ndef test_a(): os.mknod('sda', 0o600 | stat.S_IFBLK, os.makedev(8, 0))",
        FAIL,
        "sandbox: EPERM",
    ),
    "raises-limits": _case(
        "import resource\ndef test_a():\n  inf = resource.RLIM_INFINITY\n"
        "  resource.setrlimit(resource.RLIMIT_AS, (inf, inf))",
        FAIL,
    ),
    "leaves-notes": _case(
        "def test_a():\n  for f in (TMP, '/dev/shm'): open(f + '/MARK', 'w').close()",
        PASS,
        landlock=FAIL,
    ),
    "finds-notes": _case(
        "import os\ndef test_a():\n"
        "  assert not any(os.path.exists(f + '/MARK') for f in (TMP, '/dev/shm'))",
        PASS,
    ),
    "writes-terminal": _case("def test_a(): open('TERMINAL', 'w').write('x')", FAIL),
    "reads-terminal": _case("import os\ndef test_a(): os.open('TERMINAL', os.O_RDONLY)", FAIL),
    "opens-devices": _case(
        "import os, pytest\ndef test_a():\n"
        "  for name in ('fuse', 'net/tun', 'kmsg', 'vsock', 'console'):\n"
        "    with pytest.raises(OSError):\n      os.open('/dev/' + name, os.O_WRONLY)",
        PASS,
    ),
    "connects-socket": _case(
        "import socket\ndef test_a():\n  s = socket.socket(socket.AF_UNIX)\n"
        "  s.connect('SHOWN/socket')",
        FAIL,
    ),
    "connects-hidden-socket": _case(
        "import socket\ndef test_a():\n  s = socket.socket(socket.AF_UNIX)\n"
        "  s.connect('OUTSIDE/socket')",
        FAIL,
    ),
    "writes-pipe": _case(
        "import os\ndef test_a(): os.open('SHOWN/pipe', os.O_WRONLY | os.O_NONBLOCK)", FAIL
    ),
    "changes-mode": _case("import os\ndef test_a(): os.chmod('SHOWN/kept', 0o600)", FAIL),
    "changes-times": _case("import os\ndef test_a(): os.utime('SHOWN/kept', (1, 1))", FAIL),
    "sets-attribute": _case(
        "import os\ndef test_a(): os.setxattr('SHOWN/kept', 'user.x', b'1')", FAIL
    ),
    "sets-flags": _case(
        "import array, fcntl\ndef test_a():\n"
        "  fcntl.ioctl(open('SHOWN/kept'), 0x40086602, array.array('l', [0x40]))",
        FAIL,
    ),
    "reads-keys": _case(
        "import ctypes\ndef test_a():\n  c = ctypes.CDLL(None)\n"
        "  assert c.syscall(KEYCTL, 0, -3, 0) > 0",
        FAIL,
    ),
    "opens-vsock": _case("import socket\ndef test_a(): socket.socket(40, 1)", FAIL),
    "reads-shadow": _case("def test_a(): open('/etc/shadow').read()", FAIL),
    "holds-memory": _case(
        "import os\ndef test_a():\n  held = [os.memfd_create('x') for _ in range(16)]\n"
        "  for one in held: os.truncate(one, 200 << 20)",
        FAIL,
        "sandbox: EPERM",
    ),
    "holds-semaphores": _case(
        "import ctypes, os\ndef test_a():\n  c = ctypes.CDLL(None, use_errno=True)\n"
        "  if c.semget(0, 32000, 0o600) < 0: raise OSError(ctypes.get_errno(), 'semget')",
        FAIL,
        "sandbox: EPERM",
    ),
    "holds-messages": _case(
        "import ctypes, os\ndef test_a():\n  c = ctypes.CDLL(None, use_errno=True)\n"
        "  if c.msgget(0, 0o600) < 0: raise OSError(ctypes.get_errno(), 'msgget')",
        FAIL,
        "sandbox: EPERM",
    ),
    "nests-namespaces": _case(
        "import ctypes\ndef test_a(): assert ctypes.CDLL(None).unshare(0x10000000) == 0", FAIL
    ),
    # What nothing in the same process can stop. It passes on the buggy tree as well, so it is
    # never taken for a reproduction.
    "nests-events": _case(
        "import os, stat\ndef test_a():\n  for n in range(3, 64):\n"
        "    try: mode = os.fstat(n).st_mode\n    except OSError: continue\n"
        "    if stat.S_ISFIFO(mode):\n"
        "      os.write(n, b'{\"event\": \"item\", \"x\": ' + b'[' * 100000 + b'\\n')",
        TAMPERED,
        "made to end",
    ),
    "tells-odd-events": _case(
        "import os, stat\ndef test_a():\n  for n in range(3, 64):\n"
        "    try: mode = os.fstat(n).st_mode\n    except OSError: continue\n"
        "    if stat.S_ISFIFO(mode):\n"
        "      for odd in (b'{\"event\": []}', b'{\"event\": {}}', b'null', b'9' * 9999):\n"
        "        os.write(n, odd + b'\\n')",
        PASS,
    ),
    "tells-without-end": _case(
        "import os, stat\ndef test_a():\n  for n in range(3, 64):\n"
        "    try: mode = os.fstat(n).st_mode\n    except OSError: continue\n"
        "    if stat.S_ISFIFO(mode):\n"
        '      while True: os.write(n, b\'{"event": "item"}\\n\' * 99)',
        TAMPERED,
        "two processes",
    ),
    "tells-in-packets": _case(
        "import fcntl, os, stat\ndef test_a():\n  for n in range(3, 64):\n"
        "    try: mode = os.fstat(n).st_mode\n    except OSError: continue\n"
        "    if stat.S_ISFIFO(mode):\n"
        "      fcntl.fcntl(n, 1031, 1 << 20)\n"  # its size
        "      fcntl.fcntl(n, fcntl.F_SETFL, os.O_WRONLY | os.O_DIRECT)\n"
        "      for _ in range(999): os.write(n, b'garbage\\n')",
        PASS,
    ),
    "forges-report": _case(
        "import json, os, stat\ndef test_a():\n"
        "  node = os.environ['PYTEST_CURRENT_TEST'].split(' ')[0]\n"
        "  for n in range(3, 64):\n    try: mode = os.fstat(n).st_mode\n"
        "    except OSError: continue\n    if not stat.S_ISFIFO(mode): continue\n"
        "    def tell(event, **more):\n"
        "      more.update(event=event, pid=os.getpid(), node=node)\n"
        "      os.write(n, json.dumps(more).encode() + b'\\n')\n"
        "    for when in ('call', 'teardown'):\n"
        "      tell('report', when=when, outcome='passed')\n"
        "    tell('item_end'); tell('finish', code=0)\n  os._exit(0)",
        PASS,
    ),
}
