"""Runs rows for ever: ``python -m tests.hostile.chaos_run LEVEL ROOT MARK``; to be killed."""

from __future__ import annotations

import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from pytest_brt.execute.engine import Row, TestTarget
from pytest_brt.types import FileChange, Verdict
from tests.support.projects import open_on

SOURCE = """\
import os, time
from pkg.core import divide
def test_a():
    open('pkg/core.py', 'a').write('# spoilt')
    if os.fork() == 0:
        os.setsid()
        if os.fork() == 0:
            time.sleep(300)
        os._exit(0)
    os.wait()
    assert divide(4, 2) == 7
"""
CHANGE = FileChange(path="pkg/core.py", content=b"def divide(a, b):\n    return 7\n")


def main() -> None:
    """Say "ready", then one line for each row that came out right."""
    level, root, mark = sys.argv[1:]
    engine = open_on(Path(root), env={"BRT_TEST_MARK": mark}, sandbox=level, jobs=2)
    target = TestTarget(id="t", path="tests/test_x.py", source=SOURCE, node="test_a")
    row = Row(targets=(target, target), changes=(CHANGE,))

    def work(_: int) -> None:
        while True:
            runs = engine.run(row).runs
            wrong = [run for run in runs if run.verdict not in (Verdict.PASS, Verdict.CRASH)]
            print("wrong" if wrong else "row", wrong, flush=True)

    with ThreadPoolExecutor(2) as pool:
        print("ready", flush=True)
        list(pool.map(work, range(2)))


if __name__ == "__main__":
    main()
