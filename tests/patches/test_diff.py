"""What reading a patch hands on: unidiff's files, with nothing lost on the way."""

from __future__ import annotations

import difflib
from collections.abc import Callable

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from unidiff.patch import PatchSet

from pytest_brt.patches.diff import read_diff
from pytest_brt.patches.problem import PatchProblem
from pytest_brt.types import AppliedPatch
from tests.patches.diffs import GIT, HUNK

LINES = st.lists(st.sampled_from(["a", "b", "", "-- ", "++ x", "@@ -1 +1 @@", "\u2028", "c\r"]))


@settings(max_examples=200, deadline=None)
@given(before=LINES, after=LINES)
def test_a_well_formed_diff_is_read_as_unidiff_reads_it(
    before: list[str], after: list[str]
) -> None:
    lines = difflib.unified_diff(before, after, "a/m.py", "b/m.py", lineterm="")
    text = "".join(f"{line}\n" for line in lines)
    if not text:
        return
    diffs = read_diff(text)
    assert diffs.mendings == ()
    assert [list(file.hunks) for file in diffs.files] == [list(file) for file in PatchSet(text)]


@settings(max_examples=200, deadline=None)
@given(before=LINES, after=LINES, wrong=st.integers(0, 9))
def test_wrong_counts_change_no_hunk(before: list[str], after: list[str], wrong: int) -> None:
    texts = []
    for count in (None, wrong):
        lines = ["--- a/m.py", "+++ b/m.py"]
        for line in list(difflib.unified_diff(before, after, lineterm="", n=1))[2:]:
            # Blank lines at the end of a hunk can only be told from prose by right counts.
            kept = f"@@ -1,{count} +1,{count} @@" if count is not None else "@@ -1 +1 @@"
            lines.append(kept if line.startswith("@@ ") else line or " ")
        texts.append("".join(f"{line}\n" for line in lines))
    if len(texts[0].splitlines()) == 2:
        return
    found = [
        [[str(line) for line in hunk] for file in read_diff(text).files for hunk in file.hunks]
        for text in texts
    ]
    assert found[0] == found[1]


def test_lines_are_numbered_as_the_patch_was_written() -> None:
    (file,) = read_diff(f"Two lines\nof prose.\n{GIT}").files
    assert file.line == 3
    assert file.hunks[0][0].diff_line_no == 8
    assert read_diff(f"Two lines\nof prose.\n{GIT}").files[0].hunks[0][3].value == "    b = 2\n"


def test_a_marker_in_another_language_is_one(after: Callable[[str], object]) -> None:
    text = (
        "--- a/pkg/no_end.py\n+++ b/pkg/no_end.py\n@@ -1,2 +1,2 @@\n one = 1\n-two = 2\n"
        "\\ Kein Zeilenumbruch am Dateiende.\n+two = 20\n\\ Kein Zeilenumbruch am Dateiende.\n"
    )
    assert after(text) == {"pkg/no_end.py": b"one = 1\ntwo = 20"}


def test_a_mode_beside_made_up_hashes_is_seen(apply: Callable[[str], AppliedPatch]) -> None:
    assert [change.path for change in apply(GIT.replace("1111111", "e5f6g7h")).changes]
    with pytest.raises(PatchProblem, match=r"^unsafe path: 'pkg/m\.py' is a symbolic link"):
        apply(GIT.replace("1111111..2222222 100644", "e5f6g7h..what 120000"))


@pytest.mark.parametrize("line", ["index 1..2 12zz00", "new file mode link"])
def test_a_mode_that_is_no_number_is_refused(
    apply: Callable[[str], AppliedPatch], line: str
) -> None:
    text = f"diff --git a/pkg/m.py b/pkg/m.py\n{line}\n--- a/pkg/m.py\n+++ b/pkg/m.py\n{HUNK}"
    with pytest.raises(PatchProblem, match=r"^unsafe path: 'pkg/m\.py' is mode '\w+' in"):
        apply(text)


def test_a_file_is_not_created_and_deleted_at_once(apply: Callable[[str], AppliedPatch]) -> None:
    text = "diff --git a/n.py b/n.py\nnew file mode 100644\ndeleted file mode 100644\n"
    with pytest.raises(PatchProblem, match="line 1: it both creates and deletes the file"):
        apply(text)
