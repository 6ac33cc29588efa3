"""The examples are complete, their patches fit their labels, and run.py fails in one line."""

from __future__ import annotations

import subprocess
import sys
import tomllib
from pathlib import Path
from typing import Any

import pytest

EXAMPLES = Path(__file__).parent.parent / "examples"
RUN = EXAMPLES / "run.py"
NAMES = sorted(path.parent.name for path in EXAMPLES.glob("*/example.toml"))
LABELS = {"right", "literal", "wrong-place", "breaking", "no-apply", "other"}


@pytest.fixture(params=NAMES)
def example(request: pytest.FixtureRequest) -> Path:
    return EXAMPLES / str(request.param)


def described(example: Path) -> dict[str, Any]:
    return tomllib.loads((example / "example.toml").read_text(encoding="utf-8"))


def run(*arguments: str | Path, script: Path = RUN) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, str(script), *map(str, arguments)]
    return subprocess.run(command, capture_output=True, text=True, check=False, encoding="utf-8")


def test_there_are_three_examples() -> None:
    assert len(NAMES) == 3


def test_the_release_is_pinned(example: Path) -> None:
    table = described(example)
    assert table["sdist"] == f"{table['package']}-{table['version']}.tar.gz"
    assert len(bytes.fromhex(table["sha256"])) == 32
    assert table["about"]
    assert table["licence"]


def test_the_report_is_titled_and_linked(example: Path) -> None:
    text = (example / "issue.md").read_text(encoding="utf-8")
    assert text.startswith("# ")
    assert described(example)["report"] in text


def test_every_patch_is_labelled(example: Path) -> None:
    labels = described(example)["patches"]
    assert labels.keys() == {path.name for path in (example / "patches").iterdir()}
    assert set(labels.values()) == LABELS
    assert len(labels) >= 6


def test_the_names_of_patches_say_nothing(example: Path) -> None:
    names = sorted(described(example)["patches"])
    assert names == [f"fix-{number:02}.diff" for number in range(1, len(names) + 1)]


def test_patches_are_relative_git_diffs(example: Path) -> None:
    for path in (example / "patches").iterdir():
        lines = path.read_text(encoding="utf-8").splitlines()
        assert lines[0].startswith("diff --git a/")
        assert any(line.startswith("@@ ") for line in lines)


def test_list_names_every_example() -> None:
    listed = run("--list")
    assert listed.returncode == 0
    assert [line.split()[0] for line in listed.stdout.splitlines()] == NAMES


@pytest.mark.parametrize("arguments", [(), ("no-such-bug",)])
def test_an_unknown_name_is_answered_with_the_known_ones(arguments: tuple[str, ...]) -> None:
    answer = run(*arguments)
    assert answer.returncode == 4
    (line,) = answer.stderr.splitlines()
    assert all(name in line for name in NAMES)


def test_a_failed_download_is_one_line(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PIP_CONFIG_FILE", "/dev/null")
    monkeypatch.setenv("PIP_NO_INDEX", "1")
    monkeypatch.setenv("PIP_FIND_LINKS", str(tmp_path))
    answer = run(NAMES[0], "--cache", tmp_path / "cache")
    assert answer.returncode == 4
    (line,) = answer.stderr.splitlines()
    assert line.startswith("run.py: pip cannot download ")
    assert list((tmp_path / "cache").iterdir()) == []


def test_a_tree_that_is_already_there_is_left_alone(tmp_path: Path) -> None:
    root = tmp_path / described(EXAMPLES / NAMES[0])["sdist"].removesuffix(".tar.gz")
    root.mkdir()
    answer = run(NAMES[0], "--keep", tmp_path)
    assert (answer.returncode, answer.stderr) == (4, f"run.py: {root} is already there\n")


@pytest.mark.slow
def test_all_patches_but_the_unfit_one_apply(example: Path, tmp_path: Path) -> None:
    answer = run(example.name, "--keep", tmp_path, "--", "--version", "-p", "no:cacheprovider")
    if "pip cannot download" in answer.stderr:
        pytest.skip(answer.stderr.strip())
    assert answer.returncode == 0
    (root,) = (path.parent for path in tmp_path.glob("*/PKG-INFO"))
    subprocess.run(["git", "init", "-q"], cwd=root, check=True)
    for name, label in described(example)["patches"].items():
        patch = example / "patches" / name
        applied = subprocess.run(
            ["git", "apply", "--check", str(patch)], cwd=root, capture_output=True, check=False
        )
        assert (applied.returncode == 0) == (label != "no-apply"), name


@pytest.mark.slow
def test_without_isolation_it_asks_for_ordinary_processes(tmp_path: Path) -> None:
    answer = run(NAMES[1], "--keep", tmp_path, "--", "--brt-net=wifi")
    assert answer.returncode == 4
    assert answer.stderr.count("--brt-net: expected one of none, host, got 'wifi'") == 2
    assert "run.py: trying again with --brt-sandbox none" in answer.stderr
