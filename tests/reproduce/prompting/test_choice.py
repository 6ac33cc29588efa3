"""A model puts the likeliest suspects first."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from pytest_brt.agent.prompts import Prompts
from pytest_brt.code.index import open_index
from pytest_brt.model.base import Prompt, Settings
from pytest_brt.model.scripted import ScriptedModel
from pytest_brt.reproduce.likeliest import likeliest_places, other_place
from pytest_brt.reproduce.prompting.context import Hints
from pytest_brt.reproduce.prompting.fit import Brief
from pytest_brt.types import Place
from pytest_brt.types.clue import NamedByModel
from tests.reproduce.examples import ISSUE
from tests.reproduce.golden import check

CODE = 'class Thing:\n    def {}(self, step=1):\n        """Go on.\n\n        Slowly."""\n'
VALUES = "SAFE = '#'\n_UNSAFE = ''\n"


def suspects(count: int) -> tuple[Place, ...]:
    return tuple(
        Place(
            path=f"pkg/part{number}.py",
            function="" if number == 3 else f"Thing.walk{number}",
            line=2,
            end_line=5,
            score=1.0 - number / 100,
        )
        for number in range(count)
    )


def asked(folder: Path, answer: str, count: int) -> tuple[list[int], list[Prompt]]:
    """Return the order of the suspects after the model answered, and what it was asked."""
    script = folder / "script.txt"
    script.write_text(f"=== always if: You find the code\n{answer}\n", "utf-8")
    model = ScriptedModel(str(script), Settings())
    prompts: list[Prompt] = []

    def ask(prompt: Prompt) -> str:
        prompts.append(prompt)
        return model.complete(prompt)[0].text

    every = suspects(count)
    for place in every:
        (folder / "pkg").mkdir(exist_ok=True)
        code = CODE.format(place.function.rpartition(".")[2]) if place.function else VALUES
        (folder / place.path).write_text(code, "utf-8")
    (folder / "pkg" / "other.py").write_text("", "utf-8")
    brief = Brief(issue=ISSUE, hints=Hints(), prompts=Prompts(), model=model)
    with open_index(folder) as index:
        found = likeliest_places(every, index, brief, ask)
    return [every.index(one) if one in every else -1 for one in found], prompts


def answered(*names: str, other: str = "") -> str:
    fields = dict(zip(("first", "second", "third"), names, strict=True))
    return json.dumps({**fields, "other": other})


def test_what_the_model_names_comes_first_and_nothing_is_lost(tmp_path: Path) -> None:
    names = ("pkg/part6.py::Thing.walk6", "pkg/part3.py", "pkg/part6.py::Thing.walk6")
    answer = answered(*names)
    order, (prompt,) = asked(tmp_path, answer, 8)
    assert order == [6, 3, 0, 1, 2, 4, 5, 7]
    assert prompt.grammar is not None
    assert "pkg/part7.py::Thing.walk7" in prompt.grammar.gbnf
    check("places", prompt)


@pytest.mark.parametrize(
    ("names", "path", "order"),
    [
        (("none", "none", "none"), "src/pkg/other.py", [-1, 0, 1, 2, 3, 4, 5, 6]),
        (("pkg/part3.py", "none", "none"), "pkg/other.py", [3, -1, 0, 1, 2, 4, 5, 6]),
        (("none", "none", "none"), "pkg/made_up.py", [0, 1, 2, 3, 4, 5, 6]),
    ],
)
def test_another_file_may_be_named(
    tmp_path: Path, names: tuple[str, str, str], path: str, order: list[int]
) -> None:
    assert asked(tmp_path, answered(*names, other=path), 7)[0] == order


@pytest.mark.parametrize(
    ("name", "function", "line"),
    [("Thing", "Thing", 1), ("walk6", "Thing.walk6", 2), ("Thing.fly", "", 1), ("", "", 1)],
)
def test_another_function_or_class_may_be_named(
    tmp_path: Path, name: str, function: str, line: int
) -> None:
    (tmp_path / "pkg").mkdir()
    (tmp_path / "pkg" / "part6.py").write_text(CODE.format("walk6"), "utf-8")
    with open_index(tmp_path) as index:
        (found,) = other_place(f"pkg/part6.py::{name}", index)
    assert (found.path, found.function, found.line) == ("pkg/part6.py", function, line)
    assert found.clues == (NamedByModel(),)


def test_an_answer_that_names_nothing_known_changes_nothing(tmp_path: Path) -> None:
    order, prompts = asked(tmp_path, answered("elsewhere.py", "", ""), 7)
    assert order == list(range(7))
    assert len(prompts) == 1


def test_of_a_few_it_is_not_asked(tmp_path: Path) -> None:
    assert asked(tmp_path, "{}", 5) == ([0, 1, 2, 3, 4], [])
