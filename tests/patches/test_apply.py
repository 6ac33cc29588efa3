"""Every form of diff that applies, what it makes, and what is said of it."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from pytest_brt.errors import PatchProblem
from pytest_brt.patches import apply_patch
from pytest_brt.types import AppliedPatch, Note, Patch
from tests.patches.diffs import FILES, FIXED, GIT, HUNK, PLAIN

Apply = Callable[[str], AppliedPatch]

LENIENT = Note(
    code="applied-leniently",
    text="applied leniently: its counts, line numbers, blanks or line ends differ from the tree's",
)


def left_out(path: str) -> Note:
    return Note(code="left-out-files", text=f"left out {path!r}")


@pytest.mark.parametrize(
    "text",
    [
        pytest.param(GIT, id="git"),
        pytest.param(PLAIN, id="plain"),
        pytest.param("--- pkg/m.py\n+++ pkg/m.py\n" + HUNK, id="no-prefix"),
        pytest.param("--- pkg-1.0.orig/pkg/m.py\n+++ pkg-1.0/pkg/m.py\n" + HUNK, id="folders"),
        pytest.param(
            "Index: pkg/m.py\n" + "=" * 67 + "\n--- pkg/m.py\t(revision 41)\n"
            "+++ pkg/m.py\t(working copy)\n" + HUNK,
            id="svn",
        ),
        pytest.param(PLAIN.replace("-3,6 +3,6", "-43,6 +43,6"), id="offset"),
        pytest.param(PLAIN.replace("\n \n", "\n\n"), id="blank-context-stripped"),
        pytest.param(
            f"The fix:\n\n```diff\n{PLAIN}```\n\n- It changes b.\n+ Nothing else.\n", id="fenced"
        ),
        pytest.param(f"A word first.\n\n{GIT}\nAnd after it.\n", id="prose"),
        pytest.param(f"{GIT}-- \n2.39.5\n\n", id="mail-signature"),
    ],
)
def test_exact_forms_apply_without_a_note(apply: Apply, text: str) -> None:
    applied = apply(text)
    assert [(change.path, change.content) for change in applied.changes] == [("pkg/m.py", FIXED)]
    assert applied.remarks == ()


@pytest.mark.parametrize(
    "text",
    [
        pytest.param(PLAIN.replace("-3,6 +3,6", "-3,9 +3,2"), id="wrong-counts"),
        pytest.param(
            PLAIN.replace("-3,6 +3,6", "-3,3 +3,3") + "\n\nprose\n", id="wrong-counts-and-prose"
        ),
        pytest.param(PLAIN.replace("    ", "  "), id="blanks-damaged"),
        pytest.param(PLAIN[: -len(HUNK)] + "@@ -1 +1 @@\n-    b = 2\n+    b = 20\n", id="bare"),
    ],
)
def test_mended_forms_apply_with_a_note(apply: Apply, text: str) -> None:
    applied = apply(text)
    assert applied.remarks[0] == LENIENT
    (change,) = applied.changes
    assert (change.content or b"").split() == FIXED.split()


def test_wrong_counts_lose_no_line(apply: Apply) -> None:
    text = (
        "--- a/pkg/other.py\n+++ b/pkg/other.py\n@@ -1,1 +1,1 @@\n-one = 1\n+one = 10\n+half = 5\n"
        " two = 2\n--- a/pkg/m.py\n+++ b/pkg/m.py\n" + HUNK
    )
    applied = apply(text)
    assert {change.path: change.content for change in applied.changes} == {
        "pkg/m.py": FIXED,
        "pkg/other.py": b"one = 10\nhalf = 5\ntwo = 2\nthree = 3\n",
    }
    assert applied.remarks == (LENIENT,)


def test_removed_lines_that_look_like_headers_are_lines(after: Callable[[str], object]) -> None:
    text = "--- a/q.sql\n+++ b/q.sql\n@@ -1,3 +1,3 @@\n--- one\n+++ two\n select 1;\n -- two\n"
    assert after(text) == {"q.sql": b"++ two\nselect 1;\n-- two\n"}


def test_a_crlf_file_keeps_its_line_ends(apply: Apply) -> None:
    body = " one = 1\r\n-two = 2\r\n+two = 20\r\n three = 3\r\n"
    applied = apply(f"--- a/pkg/crlf.py\n+++ b/pkg/crlf.py\n@@ -1,3 +1,3 @@\n{body}")
    assert [change.content for change in applied.changes] == [
        b"one = 1\r\ntwo = 20\r\nthree = 3\r\n"
    ]
    assert applied.remarks == ()


def test_an_lf_file_keeps_its_line_ends(apply: Apply) -> None:
    body = " one = 1\r\n-two = 2\r\n+two = 20\r\n three = 3\r\n"
    applied = apply(f"--- a/pkg/other.py\n+++ b/pkg/other.py\n@@ -1,3 +1,3 @@\n{body}")
    assert [change.content for change in applied.changes] == [b"one = 1\ntwo = 20\nthree = 3\n"]
    assert applied.remarks == (LENIENT,)


@pytest.mark.parametrize(
    "header",
    [
        "diff --git a/pkg/new.py b/pkg/new.py\nnew file mode 100644\n--- /dev/null\n"
        "+++ b/pkg/new.py",
        "--- /dev/null\n+++ pkg/new.py",
        "--- a/pkg/new.py\t1970-01-01 00:00:00 +0000\n+++ b/pkg/new.py\t2024-01-01 10:00:00 +0000",
    ],
)
def test_new_files(after: Callable[[str], object], header: str) -> None:
    assert after(f"{header}\n@@ -0,0 +1,2 @@\n+x = 1\n+y = 2\n") == {
        "pkg/new.py": b"x = 1\ny = 2\n"
    }


def test_a_new_empty_file(after: Callable[[str], object]) -> None:
    text = "diff --git a/pkg/e.py b/pkg/e.py\nnew file mode 100644\nindex 0000000..e69de29\n"
    assert after(text) == {"pkg/e.py": b""}


def test_a_deleted_file(after: Callable[[str], object]) -> None:
    body = "".join(f"-{line}\n" for line in FILES["pkg/other.py"].decode().splitlines())
    text = f"--- a/pkg/other.py\n+++ /dev/null\n@@ -1,3 +0,0 @@\n{body}"
    assert after(text) == {"pkg/other.py": None}


def test_a_rename_with_a_change(after: Callable[[str], object]) -> None:
    text = (
        "diff --git a/pkg/m.py b/pkg/n.py\nsimilarity index 90%\nrename from pkg/m.py\n"
        "rename to pkg/n.py\n--- a/pkg/m.py\n+++ b/pkg/n.py\n" + HUNK
    )
    assert after(text) == {"pkg/m.py": None, "pkg/n.py": FIXED}


def test_a_copy(after: Callable[[str], object]) -> None:
    text = (
        "diff --git a/pkg/other.py b/pkg/copy.py\nsimilarity index 100%\n"
        "copy from pkg/other.py\ncopy to pkg/copy.py\n"
    )
    assert after(text) == {"pkg/copy.py": FILES["pkg/other.py"]}


def test_a_mode_change(apply: Apply) -> None:
    text = "diff --git a/pkg/other.py b/pkg/other.py\nold mode 100644\nnew mode 100755\n"
    (change,) = apply(text).changes
    assert (change.path, change.content, change.executable) == (
        "pkg/other.py",
        FILES["pkg/other.py"],
        True,
    )


def test_an_executable_stays_one(apply: Apply) -> None:
    text = "--- a/pkg/run.sh\n+++ b/pkg/run.sh\n@@ -1,2 +1,2 @@\n #!/bin/sh\n-echo one\n+echo two\n"
    (change,) = apply(text).changes
    assert change.executable


def test_files_of_one_patch_are_made_and_changed_in_turn(after: Callable[[str], object]) -> None:
    text = (
        "--- /dev/null\n+++ b/pkg/new.py\n@@ -0,0 +1 @@\n+x = 1\n"
        "--- a/pkg/new.py\n+++ b/pkg/new.py\n@@ -1 +1 @@\n-x = 1\n+x = 2\n"
        "diff --git a/pkg/other.py b/pkg/moved.py\n"
        "rename from pkg/other.py\nrename to pkg/moved.py\n"
        "diff --git a/pkg/moved.py b/pkg/moved.py\n"
        "--- a/pkg/moved.py\n+++ b/pkg/moved.py\n@@ -1,3 +1,3 @@\n one = 1\n-two = 2\n+two = 20\n"
        " three = 3\n"
        "--- /dev/null\n+++ b/pkg/other.py\n@@ -0,0 +1 @@\n+y = 1\n"
    )
    assert after(text) == {
        "pkg/new.py": b"x = 2\n",
        "pkg/moved.py": b"one = 1\ntwo = 20\nthree = 3\n",
        "pkg/other.py": b"y = 1\n",
    }


def test_attributes_that_a_patch_brings_change_no_line_end(after: Callable[[str], object]) -> None:
    text = f"--- /dev/null\n+++ b/.gitattributes\n@@ -0,0 +1 @@\n+* text eol=crlf\n{PLAIN}"
    assert after(text) == {".gitattributes": b"* text eol=crlf\n", "pkg/m.py": FIXED}


def test_a_diff_without_the_line_ends_of_the_file_is_lenient(apply: Apply) -> None:
    applied = apply("--- a/pkg/crlf.py\n+++ b/pkg/crlf.py\n@@ -3 +3,2 @@\n three = 3\n+four = 4\n")
    assert [change.content for change in applied.changes] == [FILES["pkg/crlf.py"] + b"four = 4\n"]
    assert applied.remarks == (LENIENT,)


@pytest.mark.parametrize(
    "name",
    ["a/pkg/caf\u00e9.py b/pkg/caf\u00e9.py", '"a/pkg/caf\\303\\251.py" "b/pkg/caf\\303\\251.py"'],
)
def test_names_beyond_ascii(after: Callable[[str], object], name: str) -> None:
    old, new = name.split(" ")
    body = "@@ -1 +1 @@\n-name = '\u00e9'\n+name = '\u00fc'\n"
    text = f"diff --git {name}\n--- {old}\n+++ {new}\n{body}"
    assert after(text) == {"pkg/caf\u00e9.py": "name = '\u00fc'\n".encode()}


INNER = "     y = x\n-    # same\n+    # new\n     z = y\n     return z\n"


def test_an_ambiguous_hunk_goes_where_its_line_says(apply: Apply) -> None:
    applied = apply(f"--- a/pkg/same.py\n+++ b/pkg/same.py\n@@ -16,4 +16,4 @@\n{INNER}")
    (change,) = applied.changes
    assert (change.content or b"").splitlines()[16] == b"    # new"
    assert (change.content or b"").count(b"# new") == 1
    assert applied.remarks == ()


@pytest.mark.parametrize(
    "data",
    [
        "GIT binary patch\nliteral 2\nJcmZQz1ONa700IC2\n\nliteral 0\nHcmV?d00001\n\n",
        "Binary files /dev/null and b/pkg/new.bin differ\n",
    ],
)
def test_binary_files_are_left_out(apply: Apply, data: str) -> None:
    head = "diff --git a/pkg/new.bin b/pkg/new.bin\nnew file mode 100644\nindex 0000000..bdc955b\n"
    applied = apply(f"{head}{data}{GIT}")
    assert applied.changes == apply(GIT).changes
    assert applied.remarks == (left_out("pkg/new.bin"),)


@pytest.mark.parametrize(
    ("path", "edit"),
    [
        ("conftest.py", "--- a/conftest.py\n+++ b/conftest.py\n@@ -1 +1 @@\n-one = 1\n+one = 2\n"),
        ("tests/a[1].txt", "--- a/tests/a[1].txt\n+++ b/tests/a[1].txt\n@@ -1 +1 @@\n-x\n+y\n"),
        ("evil.pth", "--- /dev/null\n+++ b/evil.pth\n@@ -0,0 +1 @@\n+x = 1\n"),
    ],
)
def test_what_judges_the_code_is_left_out(apply: Apply, path: str, edit: str) -> None:
    applied = apply(PLAIN + edit)
    assert [change.path for change in applied.changes] == ["pkg/m.py"]
    assert applied.remarks == (left_out(path),)


@pytest.mark.parametrize(
    "body", [" one = 1\n-two = 2\n+two = 2\n three = 3\n", " one = 1\n two = 2\n three = 3\n"]
)
def test_a_patch_that_changes_nothing_is_noted(apply: Apply, body: str) -> None:
    applied = apply(f"--- a/pkg/other.py\n+++ b/pkg/other.py\n@@ -1,3 +1,3 @@\n{body}")
    assert applied.changes == ()
    assert applied.remarks == (Note(code="changes-nothing", text="changes nothing"),)


def test_the_environment_of_the_user_does_not_matter(
    tree: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    # A configuration that would turn line ends and strip blanks, and a repository around it.
    home = tmp_path / "outside"
    patch = Patch(id="0", name="x", text=PLAIN.replace("b = 20", "b = 20  "))
    expected = apply_patch(patch, tree).changes
    monkeypatch.setenv("GIT_CONFIG_COUNT", "2")
    monkeypatch.setenv("GIT_CONFIG_KEY_0", "apply.whitespace")
    monkeypatch.setenv("GIT_CONFIG_VALUE_0", "error-all")
    monkeypatch.setenv("GIT_CONFIG_KEY_1", "core.autocrlf")
    monkeypatch.setenv("GIT_CONFIG_VALUE_1", "true")
    monkeypatch.setenv("GIT_DIR", str(tree / ".git"))
    monkeypatch.setenv("HOME", str(home))
    assert apply_patch(patch, tree).changes == expected


def test_a_patch_of_the_repository_that_the_project_lies_in(tree: Path) -> None:
    place = "/".join(tree.resolve().parts[-2:])
    text = PLAIN.replace("pkg/m.py", f"{place}/pkg/m.py")
    applied = apply_patch(Patch(id="p", name="p.diff", text=text), tree)
    assert [(change.path, change.content) for change in applied.changes] == [("pkg/m.py", FIXED)]
    new = f"--- /dev/null\n+++ b/{place}/pkg/new.py\n@@ -0,0 +1 @@\n+x = 1\n"
    applied = apply_patch(Patch(id="p", name="p.diff", text=new), tree)
    assert [change.path for change in applied.changes] == ["pkg/new.py"]
    elsewhere = PLAIN.replace("pkg/m.py", "other/place/pkg/m.py")
    with pytest.raises(PatchProblem, match=r"file missing: 'other/place/pkg/m\.py'"):
        apply_patch(Patch(id="p", name="p.diff", text=elsewhere), tree)


@pytest.mark.parametrize(
    "text",
    [
        "--- /dev/null\n+++ b/pkg[1]/conftest.py\n@@ -0,0 +1 @@\n+x = 1\n",
        "diff --git a/conftest.py b/pkg/moved.py\nsimilarity index 100%\n"
        "rename from conftest.py\nrename to pkg/moved.py\n",
    ],
)
def test_no_name_makes_a_patch_change_what_judges_it(apply: Apply, text: str) -> None:
    paths = {change.path for change in apply(PLAIN + text).changes}
    assert "pkg/m.py" in paths
    assert paths <= {"pkg/m.py", "pkg/moved.py"}
