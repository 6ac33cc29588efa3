"""Bugs read from files and folders, their environments, trees and predictions."""

from __future__ import annotations

import json
import subprocess
from pathlib import Path

import pytest

from pytest_brt.errors import SubjectProblem, UsageProblem
from pytest_brt.evaluate.dataset import Instance, Prediction, read_dataset, read_predictions
from pytest_brt.evaluate.environments import (
    Environment,
    environment_of,
    make_tree,
)

ROW = {
    "instance_id": "a__b-1",
    "repo": "a/b",
    "base_commit": "c0ffee",
    "problem_statement": "It is wrong.",
    "patch": "a diff",
    "test_patch": "another",
    "version": "1.4",
    "FAIL_TO_PASS": '["t.py::test_a"]',
    "PASS_TO_PASS": ["t.py::test_b"],
    "hints_text": "never read",
}


def write(path: Path, *rows: object) -> Path:
    path.write_text("".join(json.dumps(row) + "\n" for row in rows), "utf-8")
    return path


def test_a_file_in_the_format_of_swe_bench(tmp_path: Path) -> None:
    (bug,) = read_dataset(write(tmp_path / "d.jsonl", ROW))
    assert (bug.id, bug.repo, bug.version, bug.issue) == ("a__b-1", "a/b", "1.4", "It is wrong.")
    assert (bug.failing, bug.passing) == (("t.py::test_a",), ("t.py::test_b",))


@pytest.mark.parametrize(
    ("rows", "says"),
    [
        ([{"instance_id": "x"}], "d.jsonl:1"),
        ([ROW, ROW], "two bugs"),
        ([{**ROW, "instance_id": "a::b"}], "cannot be called"),
        ([{**ROW, "FAIL_TO_PASS": "not json"}], "d.jsonl:1"),
        ([], "no bug in"),
    ],
)
def test_what_is_no_data_set_is_told(tmp_path: Path, rows: list[object], says: str) -> None:
    with pytest.raises(UsageProblem, match=says):
        read_dataset(write(tmp_path / "d.jsonl", *rows))


def test_a_folder_of_own_bugs(tmp_path: Path) -> None:
    place = tmp_path / "mine" / "one"
    (place / "tree").mkdir(parents=True)
    (place / "candidates").mkdir()
    (place / "issue.md").write_text("report", "utf-8")
    with pytest.raises(UsageProblem, match=r"fix\.diff"):
        read_dataset(tmp_path / "mine")
    (place / "fix.diff").write_text("the fix", "utf-8")
    (place / "candidates" / "x.diff").write_text("a guess", "utf-8")
    (bug,) = read_dataset(tmp_path / "mine")
    assert (bug.id, bug.repo, bug.patch) == ("one", "mine", "the fix")
    assert bug.candidates == (Prediction(name="x.diff", text="a guess"),)


def test_the_particular_environment_goes_before_the_general_one() -> None:
    tables = {
        "default": Environment(python="p", env={"A": "1", "B": "1"}),
        "a/b": Environment(pythonpath=("src",), env={"B": "2"}),
        "a/b@1.4": Environment(python="q", files={"v.py": "version = '{version}'"}),
    }
    bug = Instance(id="x", repo="a/b", version="1.4", issue="", patch="", env={"C": "3"})
    assert environment_of(bug, tables) == Environment(
        python="q",
        pythonpath=("src",),
        env={"A": "1", "B": "2", "C": "3"},
        files={"v.py": "version = '1.4'"},
    )


@pytest.fixture
def clone(tmp_path: Path) -> tuple[Path, str]:
    folder = tmp_path / "repos" / "a" / "b"
    folder.mkdir(parents=True)

    def git(*arguments: str) -> str:
        command = ["git", "-c", "user.name=x", "-c", "user.email=x@y", *arguments]
        return subprocess.run(
            command, cwd=folder, check=True, capture_output=True, text=True
        ).stdout.strip()

    git("init", "-q")
    (folder / "f.py").write_text("old\n", "utf-8")
    (folder / ".gitattributes").write_text("f.py export-ignore\n", "utf-8")
    git("add", ".")
    git("commit", "-qm", "one")
    commit = git("rev-parse", "HEAD")
    (folder / "f.py").write_text("new\n", "utf-8")
    git("commit", "-qam", "two")
    return tmp_path / "repos", commit


def test_a_tree_of_a_commit_leaves_the_clone_as_it_is(
    clone: tuple[Path, str], tmp_path: Path
) -> None:
    repos, commit = clone
    bug = Instance(id="x", repo="a/b", base_commit=commit, issue="", patch="")
    index = (repos / "a/b/.git/index").read_bytes()
    scratch = tmp_path / "scratch"
    scratch.mkdir()
    tree = make_tree(bug, Environment(files={"gen/v.py": "1"}), repos, scratch)
    assert (tree / "f.py").read_text("utf-8") == "old\n"
    assert (tree / "gen/v.py").read_text("utf-8") == "1"
    assert (repos / "a/b/f.py").read_text("utf-8") == "new\n"
    assert (repos / "a/b/.git/index").read_bytes() == index


def test_what_cannot_be_set_up_is_told(clone: tuple[Path, str], tmp_path: Path) -> None:
    repos, _ = clone
    lost = Instance(id="x", repo="a/b", base_commit="0" * 40, issue="", patch="")
    other = Instance(id="x", repo="no/such", base_commit="0" * 40, issue="", patch="")
    with pytest.raises(SubjectProblem, match="no tree of commit"):
        make_tree(lost, Environment(), repos, tmp_path / "one")
    with pytest.raises(SubjectProblem, match="no clone of no/such"):
        make_tree(other, Environment(), repos, tmp_path / "two")
    with pytest.raises(SubjectProblem, match=r"repos = DIR in study\.toml"):
        make_tree(other, Environment(), None, tmp_path / "three")
    own = Instance(id="x", repo="a", tree=str(repos / "a/b"), issue="", patch="")
    (tmp_path / "four").mkdir()
    with pytest.raises(SubjectProblem, match="not a path in the tree"):
        make_tree(own, Environment(files={"../out": "1"}), None, tmp_path / "four")


def test_predictions_in_all_their_formats(tmp_path: Path) -> None:
    row = {"instance_id": "x", "model_name_or_path": "s", "model_patch": "d", "plausible": True}
    lines = write(tmp_path / "all_preds.jsonl", row, {**row, "model_patch": ""})
    named = tmp_path / "preds.json"
    named.write_text(json.dumps({"x": {"model_patch": "e"}, "y": {"model_patch": None}}), "utf-8")
    listed = tmp_path / "list.json"
    listed.write_text(json.dumps([row]), "utf-8")
    pools = read_predictions([lines, named, listed])
    assert list(pools) == ["x"]
    assert [(p.name, p.text, p.system, p.plausible) for p in pools["x"]] == [
        ("c00", "d", "s", True),
        ("c01", "e", "", None),
        ("c02", "d", "s", True),
    ]
    with pytest.raises(UsageProblem, match="without instance_id"):
        read_predictions([write(tmp_path / "bad.jsonl", {"model_patch": "d"})])
