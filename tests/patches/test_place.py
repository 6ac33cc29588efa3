from __future__ import annotations

from collections.abc import Callable

import pytest

from pytest_brt.patches import apply_patch
from pytest_brt.patches.problem import PatchProblem
from pytest_brt.types import AppliedLeniently, AppliedPatch, Mending, Patch, PlaceChosen
from pytest_brt.types.refused import HunkAdrift, HunkMissing
from tests.patches.diffs import FILES

PLACED = (AppliedLeniently(mendings=(Mending.PLACES,)),)


@pytest.mark.parametrize(
    "hunk",
    [
        pytest.param("@@ -1 +1 @@\n-two = 2\n+two = 20\n", id="no-context-wrong-line"),
        pytest.param("@@ -1,2 +1,2 @@\n-two = 2\n+two = 20\n three = 3\n", id="says-line-1"),
        pytest.param("@@ -2,2 +2,2 @@\n one = 1\n-two = 2\n+two = 20\n", id="no-trailing-context"),
    ],
)
def test_a_hunk_that_stands_in_one_place_belongs_there(
    apply: Callable[[str], AppliedPatch], hunk: str
) -> None:
    applied = apply(f"--- a/pkg/other.py\n+++ b/pkg/other.py\n{hunk}")
    assert [change.content for change in applied.changes] == [b"one = 1\ntwo = 20\nthree = 3\n"]
    assert applied.remarks == PLACED


@pytest.mark.parametrize(
    "hunk",
    [
        pytest.param("@@ -2 +2 @@\n-two = 2\n+two = 20\n", id="no-context"),
        pytest.param("@@ -1,2 +1,2 @@\n one = 1\n-two = 2\n+two = 20\n", id="no-trailing"),
    ],
)
def test_a_hunk_that_stands_where_it_says_is_exact(
    apply: Callable[[str], AppliedPatch], hunk: str
) -> None:
    applied = apply(f"--- a/pkg/other.py\n+++ b/pkg/other.py\n{hunk}")
    assert [change.content for change in applied.changes] == [b"one = 1\ntwo = 20\nthree = 3\n"]
    assert applied.remarks == ()


def test_the_end_of_the_file_is_not_preferred(apply: Callable[[str], AppliedPatch]) -> None:
    # git apply would change the last "    return z" for want of trailing context.
    text = "--- a/pkg/same.py\n+++ b/pkg/same.py\n@@ -5 +5 @@\n-    return z\n+    return y\n"
    applied = apply(text)
    lines = FILES["pkg/same.py"].splitlines()
    assert lines[4] == b"    return z"
    lines[4] = b"    return y"
    assert (applied.changes[0].content or b"").splitlines() == lines


def test_a_removed_last_line_is_not_taken_for_one_like_it(
    tmp_path_factory: pytest.TempPathFactory,
) -> None:
    root = tmp_path_factory.mktemp("root")
    (root / "m.py").write_bytes(b"x\nx")
    text = "--- a/m.py\n+++ b/m.py\n@@ -2 +1,0 @@\n-x\n\\ No newline at end of file\n"
    applied = apply_patch(Patch(id="0", name="x", text=text), root)
    assert [change.content for change in applied.changes] == [b"x\n"]
    # Without its marker it could be either.
    text = "--- a/m.py\n+++ b/m.py\n@@ -5 +4,0 @@\n-x\n"
    with pytest.raises(PatchProblem) as caught:
        apply_patch(Patch(id="0", name="x", text=text), root)
    assert caught.value.refused == HunkAdrift(path="m.py", line=3)


def test_lines_added_at_the_end_need_no_context(apply: Callable[[str], AppliedPatch]) -> None:
    applied = apply("--- a/pkg/other.py\n+++ b/pkg/other.py\n@@ -3,0 +4 @@\n+four = 4\n")
    assert [change.content for change in applied.changes] == [FILES["pkg/other.py"] + b"four = 4\n"]


def test_lines_added_to_an_empty_file_need_no_context(
    apply: Callable[[str], AppliedPatch],
) -> None:
    applied = apply("--- a/pkg/__init__.py\n+++ b/pkg/__init__.py\n@@ -0,0 +1 @@\n+x = 1\n")
    assert [change.content for change in applied.changes] == [b"x = 1\n"]
    assert applied.remarks == ()


@pytest.mark.parametrize(
    "hunk",
    [
        pytest.param("@@ -1,2 +1,2 @@\n     # same\n-    z = y\n+    z = x\n     return z\n"),
        pytest.param("@@ -9,2 +9,2 @@\n     # same\n-    z = y\n+    z = x\n"),
    ],
    ids=["says-line-1", "no-trailing-context"],
)
def test_context_in_several_places_needs_a_line_number_and_lines_after_the_change(
    apply: Callable[[str], AppliedPatch], hunk: str
) -> None:
    with pytest.raises(PatchProblem) as caught:
        apply(f"--- a/pkg/same.py\n+++ b/pkg/same.py\n{hunk}")
    assert caught.value.refused == HunkAdrift(path="pkg/same.py", line=3)


def test_the_last_hunk_of_a_file_belongs_at_its_end(apply: Callable[[str], AppliedPatch]) -> None:
    text = "--- a/pkg/same.py\n+++ b/pkg/same.py\n@@ -20,3 +20,4 @@\n     return z\n \n \n+x = 1\n"
    applied = apply(text)
    assert [change.content for change in applied.changes] == [FILES["pkg/same.py"] + b"x = 1\n"]
    assert applied.remarks == (PlaceChosen(path="pkg/same.py", hunk=1, places=4),)


def test_a_hunk_that_belongs_further_down_moves_no_other(
    apply: Callable[[str], AppliedPatch],
) -> None:
    # Seven lines more, as far as the next "# same": they stand below the second hunk.
    more = "".join(f"+# {number}\n" for number in range(7))
    text = (
        "--- a/pkg/same.py\n+++ b/pkg/same.py\n"
        f"@@ -1 +1,8 @@\n-def f3(x):\n+def f3(x, y):\n{more}"
        "@@ -10 +17 @@\n-    # same\n+    # new\n"
    )
    lines = (apply(text).changes[0].content or b"").splitlines()
    assert (lines[9], lines[16], lines[21]) == (b"    # new", b"    # same", b"def f3(x, y):")


def test_a_line_without_an_end_is_the_last_of_its_file(
    apply: Callable[[str], AppliedPatch],
) -> None:
    # git alone would join "twenty" and the line after it.
    marker = "\\ No newline at end of file\n"
    for body in (f"-two = 2\n{marker}+twenty\n{marker}", f"-two = 2\n+twenty\n{marker}"):
        with pytest.raises(PatchProblem) as caught:
            apply(f"--- a/pkg/other.py\n+++ b/pkg/other.py\n@@ -2 +2 @@\n{body}")
        assert isinstance(caught.value.refused, HunkMissing)
    applied = apply(
        "--- a/pkg/other.py\n+++ b/pkg/other.py\n@@ -1,2 +1,2 @@\n-one = 1\n+one = 10\n two = 2\n"
        + marker
    )
    assert [change.content for change in applied.changes] == [b"one = 10\ntwo = 2\nthree = 3\n"]
    assert applied.remarks == (AppliedLeniently(mendings=(Mending.BLANKS,)),)


def test_a_right_line_decides_between_several_places(
    apply: Callable[[str], AppliedPatch],
) -> None:
    text = "--- a/pkg/same.py\n+++ b/pkg/same.py\n@@ -10 +10 @@\n-    # same\n+    # new\n"
    applied = apply(text)
    lines = FILES["pkg/same.py"].splitlines()
    assert lines[9] == b"    # same"
    lines[9] = b"    # new"
    assert (applied.changes[0].content or b"").splitlines() == lines
    assert applied.remarks == ()


def test_hunks_that_change_the_length_leave_the_others_in_place(
    apply: Callable[[str], AppliedPatch],
) -> None:
    text = (
        "--- a/pkg/same.py\n+++ b/pkg/same.py\n"
        "@@ -1 +1,5 @@\n-def f0(x):\n+# 1\n+# 2\n+# 3\n+# 4\n+def f0(x):\n"
        "@@ -10 +10 @@\n-    # same\n+    # new\n@@ -1 +1 @@\n-def f3(x):\n+def f3(x, y):\n"
    )
    applied = apply(text)
    expected = FILES["pkg/same.py"].splitlines()
    expected[9] = b"    # new"
    expected[21] = b"def f3(x, y):"
    expected[0:0] = [b"# 1", b"# 2", b"# 3", b"# 4"]
    assert (applied.changes[0].content or b"").splitlines() == expected
    assert applied.remarks == PLACED


def test_a_patch_without_context_may_also_create_files(
    apply: Callable[[str], AppliedPatch],
) -> None:
    text = (
        "--- a/pkg/other.py\n+++ b/pkg/other.py\n@@ -1 +1 @@\n-two = 2\n+two = 20\n"
        "--- /dev/null\n+++ b/pkg/new.py\n@@ -0,0 +1 @@\n+x = 1\n"
    )
    applied = apply(text)
    assert [change.path for change in applied.changes] == ["pkg/new.py", "pkg/other.py"]
    assert applied.remarks == PLACED
