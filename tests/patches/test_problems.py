"""Every patch that is refused, and the one line that says why."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from pytest_brt.errors import PatchProblem
from pytest_brt.types import AppliedPatch
from tests.patches.diffs import GIT, HUNK, PLAIN

ONE = "@@ -1 +1 @@\n-one = 1\n+one = 2\n"


def edit(path: str, body: str = ONE) -> str:
    return f"--- a/{path}\n+++ b/{path}\n{body}"


def create(path: str, mode: str = "100644") -> str:
    return (
        f"diff --git a/{path} b/{path}\nnew file mode {mode}\n--- /dev/null\n+++ b/{path}\n"
        "@@ -0,0 +1 @@\n+x = 1\n"
    )


@pytest.mark.parametrize(
    ("text", "said"),
    [
        pytest.param("", "empty patch: there is no text in it", id="empty"),
        pytest.param(
            HUNK,
            "malformed diff: patch fragment without header at line 1",
            id="hunk-only",
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
        pytest.param(
            "diff --git a/pkg/m.py b/pkg/m.py\nindex 1111111..2222222 100644\n",
            "malformed diff: patch with only garbage at line 3",
            id="header-only",
        ),
        pytest.param(
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
        pytest.param(
            edit("pipe"),
            "unsafe path: 'pipe' is no file of the project",
            id="pipe",
        ),
        pytest.param(
            create("pkg/../../m.py"),
            "unsafe path: 'pkg/../../m.py' is no file of the project",
            id="traversal-inside",
        ),
        pytest.param(
            create("/etc/new"),
            "unsafe path: '/etc/new' is no file of the project",
            id="absolute-prefixed",
        ),
        pytest.param(
            edit("linked/target.py"),
            "unsafe path: 'linked/target.py' is no file of the project",
            id="through-symlink",
        ),
        pytest.param(
            edit("pkg/link.py"),
            "unsafe path: 'pkg/link.py' is no file of the project",
            id="symlink",
        ),
        pytest.param(
            edit(".git/config"),
            "unsafe path: '.git/config' is no file of the project",
            id="git",
        ),
        pytest.param(
            create("pkg/m.py/x.py"),
            "unsafe path: 'pkg/m.py/x.py' is no file of the project",
            id="through-file",
        ),
        pytest.param(
            edit("pkg"),
            "unsafe path: 'pkg' is no file of the project",
            id="folder",
        ),
        pytest.param(
            '--- /dev/null\n+++ "b/pkg/a\\001.py"\n@@ -0,0 +1 @@\n+x = 1\n',
            "unsafe path: 'pkg/a\\x01.py' is no file of the project",
            id="control",
        ),
        pytest.param(
            create("x" * 300),
            f"unsafe path: {'x' * 300!r} is no file of the project",
            id="too-long",
        ),
    ],
)
def test_each_problem_has_its_own_line(
    apply: Callable[[str], AppliedPatch], text: str, said: str
) -> None:
    with pytest.raises(PatchProblem) as caught:
        apply(text)
    assert str(caught.value) == said
    assert "\n" not in said


def test_new_files_with_prefix_are_never_created_below_it(
    apply: Callable[[str], AppliedPatch],
) -> None:
    # What `git apply -p0` does to this: it creates b/pkg/new.py.
    assert [change.path for change in apply(create("pkg/new.py")).changes] == ["pkg/new.py"]


def test_fuzz_is_never_applied_elsewhere(apply: Callable[[str], AppliedPatch]) -> None:
    # GNU patch would drop the outer context lines and apply this.
    text = PLAIN.replace(" def first(x):", " def other(x):")
    with pytest.raises(PatchProblem, match=r"^does not apply"):
        apply(text)
