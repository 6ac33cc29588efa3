from __future__ import annotations

from pathlib import Path

import pytest

from pytest_brt.errors import UsageProblem
from pytest_brt.patches import apply_patch
from pytest_brt.patches.sources import read_patches
from tests.patches.diffs import FIXED, MODULE, PLAIN
from tests.support.repository import Repository


def test_patches_come_sorted_with_their_path_as_name(tmp_path: Path) -> None:
    for name in ("b.diff", "a.patch", "sub/c.DIFF", "notes.txt", ".hidden.diff", ".git/d.diff"):
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_text(f"text of {name}", encoding="utf-8")
    patches = read_patches(tmp_path)
    assert [patch.name for patch in patches] == ["a.patch", "b.diff", "sub/c.DIFF"]
    assert patches[0].text == "text of a.patch"
    assert len({patch.id for patch in patches}) == 3


def test_no_byte_is_lost(tmp_path: Path) -> None:
    data = bytes(range(256)) + b"\r\n\xff"
    (tmp_path / "a.diff").write_bytes(data)
    (patch,) = read_patches(tmp_path)
    assert patch.text.encode("utf-8", "surrogateescape") == data


def test_a_mark_of_an_encoding_is_no_text(tmp_path: Path) -> None:
    (tmp_path / "a.diff").write_bytes(PLAIN.encode("utf-8-sig"))
    (patch,) = read_patches(tmp_path)
    assert patch.text == PLAIN


@pytest.mark.parametrize("name", ["gone", "empty", "notes.txt", "gone.diff"])
def test_where_no_patch_is(tmp_path: Path, name: str) -> None:
    (tmp_path / "notes.txt").write_text(PLAIN, encoding="utf-8")
    (tmp_path / "empty").mkdir()
    with pytest.raises(UsageProblem) as caught:
        read_patches(tmp_path / name)
    what = "no patches in" if (tmp_path / name).exists() else "no file or folder"
    words = f"{what} {str(tmp_path / name)!r} (give a folder of *.diff and *.patch, such"
    assert str(caught.value).startswith(words)


def test_one_file_will_do_when_it_is_called_a_patch(tmp_path: Path) -> None:
    for name in ("a.diff", "b.diff", "notes.txt"):
        (tmp_path / name).write_text(PLAIN, encoding="utf-8")
    assert [patch.name for patch in read_patches(tmp_path / "a.diff")] == ["a.diff"]


MEMORY = Path("/proc/self/mem")


@pytest.mark.skipif(not MEMORY.exists(), reason="needs a file that not even root can read")
def test_an_unreadable_patch(tmp_path: Path) -> None:
    (tmp_path / "a.diff").symlink_to(MEMORY)
    with pytest.raises(UsageProblem, match=r"^cannot read the patch '.*a\.diff': "):
        read_patches(tmp_path / "a.diff")


def test_mails_of_git_format_patch(tree: Path, tmp_path_factory: pytest.TempPathFactory) -> None:
    repository = Repository(tmp_path_factory.mktemp("repository"))
    repository.git("config", "user.name", "J\u00fcrgen")
    again = FIXED.replace(b"b = 20", b"b = 21")
    repository.commit("start", pkg__m_py=MODULE)
    repository.commit("Fix b\n\nFrom here on b is 20 \u2014 not 2.", pkg__m_py=FIXED.decode())
    repository.commit("Fix it again", pkg__m_py=again.decode())
    folder = tmp_path_factory.mktemp("patches")
    mails = repository.git("format-patch", "--stdout", "HEAD~2")
    (folder / "series.patch").write_text(mails, "utf-8")
    # A series in one file is one fix.
    (patch,) = read_patches(folder)
    assert [change.content for change in apply_patch(patch, tree).changes] == [again]
    assert patch.source == "a@example.org"
