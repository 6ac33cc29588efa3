"""Whatever a path turns out to be, nothing waits for it and nothing is read without an end."""

from __future__ import annotations

import io
import os
import socket
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from pytest_brt.bounded import bounded_text, read_bounded
from pytest_brt.errors import BrtError, UsageProblem
from pytest_brt.model.replies import Replies
from pytest_brt.patches.sources import read_patches
from pytest_brt.report.load import load_issue
from pytest_brt.reproduce.user_tests import load_targets

#: What reads a file that the user named: the name such a file has, and how it is read.
READERS: dict[str, tuple[str, Callable[[Path], object]]] = {
    "issue": ("issue.md", lambda path: load_issue(str(path), io.BytesIO())),
    "tests": ("test_a.py", lambda path: load_targets([str(path)], path.parent, "")),
    "patch": ("a.diff", read_patches),
    "folder of patches": ("a.diff", lambda path: read_patches(path.parent)),
    "replies": ("a.jsonl", Replies),
}  # fmt: skip


def _pipe(path: Path) -> None:
    os.mkfifo(path)


def _device(path: Path) -> None:
    path.symlink_to("/dev/zero")


def _socket(path: Path) -> None:
    with socket.socket(socket.AF_UNIX) as listening:
        listening.bind(str(path))


@pytest.mark.parametrize("reader", READERS)
@pytest.mark.parametrize("make", [_pipe, _device, _socket])
def test_what_is_no_file_is_refused_at_once(
    reader: str, make: Callable[[Path], None], tmp_path: Path
) -> None:
    name, read = READERS[reader]
    make(tmp_path / name)
    with pytest.raises(BrtError, match=r"no regular file|No such device|leads out") as caught:
        read(tmp_path / name)
    assert "\n" not in str(caught.value)
    assert name in str(caught.value)


@pytest.mark.parametrize("reader", ["issue", "tests", "patch"])
def test_a_file_that_is_too_long_is_refused(reader: str, tmp_path: Path) -> None:
    name, read = READERS[reader]
    with (tmp_path / name).open("wb") as file:
        file.truncate((64 << 20) + 1)
    with pytest.raises(BrtError, match=r"it holds more than \d+ MB"):
        read(tmp_path / name)


def test_standard_input_that_does_not_end_is_refused() -> None:
    with (
        Path("/dev/zero").open("rb") as endless,
        pytest.raises(UsageProblem, match="more than 16 MB"),
    ):
        load_issue("-", endless)


def test_a_link_out_of_the_folder_of_patches_is_not_followed(tmp_path: Path) -> None:
    (tmp_path / "secret").write_text("-key\n+key\n", encoding="utf-8")
    folder = tmp_path / "patches"
    folder.mkdir()
    (folder / "a.diff").write_text("diff", encoding="utf-8")
    (folder / "b.diff").symlink_to("a.diff")
    assert [patch.name for patch in read_patches(folder)] == ["a.diff", "b.diff"]
    (folder / "c.diff").symlink_to("../secret")
    with pytest.raises(UsageProblem, match=r"c\.diff' is a link that leads out of its folder"):
        read_patches(folder)


def test_what_a_shell_opened_is_read_to_its_end(tmp_path: Path) -> None:
    code = (
        "import sys, pathlib; from pytest_brt.bounded import bounded_text;"
        "print(bounded_text(pathlib.Path(sys.argv[1])))"
    )
    command = f"{sys.executable} -c '{code}' <(echo one; sleep 0.2; echo two)"
    done = subprocess.run(["bash", "-c", command], capture_output=True, text=True, check=True)
    assert done.stdout.split() == ["one", "two"]


def test_a_file_is_read_whole(tmp_path: Path) -> None:
    path = tmp_path / "a"
    path.write_bytes(b"1\r\n2\r3\n")
    assert read_bounded(path, 7) == b"1\r\n2\r3\n"
    assert bounded_text(path) == "1\n2\n3\n"
    with pytest.raises(OSError, match="more than 0 MB"):
        read_bounded(path, 6)
    with pytest.raises(IsADirectoryError, match="Is a directory"):
        read_bounded(tmp_path)
