"""RepairAgent (paper 004) for Python: a model with tools, a state machine and a memory."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from pytest_brt.dialogue.action import Action, ActionSpec, Outcome, Parameter, Tool, refused
from pytest_brt.dialogue.history import Counter
from pytest_brt.dialogue.loop import Budget, Loop, converse, room
from pytest_brt.model.base import Message, Sampling
from pytest_brt.repair.known import DISPUTED, PATCH, state_after
from pytest_brt.repair.prompt import DynamicPrompt
from pytest_brt.repair.site import RepairBench, Room
from pytest_brt.repair.states import TABLE, ToolName, Without
from pytest_brt.repair.tools.looking import (
    classes_and_methods,
    extract_method,
    extract_tests,
    fault_localization,
    read_range,
    run_tests,
    search_code_base,
    similar_calls,
)
from pytest_brt.repair.tools.writing import method_body, write_fix
from pytest_brt.types import Step, Trajectory

#: Most tokens of one observation, where the context has room for it.
_OBSERVATION = 1500
#: Longest reply, in tokens: a header and a few dozen lines of code.
_REPLY = 900
#: Commands that one repair may use (paper 004).
STEPS = 40
#: The tools that search (paper 004: "no search tools").
_SEARCHES = frozenset({ToolName.SEARCH, ToolName.SIMILAR_CALLS, ToolName.METHOD_BODY})


def repair(bench: RepairBench, index: int = 0) -> Trajectory:
    """Carry out run number `index`; its fixes are in the steps' facts (`memory.patches_in`).

    Raises:
        ModelProblem: the model could not be asked even once.
        SubjectProblem: the project's interpreter cannot be started.
        StoreProblem: the record cannot be written.
    """
    return converse(agent_loop(bench, index), bench.log("repairagent", index))


def agent_loop(bench: RepairBench, index: int = 0) -> Loop:
    """Return the loop of one repair; runs after the first are drawn more freely."""
    site = bench.site
    budget = Budget(steps=bench.steps or STEPS, deadline=bench.deadline)
    sampling = Sampling(
        temperature=0.6 if index else 0.0,
        top_p=0.95,
        seed=bench.seed,
        max_tokens=min(_REPLY, site.model.context // 6),
    )
    most = room(site.model, sampling)
    count = Counter(site.model)
    observation = max(128, min(_OBSERVATION, most // 6))
    tools = _tools(bench, sampling.seed, budget, Room(most=observation, count=count))
    dynamic = DynamicPrompt(
        site=site,
        without=bench.without,
        specs=[tool.spec for tool in tools.values()],
        # What the template puts around two messages is not in the count of their texts.
        room=most - 64,
        most=budget.steps,
        count=count,
    )

    def offered(steps: Sequence[Step]) -> tuple[str, ...]:
        if Without.STATES in bench.without:
            return tuple(tools)
        names = TABLE[state_after(steps)]
        more = bench.tools if ToolName.SEARCH in names else ()
        return (*(name for name in names if name in tools), *more)

    def messages(steps: Sequence[Step]) -> tuple[Message, ...]:
        specs: list[ActionSpec] = [tools[name].spec for name in offered(steps)]
        return dynamic.messages(steps, specs)

    return Loop(
        model=site.model,
        tools=tools,
        messages=messages,
        budget=budget,
        paths=site.paths,
        sampling=sampling,
        allowed=offered,
        observation=observation,
        purpose="repair",
        say=bench.say,
    )


def _tools(bench: RepairBench, seed: int, budget: Budget, holds: Room) -> dict[str, Tool]:
    site = bench.site
    found = (
        read_range(site, holds),
        classes_and_methods(site),
        extract_method(site, holds),
        extract_tests(site),
        search_code_base(site),
        similar_calls(site),
        method_body(site, seed=seed),
        run_tests(site),
        fault_localization(site),
        write_fix(site, variants=bench.variants, seed=seed, seconds=budget.seconds),
        *_steering(),
    )
    left_out = _SEARCHES if Without.SEARCH in bench.without else frozenset()
    tools = {tool.spec.name: tool for tool in found if tool.spec.name not in left_out}
    return {**tools, **bench.tools}


#: Each with what is answered.
_SAID = (
    (
        ActionSpec(
            name=ToolName.HYPOTHESIS.value,
            about="Say what the bug is: where, and why it goes wrong. Then you can fix it.",
            parameters=(Parameter(name="hypothesis", about="what is wrong, and where", most=400),),
            weighty=True,
        ),
        "Noted. Collect what you need to fix it, then write the fix.",
    ),
    (
        ActionSpec(
            name=ToolName.DISCARD.value,
            about="Give the hypothesis up, as when fixes of it do not work.",
            parameters=(Parameter(name="reason", about="why it is wrong", most=300),),
            repeatable=True,
        ),
        "Discarded. Look again, then express another hypothesis.",
    ),
    (
        ActionSpec(
            name=ToolName.COLLECT_MORE.value,
            about="Go back to reading and searching before the next fix.",
            repeatable=True,
        ),
        "You can read and search again.",
    ),
)


def _steering() -> tuple[Tool, ...]:
    """Return the tools; the last one is refused until a fix passes the tests."""

    def answering(text: str) -> Callable[[Action, Sequence[Step]], Outcome]:
        return lambda _action, _steps: Outcome(observation=text)

    def accomplished(_action: Action, steps: Sequence[Step]) -> Outcome:
        if not any(step.fact(PATCH) for step in steps):
            disputed = any(step.fact(DISPUTED) for step in steps)
            so_far = "Every fix so far breaks existing tests." if disputed else "No fix works yet."
            return refused(f"{so_far} Write another fix.")
        return Outcome(observation="Done.", done=True)

    spec = ActionSpec(
        name=ToolName.ACCOMPLISHED.value,
        about="End: a fix passes the tests. Refused before one does.",
        parameters=(Parameter(name="reason", about="why the fix is right", most=300, default=""),),
        repeatable=True,
    )
    return (
        *(Tool(spec=spec, run=answering(text)) for spec, text in _SAID),
        Tool(spec=spec, run=accomplished),
    )
