"""Every patch that is refused, and the one line that says why."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from pytest_brt.errors import PatchProblem
from pytest_brt.types import AppliedPatch
from tests.patches.diffs import GIT, HUNK, PLAIN

Apply = Callable[[str], AppliedPatch]
ONE = "@@ -1 +1 @@\n-one = 1\n+one = 2\n"


def edit(path: str, body: str = ONE) -> str:
    return f"--- a/{path}\n+++ b/{path}\n{body}"


def create(path: str) -> str:
    return (
        f"diff --git a/{path} b/{path}\nnew file mode 100644\n--- /dev/null\n+++ b/{path}\n"
        "@@ -0,0 +1 @@\n+x = 1\n"
    )


def refusal(apply: Apply, text: str) -> str:
    with pytest.raises(PatchProblem) as caught:
        apply(text)
    return str(caught.value)


@pytest.mark.parametrize(
    ("text", "said"),
    [
        pytest.param("", "empty patch: there is no text in it", id="empty"),
        pytest.param(
            HUNK, "malformed diff: patch fragment without header at line 1", id="hunk-only"
        ),
        pytest.param(
            PLAIN.replace("@@ -3,6 +3,6 @@ import os", "@@"),
            "malformed diff: no hunk begins with '@@ -N,N +N,N @@'",
            id="bare-hunk",
        ),
        pytest.param(
            GIT.replace("-3,6 +3,6 @@ import os", "-x,6 +3,6 @@"),
            "malformed diff: corrupt patch at line 5",
            id="no-numbers",
        ),
        pytest.param(  # GNU patch would drop the outer lines of context, and apply it
            PLAIN.replace("    c = 3", "    c = 33"),
            "does not apply: 'pkg/m.py' has no lines like those of the hunk for line 3",
            id="fuzz-needed",
        ),
        pytest.param(
            PLAIN + edit("pkg/other.py", "@@ -1,2 +1,2 @@\n-none\n+one = 2\n two = 2\n"),
            "does not apply: 'pkg/other.py' has no lines like those of the hunk for line 1",
            id="two-files-one-fails",
        ),
        pytest.param(
            edit("pkg/gone.py"), "file missing: 'pkg/gone.py' is not in the tree", id="missing"
        ),
        pytest.param(
            "--- a/pkg/other.py\n+++ /dev/null\n@@ -1,3 +0,0 @@\n-one = 1\n-two = 2\n-three = 3\n"
            + edit("pkg/other.py"),
            "git apply: path pkg/other.py has been renamed/deleted",
            id="changed-after-deletion",
        ),
        pytest.param(
            edit("pkg/other.py", "@@ -2,0 +3 @@\n+half = 5\n"),
            "does not apply: nothing says where the lines belong that a hunk adds"
            " (write it with 'git diff -U3')",
            id="no-context-addition",
        ),
        pytest.param(
            edit("pkg/same.py", "@@ -1 +1 @@\n-    # same\n+    # new\n"),
            "does not apply: 'pkg/same.py' has no lines like those of the hunk for line 1",
            id="no-context-ambiguous",
        ),
        pytest.param(
            "diff --git a/pkg/a.bin b/pkg/a.bin\nnew file mode 100644\n"
            "Binary files /dev/null and b/pkg/a.bin differ\n"
            + edit(
                "tests/test_m.py",
                "@@ -1,2 +1,2 @@\n-def test_m():\n+def test_n():\n     assert False\n",
            ),
            "it changes nothing but tests, settings or binary files, which are left out:"
            " 'pkg/a.bin', 'tests/test_m.py'",
            id="only-left-out",
        ),
    ],
)
def test_each_problem_has_its_own_line(apply: Apply, text: str, said: str) -> None:
    assert refusal(apply, text) == said


#: What is no file of the project, and a patch that makes or changes it.
UNSAFE = {
    "pipe": edit("pipe"),
    "pkg/../../m.py": create("pkg/../../m.py"),
    "/etc/new": create("/etc/new"),
    "linked/target.py": edit("linked/target.py"),
    "pkg/link.py": edit("pkg/link.py"),
    ".git/config": edit(".git/config"),
    "pkg/m.py/x.py": create("pkg/m.py/x.py"),
    "pkg": edit("pkg"),
    "pkg/a\x01.py": '--- /dev/null\n+++ "b/pkg/a\\001.py"\n@@ -0,0 +1 @@\n+x = 1\n',
    "x" * 300: create("x" * 300),
}


@pytest.mark.parametrize("path", UNSAFE)
def test_what_is_no_file_of_the_project_is_refused(apply: Apply, path: str) -> None:
    said = refusal(apply, UNSAFE[path])
    assert said == f"unsafe path: {path!r} is no file of the project"
