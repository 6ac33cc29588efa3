"""The three real bugs: fetched, unpacked, reproduced, and their patches ranked."""

from __future__ import annotations

import subprocess
import sys
import tomllib
from pathlib import Path
from typing import Any

import pytest

from tests.acceptance.examples import EXAMPLES, NAMES, unpack
from tests.support.reports import patches_of, read_report
from tests.support.trees import tree_hash

pytestmark = [pytest.mark.slow, pytest.mark.long]

#: Nothing is said here of the place of patches with other labels.
TRIED = {"right", "literal", "wrong-place", "no-apply"}


def labels_of(name: str) -> dict[str, str]:
    """Return the patches of an example that are tried, and what each of them is."""
    text = (EXAMPLES / name / "example.toml").read_text("utf-8")
    patches: dict[str, str] = tomllib.loads(text)["patches"]
    return {patch: label for patch, label in patches.items() if label in TRIED}


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("examples")


@pytest.fixture(scope="module")
def reports(folder: Path) -> dict[str, dict[str, Any]]:
    """Run each example, as its users do but fewer patches, and return the JSON reports."""
    found = {}
    for name in NAMES:
        # Existing tests are tried with the one that has packages for them.
        how = ["--brt-guard=1"] if name == NAMES[0] else ["--brt-guard=no"]
        out = folder / f"{name}.json"
        command = [sys.executable, f"{EXAMPLES}/run.py", name, "--keep", f"{folder}/{name}", "--"]
        chosen = " or ".join(["issue", *(Path(patch).stem for patch in labels_of(name))])
        result = subprocess.run(
            [*command, f"--brt-report={out}", *how, "-p", "no:cacheprovider", "-k", chosen],
            capture_output=True,
            text=True,
            check=False,
            encoding="utf-8",
        )
        assert result.returncode == 0, result.stdout + result.stderr
        found[name] = read_report(out)
    return found


@pytest.mark.parametrize("name", NAMES)
def test_a_right_patch_comes_first_and_no_wrong_one_above_it(
    name: str, reports: dict[str, dict[str, Any]]
) -> None:
    labels, report = labels_of(name), reports[name]
    patches = patches_of(report)
    assert set(patches) == set(labels)
    candidates = {test["id"] for test in report["tests"] if test["candidate"]}
    assert candidates
    for patch, label in labels.items():
        found = patches[patch]
        assert (found["refused"] is None) == (label != "no-apply"), found
        if label == "right":
            assert found["epr"] == 1.0, found
        elif label in {"literal", "wrong-place"}:
            assert found["epr"] < 1, found
        if found["refused"] is None:
            assert {cell["test"] for cell in found["cells"]} == candidates


def test_every_kind_of_oracle_is_at_work(reports: dict[str, dict[str, Any]]) -> None:
    oracles = {
        test["oracle"]
        for report in reports.values()
        for test in report["tests"]
        if test["candidate"]
    }
    assert oracles >= {"no-raise", "equals-expected", "observed-gone"}


@pytest.mark.usefixtures("reports")
@pytest.mark.parametrize("name", NAMES)
def test_the_tree_is_left_as_it_was(name: str, folder: Path, tmp_path: Path) -> None:
    fresh = unpack(EXAMPLES / name, tmp_path)
    assert tree_hash(folder / name / fresh.name) == tree_hash(fresh)
