"""What holds for any text, any edit, any bytes."""

from __future__ import annotations

import difflib
import tempfile
from contextlib import nullcontext, suppress
from pathlib import Path

from hypothesis import given, settings
from hypothesis import strategies as st

from pytest_brt.errors import PatchProblem
from pytest_brt.patches import apply_patch, canonical_diff
from pytest_brt.patches.sources import read_patches
from pytest_brt.types import FileChange, Patch
from tests.patches.diffs import hash_tree

#: Each example starts git.
many = settings(max_examples=30, derandomize=True)
#: Lines that look like parts of a diff are among those that a file can have.
WORDS = st.sampled_from(
    ["", " ", "x = 1", "\tx", "--- a/m", "+++ b/m", "@@ -1 +1 @@", "-- ", "\\ No", "diff --git a b"]
) | st.sampled_from(
    ["```", "\u00e9\u4e2d", "\x0c", "\x85", "\u2028", "a\rb", "-", "+", "\udcff", "\x00"]
)
LINES = st.lists(WORDS | st.text(max_size=8).filter(lambda text: "\n" not in text), max_size=12)
ENDS = st.sampled_from(["\n", "\r\n"])


@st.composite
def contents(draw: st.DrawFn) -> tuple[bytes, bytes]:
    """Two versions of a file with some lines in common, each with or without a last newline."""
    lines = draw(LINES)
    end = draw(ENDS)
    edited = list(lines)
    for _ in range(draw(st.integers(0, 3))):
        at = draw(st.integers(0, len(edited)))
        edited[at : at + draw(st.integers(0, 2))] = draw(st.lists(WORDS, max_size=2))
    versions = []
    for version in (lines, edited):
        text = "".join(line + end for line in version)
        text = text if draw(st.booleans()) else text.removesuffix(end)
        versions.append(text.encode("utf-8", "surrogateescape"))
    return versions[0], versions[1]


NAMES = st.sampled_from(
    ["m.py", "pkg/m.py", "a/b/m.py", "b/m.py", "sp ace/m n.py", "caf\u00e9.py", "a b/a b"]
) | st.sampled_from(["pkg/deep/er.py", "x.orig", "2024-01-01 10:00.py", "pkg/\udcff.py"])


def make_tree(folder: str, name: str, content: bytes) -> Path:
    root = Path(folder, "tree")
    (root / name).parent.mkdir(parents=True)
    (root / name).write_bytes(content)
    return root


@many
@given(name=NAMES, versions=contents())
def test_a_canonical_diff_gives_the_same_bytes(name: str, versions: tuple[bytes, bytes]) -> None:
    before, after = versions
    if b"\0" in before + after:  # git takes it for no text
        return
    with tempfile.TemporaryDirectory() as folder:
        root = make_tree(folder, name, before)
        untouched = hash_tree(root)
        text = canonical_diff((FileChange(path=name, content=after),), root)
        if before == after:
            assert text == ""
            return
        patch = Patch(id="0", name="x", text=text)
        applied = apply_patch(patch, root)
        assert applied.changes == (FileChange(path=name, content=after),)
        assert not any(remark.code == "applied-leniently" for remark in applied.remarks)
        assert hash_tree(root) == untouched


@many
@given(
    versions=contents(),
    header=st.sampled_from(["a/{} b/{}", "{} {}", "./{} ./{}"]),
    context=st.integers(0, 3),
)
def test_a_diff_of_another_writer_applies_to_the_same_bytes(
    versions: tuple[bytes, bytes], header: str, context: int
) -> None:
    before, after = versions
    old, new = header.format("pkg/m.py", "pkg/m.py").split(" ")
    sides = [version.split(b"\n") for version in versions]
    pieces = [[line + b"\n" for line in side[:-1]] + [side[-1]] * bool(side[-1]) for side in sides]
    written = difflib.diff_bytes(
        difflib.unified_diff, pieces[0], pieces[1], old.encode(), new.encode(), n=context
    )
    text = b"".join(
        line if line.endswith(b"\n") else line + b"\n\\ No newline at end of file\n"
        for line in written
    ).decode("utf-8", "surrogateescape")
    if before == after:
        return
    with tempfile.TemporaryDirectory() as folder:
        root = make_tree(folder, "pkg/m.py", before)
        untouched = hash_tree(root)
        # Without context it may be refused, but never applied elsewhere.
        with suppress(PatchProblem) if context == 0 else nullcontext():
            applied = apply_patch(Patch(id="0", name="x", text=text), root)
            assert applied.changes == (FileChange(path="pkg/m.py", content=after),)
            assert not any(remark.code == "applied-leniently" for remark in applied.remarks)
        assert hash_tree(root) == untouched


PARTS = st.sampled_from(
    r"""
diff --git a/m.py b/m.py
--- a/m.py
+++ b/m.py
--- /dev/null
+++ /dev/null
--- "a/\000"
+++ "b/../x"
@@
@@ -1 +1 @@
@@ -0,0 +1,2 @@
 one
-one
+two
\ No newline at end of file
old mode 100644
new mode 100755
new file mode 100644
deleted file mode 100644
index 1..2 120000
rename from m.py
rename to n.py
copy from m.py
copy to ../n.py
GIT binary patch
literal 2
JcmZQz1ONa700IC2
Binary files a/m.py and b/m.py differ
-- 
```
""".splitlines(keepends=True)  # noqa: W291
)


TEXTS = st.lists(PARTS | st.text(max_size=6), max_size=14).map("".join)


@many
@given(text=TEXTS)
def test_any_text_applies_or_is_a_problem(text: str) -> None:
    with tempfile.TemporaryDirectory() as folder:
        root = make_tree(folder, "m.py", b"one\ntwo\n")
        untouched = hash_tree(Path(folder))
        changes: tuple[FileChange, ...] = ()
        with suppress(PatchProblem):
            changes = apply_patch(Patch(id="0", name="x", text=text), root).changes
        assert {change.path for change in changes} <= {"m.py", "n.py"}
        assert hash_tree(Path(folder)) == untouched


@many
@given(data=st.binary(max_size=200))
def test_any_bytes_can_be_read(data: bytes) -> None:
    with tempfile.TemporaryDirectory() as folder:
        Path(folder, "x.diff").write_bytes(data)
        (patch,) = read_patches(Path(folder))
        root = make_tree(folder, "m.py", b"one\n")
        with suppress(PatchProblem):
            apply_patch(patch, root)
