"""Tests of a project, and their verdicts."""

from __future__ import annotations

from pytest_brt.types import Verdict

CASES = {
    "pass": ("def test_a():\n    assert True\n", Verdict.PASS, "passed"),
    "assertion": (
        "from pkg.core import divide\ndef test_a():\n    assert divide(4, 2) == 3\n",
        Verdict.FAIL,
        "AssertionError: assert 2.0 == 3",
    ),
    "project-raises": (
        "from pkg.core import divide\ndef test_a():\n    divide(1, 0)\n",
        Verdict.FAIL,
        "ZeroDivisionError: division by zero (pkg/core.py:2)",
    ),
    "did-not-raise": (
        "import pytest\ndef test_a():\n    with pytest.raises(ValueError):\n        pass\n",
        Verdict.FAIL,
        "Failed: DID NOT RAISE",
    ),
    "name-error": ("def test_a():\n    zork\n", Verdict.BROKEN, "error in the test itself"),
    "import-in-body": ("def test_a():\n    import zork\n", Verdict.BROKEN, "in the test itself"),
    "import-on-top": ("import zork\ndef test_a(): pass\n", Verdict.BROKEN, "No module named"),
    "syntax": ("def test_a(:\n", Verdict.BROKEN, "cannot be collected: SyntaxError"),
    "fixture": ("def test_a(zork): pass\n", Verdict.BROKEN, "fixture 'zork' not found"),
    "no-such-name": (
        "import pkg.core\ndef test_a():\n    pkg.core.zork()\n",
        Verdict.FAIL,
        "does not fit the project: AttributeError",
    ),
    "wrong-call": (
        "from pkg.core import divide\ndef test_a():\n    divide(1, 2, 3)\n",
        Verdict.FAIL,
        "does not fit the project: TypeError",
    ),
    "no-such-method": (
        "from pkg.core import Thing\ndef test_a():\n    Thing().zork\n",
        Verdict.FAIL,
        "does not fit the project: AttributeError",
    ),
    "foreign-attribute": ("def test_a():\n    (3).zork\n", Verdict.FAIL, "AttributeError: 'int'"),
    "sys-exit": ("import sys\ndef test_a():\n    sys.exit(0)\n", Verdict.BROKEN, "SystemExit"),
    "os-exit": ("import os\ndef test_a():\n    os._exit(0)\n", Verdict.CRASH, "exit status 0"),
    "segfault": ("import os\ndef test_a():\n    os.kill(os.getpid(), 11)\n", Verdict.CRASH, "SEGV"),
    "pytest-exit": ("import pytest\ndef test_a():\n    pytest.exit('x')\n", Verdict.BROKEN, "Exit"),
    "skip": ("import pytest\ndef test_a():\n    pytest.skip('no')\n", Verdict.SKIP, "no"),
    "xfail": (
        "import pytest\n@pytest.mark.xfail(reason='bug')\ndef test_a():\n    assert 0\n",
        Verdict.XFAIL,
        "bug",
    ),
    "memory": ("def test_a():\n    x = b'x' * 10**11\n", Verdict.FAIL, "sandbox: MemoryError"),
    "late-exit": (
        "import atexit, os\ndef test_a():\n    atexit.register(os._exit, 0)\n    assert 0\n",
        Verdict.TAMPERED,
        "pytest said 1",
    ),
    "teardown": (
        "import pytest\n@pytest.fixture\ndef f():\n    yield\n    1 / 0\ndef test_a(f): pass\n",
        Verdict.BROKEN,
        "teardown failed",
    ),
    "no-such-test": ("def test_b(): pass\n", Verdict.BROKEN, "not found"),
}
