"""The fourteen commands of the repair agent, and its state machine."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pytest_brt.agent.action import File, Refusal
from pytest_brt.agent.loop import Turn
from pytest_brt.agent.memory import Counter
from pytest_brt.code.file_facts import read_facts
from pytest_brt.code.index import open_index
from pytest_brt.issue.load import read_issue
from pytest_brt.model.base import Sampling
from pytest_brt.repair.bench import RepairBench
from pytest_brt.repair.method_body import head_of
from pytest_brt.repair.repairagent import STATES, RepairAgent, State, state_after
from pytest_brt.types import Call, Done, FixSource, FixTried, NotDone, Step
from tests.repair.scenes import LINE, MODULE, Listener, Scene, scripted
from tests.support.trees import write_tree

SLIDER = File("interval/slider.py")
MAIN = File(MODULE)


def turn_of(bench: RepairBench, *steps: Step) -> Turn:
    session = bench.session("repairagent", 0, steps=9, sampling=Sampling()).metered()
    return Turn(session=session, steps=steps, tree=bench.bug.tree)


@pytest.fixture(scope="module")
def bench(scene: Scene, tmp_path_factory: pytest.TempPathFactory) -> RepairBench:
    body = "=== always\n```python\ndef clamp(value, low, high):\n    return value\n```\n"
    return scene.bench(scripted(tmp_path_factory.mktemp("model"), body))


@pytest.fixture(scope="module")
def agent(bench: RepairBench) -> RepairAgent:
    return RepairAgent(bench)


@pytest.fixture(scope="module")
def turn(bench: RepairBench) -> Turn:
    return turn_of(bench)


def test_there_are_the_fourteen_of_the_paper(agent: RepairAgent) -> None:
    assert {name for row in STATES.values() for name in row} == set(agent.actions)
    assert len(agent.actions) == 14
    assert all(action.about.endswith(".") for action in agent.actions.values())


def test_every_state_reaches_the_end_and_only_by_goal_accomplished() -> None:
    for state in State:
        found, todo = {state}, [state]
        while todo:
            new = set(STATES[todo.pop()].values()) - found
            found |= new
            todo += new
        assert State.DONE in found
    ends = {name for row in STATES.values() for name, to in row.items() if to is State.DONE}
    assert ends == {"goal_accomplished"}
    assert "write_fix" not in STATES[State.UNDERSTAND]


NAMES = sorted({name for row in STATES.values() for name in row})


@given(st.lists(st.tuples(st.sampled_from(NAMES), st.booleans())))
def test_only_what_was_carried_out_in_its_state_moves(asked: list[tuple[str, bool]]) -> None:
    state, steps = State.UNDERSTAND, []
    for number, (name, refused) in enumerate(asked, start=1):
        if name not in STATES[state]:
            continue
        result = NotDone() if refused else Done()
        steps.append(Step(number=number, reply="", call=Call(action=name), result=result))
        state = state if refused else STATES[state][name]
        assert state_after(steps) is state
        if state is State.DONE:
            break


def test_read_range_shows_numbers_and_says_where_the_file_ends(
    agent: RepairAgent, turn: Turn
) -> None:
    shown = agent.read_range(turn, MAIN, LINE - 1, 900).observation
    assert f"{LINE:5}|     return max(low, min(value, low))" in shown
    assert "the end" in shown.splitlines()[0]
    with pytest.raises(Refusal, match="ask for 1 to"):
        agent.read_range(turn, MAIN, 90, 99)


def test_reading_goes_on_to_the_end_of_a_function_that_is_near(
    agent: RepairAgent, turn: Turn
) -> None:
    shown = agent.read_range(turn, MAIN, LINE - 2, LINE - 1).observation
    assert shown.splitlines()[-1] == f"{LINE:5}|     return max(low, min(value, low))"


def test_long_code_ends_with_how_to_go_on(scene: Scene, tmp_path: Path) -> None:
    path = File("interval/long.py")
    lines = ["def long():", *(f"    x{n} = {n} + {n} + {n} + {n}" for n in range(2, 401))]
    model = scripted(tmp_path, "=== reply\n")
    with scene.with_file(path, "\n".join(lines) + "\n", model, tests=False) as bench:
        agent, turn = RepairAgent(bench), turn_of(bench)
        method = agent.extract_method(turn, path, "long").observation.splitlines()
        read = agent.read_range(turn, path, 100, 300).observation.splitlines()
    assert method[0] == f"{path}: long, lines 1 to 400:"
    assert method[-1] == f"[… go on with line {len(method) - 1} to 400 …]"
    assert read[0] == f"{path}, lines 100 to {97 + len(read)} of 400:"
    assert read[-1] == f"[… go on with line {98 + len(read)} …]"


def test_classes_and_methods_are_indented_as_they_are_nested(
    agent: RepairAgent, turn: Turn
) -> None:
    shown = agent.get_classes_and_methods(turn, SLIDER).observation
    assert "class Slider  lines 6-13" in shown
    assert "  def moveTo(self, value)  lines 12-13" in shown
    assert "def percent_of(value)  lines 16-17" in shown


def test_a_large_class_is_listed_by_names_those_like_the_report_first(
    bench: RepairBench, turn: Turn, tmp_path: Path
) -> None:
    methods = [f"    def step_{number}(self):\n        pass\n" for number in range(70)]
    code = "class Slider:\n" + "".join(methods) + "    def grow_widely(self, by):\n        pass\n"
    write_tree(tmp_path, {"pkg/slider.py": code})
    issue = read_issue("Widely is ignored\n\nIt does not grow.", "-")
    with open_index(tmp_path) as index:
        bug = replace(bench.bug, index=index, issue=issue)
        large = RepairAgent(replace(bench, bug=bug))
        lines = large.get_classes_and_methods(turn, File("pkg/slider.py")).observation.split("\n")
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
def test_a_method_is_found_by_what_it_is_nearly_called(
    agent: RepairAgent, turn: Turn, name: str
) -> None:
    found = agent.extract_method(turn, SLIDER, name).observation
    assert "   13|         return clamp(value, self.low, self.high)" in found


def test_a_method_of_another_file_is_said_to_be_there(agent: RepairAgent, turn: Turn) -> None:
    with pytest.raises(Refusal, match=r"slider\.py: percent_of"):
        agent.extract_method(turn, MAIN, "percent_of")
    with pytest.raises(Refusal, match="It has: clamp, mean"):
        agent.extract_method(turn, MAIN, "zz")


def test_the_failing_test_is_shown(agent: RepairAgent, turn: Turn, bench: RepairBench) -> None:
    name = bench.bug.failing[0].test.name
    for asked in ("", name, f"tests/x.py::{name}"):
        assert f"def {name}():" in agent.extract_tests(turn, asked).observation
    with pytest.raises(Refusal, match=name):
        agent.extract_tests(turn, "test_of_nothing")


def test_search_answers_file_class_method_and_words(agent: RepairAgent, turn: Turn) -> None:
    shown = agent.search_code_base(turn, "moveTo").observation.splitlines()
    assert shown[0] == "interval/slider.py"
    assert "  Slider → moveTo (line 12): moveTo" in shown
    assert "Slider" in agent.search_code_base(turn, "sliders").observation
    # A part of a name is enough, and so is a word in a body.
    for words in ("moveFrom", "high"):
        assert "Slider → moveTo" in agent.search_code_base(turn, words).observation
    assert "Nothing has a name like" in agent.search_code_base(turn, "quux").observation


@pytest.mark.parametrize(
    "snippet",
    [
        "clamp",
        "interval.clamp()",
        "x = clamp(value, low)",
        "return clamp(value)",
        "value = await self.clamp(1)",
        "if (clamp(value, low)):",
        "return (clamp(value))",
        "while not (yield clamp(1)):",
    ],
)
def test_calls_are_found_by_a_name_or_a_snippet(
    agent: RepairAgent, turn: Turn, snippet: str
) -> None:
    everywhere = agent.find_similar_api_calls(turn, snippet).observation
    assert "interval/slider.py:13 in Slider.moveTo: clamp(value, self.low, self.high)" in everywhere
    assert "tests/test_interval.py" in everywhere
    assert "tests/" not in agent.find_similar_api_calls(turn, snippet, SLIDER).observation


def test_calls_of_nothing_are_answered(agent: RepairAgent, turn: Turn) -> None:
    assert "Names like it" in agent.find_similar_api_calls(turn, "clampp").observation
    with pytest.raises(Refusal, match="not a call"):
        agent.find_similar_api_calls(turn, "a + b")


def test_a_method_is_written_from_what_stands_before_it(
    agent: RepairAgent, turn: Turn, bench: RepairBench
) -> None:
    made = agent.generate_method_body(turn, MAIN, "clamp").observation
    assert "    return value" in made
    assert f"now lines {LINE - 2} to {LINE}" in made


def test_a_method_is_asked_for_with_what_stands_before_it_in_so_many_tokens(
    scene: Scene, tmp_path: Path
) -> None:
    path = File("interval/big.py")
    above = "".join(f"X{number} = {number}\n" for number in range(20_000))
    code = f"{above}def last(value):\n    return value + 12345678\n"
    model = Listener(scripted(tmp_path, "=== always\nnothing\n", context=40_000))
    with scene.with_file(path, code, model, tests=False) as bench:
        RepairAgent(bench).generate_method_body(turn_of(bench), path, "last")
    (prompt,) = model.asked
    asked = prompt.messages[-1].text
    assert prompt.sampling.max_tokens == 4_000
    assert "X19999 = 19999" in asked
    assert "def last(value):" in asked
    assert "12345678" not in asked
    assert 10_000 < model.count(asked) < 12_100


def test_of_a_method_on_one_line_the_body_is_not_shown() -> None:
    lines = [
        "class A:",
        "    @property",
        "    def a(self): return 1",
        "    def b(",
        "        self,",
    ]
    lines += ["    ) -> int:", '        """Return b."""', "        return 2", "b = 3"]
    text = "\n".join(lines)
    known = {one.qualname: one for one in read_facts(text).definitions}
    assert head_of(lines, known["A.a"]) == "    @property\n    def a(self):"
    assert head_of(lines, known["A.b"]) == "    def b(\n        self,\n    ) -> int:"


def test_localisation_names_the_buggy_function_first(agent: RepairAgent, turn: Turn) -> None:
    told = agent.run_fault_localization(turn).observation.splitlines()
    assert told[0] == "The most suspicious places, likeliest first:"
    assert told[1].startswith(f"- {MODULE}:{LINE - 2}-{LINE} clamp (")
    lines = told[
        told.index("Lines by Ochiai's score, of what failing and passing tests run:") + 1 :
    ]
    assert lines[0].startswith(f"- {MODULE}:{LINE} ")


def test_a_place_that_was_given_is_told_as_it_is(scene: Scene, tmp_path: Path) -> None:
    bench = scene.bench(scripted(tmp_path, "=== reply\n"), given=(f"{MODULE}:{LINE}",))
    told = RepairAgent(bench).run_fault_localization(turn_of(bench)).observation
    assert told == f"The bug is here:\n- {MODULE}:{LINE}-{LINE} clamp"


def test_all_places_that_were_given_are_told(scene: Scene, tmp_path: Path) -> None:
    given = tuple(f"{MODULE}:{line}" for line in range(1, LINE + 1))
    model = scripted(tmp_path, "=== reply\n")
    bench = scene.bench(model, given=given)
    told = RepairAgent(bench).run_fault_localization(turn_of(bench)).observation
    (_, opening) = RepairAgent(bench).messages((), 8_000, Counter(model))
    for place in given:
        assert f"- {place}-" in told
        assert f"- {place}-" in opening.text


def fixing(**facts: object) -> Step:
    known = {"key": "k", "diff": "d", "source": FixSource.AGENT, "passes": True, **facts}
    effects = (FixTried(**known),)  # type: ignore[arg-type]
    return Step(number=1, reply="", call=Call(action="write_fix"), result=Done(effects=effects))


def test_the_end_is_offered_once_a_fix_passes(agent: RepairAgent, bench: RepairBench) -> None:
    hypothesis = Step(number=1, reply="", call=Call(action="express_hypothesis"))
    assert "goal_accomplished" not in agent.allowed((hypothesis, fixing(passes=False)))
    steps = (hypothesis, fixing())
    assert "goal_accomplished" in agent.allowed(steps)
    assert agent.goal_accomplished(turn_of(bench, *steps)).effects
    with pytest.raises(Refusal, match="No fix works yet"):
        agent.goal_accomplished(turn_of(bench))


def test_a_fix_that_breaks_tests_is_questioned_once(agent: RepairAgent, bench: RepairBench) -> None:
    breaking = fixing(breaks=2)
    with pytest.raises(Refusal, match="breaks existing tests"):
        agent.goal_accomplished(turn_of(bench, breaking))
    asked = Step(number=2, reply="", call=Call(action="goal_accomplished"), result=NotDone())
    assert agent.goal_accomplished(turn_of(bench, breaking, asked)).effects
