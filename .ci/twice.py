"""Run pytest, and what failed once more with nothing beside it.

Most tests start processes of their own and wait for them, five at a time: on a busy machine one can
fail for want of a machine. What fails twice is a fault. What fails once is named by the first run,
and is a fault of the test.
"""

import subprocess
import sys

import pytest

ALONE = ("-n", "0", "--last-failed", "--last-failed-no-failures", "none", "--exitfirst")


def main(options: list[str]) -> int:
    """Return the exit code of pytest with `options`; that of the second run, if tests failed."""
    command = [sys.executable, "-m", "pytest", *options]
    code = subprocess.call(command)
    # No other code says that all tests were run: what was not must not be taken for passed.
    if code != pytest.ExitCode.TESTS_FAILED:
        return code
    print("Once more, one at a time: what failed above.", flush=True)
    return subprocess.call([*command, *ALONE])


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
