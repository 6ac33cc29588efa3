"""A study as its file has it."""

from __future__ import annotations

from pathlib import Path

import pytest

from pytest_brt.errors import UsageProblem
from pytest_brt.evaluate.record import Stage
from pytest_brt.evaluate.study_file import read_study_file

WHOLE = """\
dataset = "bugs"
results = "found"
predictions = ["preds.json"]
stages = ["reproduce", "repair"]
given = ["files", "plausible-tests"]
strategies = ["agent"]
repair_strategies = ["passerine"]
without = [["search"], ["states", "memory"]]
samples = 20
budget = "2h"
guard = 0

[environments.default]
python = "envs/bin/python"

["environments"."a/b@1.4"]
python = "python3.9"
"""


def study_file(folder: Path, text: str) -> Path:
    path = folder / "study.toml"
    path.write_text(text, "utf-8")
    return path


def test_paths_are_those_beside_the_file(tmp_path: Path) -> None:
    study = read_study_file(study_file(tmp_path, WHOLE))
    assert (study.dataset, study.results) == (str(tmp_path / "bugs"), str(tmp_path / "found"))
    assert study.predictions == (str(tmp_path / "preds.json"),)
    pythons = {name: table.python for name, table in study.environments.items()}
    assert pythons == {"default": str(tmp_path / "envs/bin/python"), "a/b@1.4": "python3.9"}
    assert study.stages == (Stage.REPRODUCE, Stage.REPAIR)


def test_what_it_says_of_options_is_called_as_they_are(tmp_path: Path) -> None:
    assert read_study_file(study_file(tmp_path, WHOLE)).options == {
        "strategy": ("agent",),
        "repair_strategy": ("passerine",),
        "without": (("search",), ("states", "memory")),
        "samples": 20,
        "budget": "2h",
        "guard": 0,
    }


def test_environments_may_be_in_a_file_of_their_own(tmp_path: Path) -> None:
    (tmp_path / "envs").mkdir()
    (tmp_path / "envs/all.json").write_text('{"default": {"python": "./py"}}', "utf-8")
    study = read_study_file(
        study_file(tmp_path, 'dataset = "bugs"\nenvironments = "envs/all.json"')
    )
    assert study.environments["default"].python == str(tmp_path / "envs/py")


def test_a_data_set_is_a_study_with_the_defaults(tmp_path: Path) -> None:
    study = read_study_file(tmp_path / "bench.jsonl")
    assert (study.dataset, study.options) == (str(tmp_path / "bench.jsonl"), {})


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("seed = 1", "missing required field `dataset`"),
        ('dataset = "b"\nseeds = 1', "unknown field `seeds`"),
        ('dataset = "b"\nsamples = "ten"', r"got `str` - at `\$.samples`"),
        ('dataset = "b"\ngiven = ["all"]', r"'all' - at `\$.given"),
        ('dataset = "b"\n[environments.x]\npyhton = "p"', r"`pyhton` - at `\$.environments"),
        ('dataset = "b"\nenvironments = "none.toml"', "none.toml.*No such file"),
        ("dataset = ", "study.toml.*Invalid value"),
    ],
)
def test_what_is_wrong_is_named_with_its_file(tmp_path: Path, text: str, problem: str) -> None:
    with pytest.raises(UsageProblem, match=problem) as raised:
        read_study_file(study_file(tmp_path, text))
    assert str(tmp_path) in str(raised.value)
