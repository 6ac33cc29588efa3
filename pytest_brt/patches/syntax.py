"""Whether Python files compile, asked of an interpreter in a process of its own.

Not in this process: compiling warns through global state that threads share (an invalid
escape would be an error under ``-W error``), and hostile source can end the process that
compiles it. Nothing is run: `compile` makes code and throws it away.
"""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

#: Seconds; compiling takes milliseconds.
_SECONDS = 30.0
#: Standard library only, Python 3.8+: the interpreter may be the subject's.
_SCRIPT = r"""
import sys
for path in sys.stdin.buffer.read().split(b"\0"):
    try:
        with open(path, "rb") as file:
            compile(file.read(), "patched", "exec", dont_inherit=True)
        found = "ok"
    except Exception as error:
        found = "%s: %s" % (getattr(error, "lineno", None) or 1, getattr(error, "msg", error))
    sys.stdout.write(ascii(found)[1:-1] + "\n")
    sys.stdout.flush()
"""


def find_syntax_errors(paths: tuple[str, ...], folder: Path, python: str = "") -> dict[str, str]:
    """Return what is wrong with those of `paths` in `folder` that do not compile.

    A value is "line: message". `python` is the interpreter to ask, by default the running
    one. Asking fails when it cannot be started; then all are taken to compile, since the
    tests that run on the tree will say more.
    """
    if not paths:
        return {}
    command = [python or sys.executable, "-I", "-S", "-W", "ignore", "-c", _SCRIPT]
    try:
        done = subprocess.run(
            command,
            cwd=folder,
            input="\0".join(paths).encode("utf-8", "surrogateescape"),
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            timeout=_SECONDS,
            check=False,
        )
    except (OSError, subprocess.TimeoutExpired):
        return {}
    answers = done.stdout.decode("ascii", "replace").splitlines()
    found = dict(zip(paths, answers, strict=False))
    if done.returncode < 0 and len(answers) < len(paths):
        found[paths[len(answers)]] = "1: the compiler crashed"
    return {path: answer for path, answer in found.items() if answer != "ok"}
