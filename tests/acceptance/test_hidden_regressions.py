"""What would hide a regression: a crash, and a run of many tests of which some fail by chance."""

from __future__ import annotations

from typing import Any

import pytest

from tests.support.reports import patches_of, read_report
from tests.support.trees import write_tree

CORE = "def area(side):\n    return side\n\n\ndef edge(side):\n    return side\n"
BUG_TEST = "import core\n\n\ndef test_area():\n    assert core.area(3) == 9\n"


def ranked(pytester: pytest.Pytester, suite: str, body: str) -> dict[str, Any]:
    """Return what is found of the patch that gives `edge` another body, and mends `area`."""
    patch = (
        "--- a/core.py\n+++ b/core.py\n@@ -1,6 +1,7 @@\n def area(side):\n-    return side\n"
        "+    return side * side\n \n \n def edge(side):\n"
        f"-    return side\n+    import os\n+    {body}\n"
    )
    write_tree(
        pytester.path,
        {
            "core.py": CORE,
            "test_core.py": suite,
            "bug/test_area.py": BUG_TEST,
            "patches/a.diff": patch,
            "pyproject.toml": "",
        },
    )
    out = pytester.path / "found.json"
    pytester.runpytest_subprocess(
        "--brt-tests=bug/test_area.py", "--rank-fixes=patches", f"--brt-report={out}"
    )
    (patch_found,) = patches_of(read_report(out)).values()
    return dict(patch_found["existing"])


def test_after_a_crash_tests_whose_names_begin_alike_are_run(pytester: pytest.Pytester) -> None:
    names = ("test_f", "test_f_two", "test_f_two_more", "test_g")
    suite = "import core\n" + "".join(
        f"\n\ndef {name}():\n    assert core.edge({number}) == {number}\n"
        for number, name in enumerate(names)
    )
    found = ranked(pytester, suite, "return side if side == 3 else os.abort() if not side else 7")
    assert found["ran"] == 4
    assert [test["test"] for test in found["broken"]] == [
        f"test_core.py::{name}" for name in names[:3]
    ]


def test_many_new_failures_are_run_again_too(pytester: pytest.Pytester) -> None:
    """Nine fail under the first hash seed alone, and one under each."""
    suite = "import core\n" + "".join(
        f"\n\ndef test_{number}():\n    assert core.edge({number}) == {number}\n"
        for number in range(10)
    )
    body = "return side if side and os.environ['PYTHONHASHSEED'] != '0' else -1"
    found = ranked(pytester, suite, body)
    assert found["ran"] == 10
    assert [test["test"] for test in found["broken"]] == ["test_core.py::test_0"]
