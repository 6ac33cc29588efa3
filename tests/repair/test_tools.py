from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import pytest

from pytest_brt.agent.action import Action, Outcome, Tool
from pytest_brt.code.index import open_index
from pytest_brt.errors import FixProblem
from pytest_brt.issue.load import read_issue
from pytest_brt.repair.repairagent import agent_loop
from pytest_brt.repair.site import RepairBench, Site
from pytest_brt.repair.states import ToolName
from pytest_brt.repair.tools.looking import classes_and_methods
from pytest_brt.types import Step
from tests.repair.scenes import LINE, MODULE, Scene, scripted
from tests.support.trees import write_tree


@pytest.fixture(scope="module")
def site(scene: Scene, tmp_path_factory: pytest.TempPathFactory) -> Site:
    body = "=== always\n```python\ndef clamp(value, low, high):\n    return value\n```\n"
    return scene.site(scripted(tmp_path_factory.mktemp("model"), body))


@pytest.fixture(scope="module")
def tools(site: Site) -> dict[str, Tool]:
    return dict(agent_loop(RepairBench(site=site)).tools)


def use(
    tools: dict[str, Tool], tool: ToolName, steps: Sequence[Step] = (), /, **arguments: object
) -> Outcome:
    pairs = tuple((key, str(value)) for key, value in arguments.items())
    return tools[tool].run(Action(name=tool.value, arguments=pairs), steps)


def test_there_are_the_fourteen_of_the_paper(tools: dict[str, Tool]) -> None:
    assert set(tools) == set(ToolName)
    for name, tool in tools.items():
        assert tool.spec.name == name
        assert tool.spec.about.endswith(".")


def test_read_range_shows_numbers_and_says_where_the_file_ends(tools: dict[str, Tool]) -> None:
    shown = use(tools, ToolName.READ_RANGE, path=MODULE, first=LINE - 1, last=900).observation
    assert f"{LINE:5}|     return max(low, min(value, low))" in shown
    assert "the end" in shown.splitlines()[0]
    assert "ask for 1 to" in use(tools, ToolName.READ_RANGE, path=MODULE, first=90, last=99).problem


def test_long_code_ends_with_how_to_go_on(scene: Scene, tmp_path: Path) -> None:
    path = "interval/long.py"
    lines = ["def long():", *(f"    x{n} = {n} + {n} + {n} + {n}" for n in range(2, 401))]
    model = scripted(tmp_path, "=== reply\n")
    with scene.with_file(path, "\n".join(lines) + "\n", model, tests=False) as site:
        tools = dict(agent_loop(RepairBench(site=site)).tools)
        method = use(
            tools, ToolName.EXTRACT_METHOD, path=path, name="long"
        ).observation.splitlines()
        lines = use(
            tools, ToolName.READ_RANGE, path=path, first=100, last=300
        ).observation.splitlines()
    assert method[0] == f"{path}: long, lines 1 to 400:"
    assert method[-1] == f"[… go on with read_range {path} {len(method) - 1} 400 …]"
    assert lines[0] == f"{path}, lines 100 to {97 + len(lines)} of 400:"
    assert lines[-1] == f"[… go on with line {98 + len(lines)} …]"


def test_classes_and_methods_are_indented_as_they_are_nested(tools: dict[str, Tool]) -> None:
    shown = use(tools, ToolName.CLASSES_AND_METHODS, path="interval/slider.py").observation
    assert "class Slider  lines 6-13" in shown
    assert "  def moveTo(self, value)  lines 12-13" in shown
    assert "def percent_of(value)  lines 16-17" in shown


def test_a_large_class_is_listed_by_names_those_like_the_report_first(
    site: Site, tmp_path: Path
) -> None:
    methods = [f"    def step_{number}(self):\n        pass\n" for number in range(70)]
    code = "class Slider:\n" + "".join(methods) + "    def grow_widely(self, by):\n        pass\n"
    write_tree(tmp_path, {"pkg/slider.py": code})
    issue = read_issue("Widely is ignored\n\nIt does not grow.", "-")
    with open_index(tmp_path) as index:
        tool = classes_and_methods(replace(site, index=index, issue=issue))
        action = Action(name=tool.spec.name, arguments=(("path", "pkg/slider.py"),))
        lines = tool.run(action, ()).observation.split("\n")
    assert lines[:3] == [
        "pkg/slider.py defines 72 classes and functions.",
        "Those with words of the report:",
        "Slider.grow_widely(self, by)  lines 142-143",
    ]
    every = ", ".join([*(f"step_{number}" for number in range(70)), "grow_widely"])
    assert lines[3:] == [
        "All names (extract_method shows one):",
        "module: Slider",
        f"Slider: {every}",
    ]


@pytest.mark.parametrize("name", ["moveTo", "Slider.moveTo", "Slider::moveTo", "move_to"])
def test_a_method_is_found_by_what_it_is_nearly_called(tools: dict[str, Tool], name: str) -> None:
    found = use(tools, ToolName.EXTRACT_METHOD, path="interval/slider.py", name=name)
    assert "   13|         return clamp(value, self.low, self.high)" in found.observation


def test_a_method_of_another_file_is_said_to_be_there(tools: dict[str, Tool]) -> None:
    found = use(tools, ToolName.EXTRACT_METHOD, path=MODULE, name="percent_of")
    assert "interval/slider.py: percent_of" in found.problem
    assert (
        "It has: clamp, mean" in use(tools, ToolName.EXTRACT_METHOD, path=MODULE, name="zz").problem
    )


def test_the_failing_test_is_shown(tools: dict[str, Tool], site: Site) -> None:
    name = site.failing[0].test.name
    for asked in ("", name, f"tests/x.py::{name}"):
        shown = use(tools, ToolName.EXTRACT_TESTS, name=asked).observation
        assert f"def {name}():" in shown
    assert name in use(tools, ToolName.EXTRACT_TESTS, name="test_of_nothing").problem


def test_search_answers_file_class_method_and_words(tools: dict[str, Tool]) -> None:
    shown = use(tools, ToolName.SEARCH, keywords="moveTo").observation.splitlines()
    assert shown[0] == "interval/slider.py"
    assert "  Slider → moveTo (line 12): moveTo" in shown
    near = use(tools, ToolName.SEARCH, keywords="sliders").observation
    assert "Slider" in near
    assert "Nothing has a name like" in use(tools, ToolName.SEARCH, keywords="quux").observation


def test_calls_are_found_in_one_file_or_everywhere(tools: dict[str, Tool]) -> None:
    everywhere = use(tools, ToolName.SIMILAR_CALLS, name="interval.clamp()", path="").observation
    assert "interval/slider.py:13 in Slider.moveTo: clamp(value, self.low, self.high)" in everywhere
    assert "tests/test_interval.py" in everywhere
    one = use(tools, ToolName.SIMILAR_CALLS, name="clamp", path="slider.py").observation
    assert "tests/" not in one
    assert "Names like it" in use(tools, ToolName.SIMILAR_CALLS, name="clampp", path="").observation
    with pytest.raises(FixProblem, match="no file"):
        use(tools, ToolName.SIMILAR_CALLS, name="clamp", path="nowhere/at/all.txt")


def test_a_method_is_written_by_a_query_of_its_own(tools: dict[str, Tool]) -> None:
    made = use(tools, ToolName.METHOD_BODY, path=MODULE, name="clamp")
    assert "    return value" in made.observation
    assert f"now lines {LINE - 2} to {LINE}" in made.observation
    assert made.cost.calls == 1


def test_failing_tests_are_told_without_the_frames_of_others(
    tools: dict[str, Tool], site: Site
) -> None:
    told = use(tools, ToolName.RUN_TESTS).observation
    assert "AssertionError" in told
    assert "site-packages" not in told
    assert site.failing[0].test.name in told


def test_localisation_names_the_buggy_function_first(tools: dict[str, Tool]) -> None:
    told = use(tools, ToolName.LOCALIZE).observation.splitlines()
    assert told[0] == "The most suspicious places, likeliest first:"
    assert told[1].startswith(f"- {MODULE}:{LINE - 2}-{LINE} clamp, lines {LINE}")


def test_a_place_that_was_given_is_told_as_it_is(scene: Scene, tmp_path: Path) -> None:
    site = scene.site(scripted(tmp_path, "=== reply\n"), given=(f"{MODULE}:{LINE}",))
    loop = agent_loop(RepairBench(site=site))
    told = use(dict(loop.tools), ToolName.LOCALIZE).observation
    assert told == f"The bug is here:\n- {MODULE}:{LINE}-{LINE} clamp, lines {LINE}"


def test_the_end_is_refused_before_a_fix_is_found(tools: dict[str, Tool]) -> None:
    assert use(tools, ToolName.ACCOMPLISHED, reason="").problem
    found = Step(number=1, reply="", action="write_fix", facts=(("patch", "d"), ("source", "x")))
    assert use(tools, ToolName.ACCOMPLISHED, [found], reason="").done
