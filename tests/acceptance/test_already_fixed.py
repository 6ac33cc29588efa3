"""A report whose bug was fixed before: the commit is named, and nothing is called fixed without."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.support.reports import read_report
from tests.support.repository import Repository
from tests.support.trees import tree_hash

RIGHT = "def first(items):\n    return items[0] if items else None\n"
WRONG = "def first(items):\n    return items[0]\n"
REPORT = """\
# first() of nothing

```
>>> from pkg import first
>>> first([])
Traceback (most recent call last):
  File "pkg.py", line 2, in first
IndexError: list index out of range
```
"""
VALUE = """\
# first() is the second

```
>>> from pkg import first
>>> first([1, 2])
2
```

It should be `1`.
"""


@pytest.fixture
def repository(tmp_path: Path) -> Repository:
    root = tmp_path / "project"
    root.mkdir()
    return Repository(root)


def answered(repository: Repository, report: str, *options: str) -> tuple[str, dict[str, object]]:
    issue = repository.root.parent / "issue.md"
    issue.write_text(report, encoding="utf-8")
    out = issue.with_name("out.json")
    before = tree_hash(repository.root)
    done = repository.run(
        "pytest",
        f"--brt-issue={issue}",
        f"--brt-report={out}",
        "-p",
        "no:cacheprovider",
        "--rootdir=.",
        *options,
    )
    assert done.returncode == 1, done.stdout + done.stderr
    assert tree_hash(repository.root) == before
    answer = read_report(out)["issues"][0]["answer"]
    sentences = [line for line in done.stdout.split("\n") if line.startswith("Not reproduced")]
    return sentences[0], answer


def test_the_commit_that_fixed_it_is_named(repository: Repository) -> None:
    for number in range(6):
        repository.commit(f"number {number}", pkg_py=f"{WRONG}# {number}\n")
    fix = repository.commit("Give None for nothing", pkg_py=RIGHT)
    for number in range(3):
        repository.commit(f"later {number}", pkg_py=f"{RIGHT}# {number}\n")
    said, answer = answered(repository, REPORT)
    assert said.startswith(f"Not reproduced here: fixed by {fix[:10]} (")
    assert said.endswith(
        "A: Give None for nothing), which changed pkg.py. `first([])` does not raise IndexError."
    )
    assert answer["status"] == "not-here"


def test_a_value_that_is_right_now_is_looked_for_too(repository: Repository) -> None:
    repository.commit("start", pkg_py="def first(items):\n    return items[1]\n")
    fix = repository.commit("Count from nought", pkg_py=WRONG)
    said, _ = answered(repository, VALUE)
    assert f"fixed by {fix[:10]}" in said
    assert said.endswith("`first([1, 2])` gives 1.")


def test_a_bug_that_never_was_is_not_called_fixed(repository: Repository) -> None:
    repository.commit("start", pkg_py=RIGHT)
    repository.commit("later", pkg_py=f"{RIGHT}# later\n")
    said, _ = answered(repository, REPORT)
    assert said.startswith("Not reproduced here: ")
    assert said.endswith("check that this is the version the report is about.")


def test_without_a_history_only_what_is_seen_is_said(tmp_path: Path) -> None:
    root = tmp_path / "project"
    root.mkdir()
    (root / "pkg.py").write_text(RIGHT, encoding="utf-8")
    plain = Repository.__new__(Repository)
    plain.root = root
    said, _ = answered(plain, REPORT)
    assert said == (
        "Not reproduced here: `first([])` does not raise IndexError; check that this is the "
        "version the report is about."
    )
