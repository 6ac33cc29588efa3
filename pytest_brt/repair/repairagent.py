"""RepairAgent (paper 004) for Python: a model with tools, a state machine and a memory.

Its prompt is dynamic: eight sections made from what is known, the stable ones first. Role, goals,
guidelines and the form of each command's answer never change; the bug hardly does; what was
gathered only grows at its end. What changes from step to step (the state, the names of the
commands it has, the last command, the budget) comes last and is short, so that a model which
keeps what it evaluated has little to do.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property, partial

from pytest_brt.agent.action import (
    Action,
    ActionSpec,
    Outcome,
    Parameter,
    Tool,
    describe,
    refused,
)
from pytest_brt.agent.history import Counter, cut
from pytest_brt.agent.loop import Budget, Loop, converse, room
from pytest_brt.model.base import Message, Role, Sampling
from pytest_brt.repair.account import told_runs
from pytest_brt.repair.site import RepairBench, Room, Site
from pytest_brt.repair.states import (
    CODE,
    DISPUTED,
    PATCH,
    TABLE,
    Memory,
    Remembered,
    State,
    ToolName,
    Without,
    recall,
    state_after,
)
from pytest_brt.repair.tools.looking import (
    classes_and_methods,
    extract_method,
    extract_tests,
    fault_localization,
    names_of,
    read_range,
    run_tests,
    search_code_base,
    similar_calls,
    source_of,
    told_places,
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
    """Carry out run number `index`; its fixes are in the steps' facts (`states.patches_in`).

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
    tools = _tools(bench, budget, Room(most=observation, count=count))
    dynamic = DynamicPrompt(
        site=site,
        without=bench.without,
        specs=[tool.spec for tool in tools.values()],
        # What the template puts around two messages is not in the count of their texts.
        room=most - 64,
        most=budget.steps,
        count=count,
    )

    offered = partial(_offered, bench, tools)
    return Loop(
        model=site.model,
        tools=tools,
        messages=lambda steps: dynamic.messages(steps, offered(steps)),
        budget=budget,
        paths=site.paths,
        sampling=sampling,
        allowed=offered,
        observation=observation,
        purpose="repair",
        say=bench.say,
        again=partial(agent_loop, bench, index),
    )


def _offered(
    bench: RepairBench, tools: Mapping[str, Tool], steps: Sequence[Step]
) -> tuple[str, ...]:
    """Return the names of the tools that the state after `steps` has."""
    if Without.STATES in bench.without:
        return tuple(tools)
    names = TABLE[state_after(steps)]
    more = bench.tools if ToolName.SEARCH in names else ()
    return (*(name for name in names if name in tools), *more)


def _tools(bench: RepairBench, budget: Budget, holds: Room) -> dict[str, Tool]:
    site, seed = bench.site, bench.seed
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


#: What is left of the room after something had to go, as far as there is nothing but code left:
#: everything after a change is evaluated again, so changes are to be rare.
_AFTER = 0.7
#: Share of the room that the system's message may take before it is shortened.
_SYSTEM = 1 / 3
#: Tokens that the part which changes from step to step may have, about.
_TAIL = 600
#: Places of the bug that the model is told of at the beginning.
_PLACES = 4
#: Share of the room that the report may take.
_REPORT = 0.3
#: Fixes that are to be tried before the steps are used up (RepairAgent's budget control).
_FIXES = 4

#: What the model is told of each state; the words are those of RepairAgent's paper.
_CALLED = {
    State.UNDERSTAND: "understand the bug",
    State.COLLECT: "collect information to fix the bug",
    State.TRY: "try to fix the bug",
    State.DONE: "done",
}
_NOW = {
    State.UNDERSTAND: "Find out what is wrong and where. Then express a hypothesis.",
    State.COLLECT: "Read the code to change. Then write a fix, with the line numbers shown.",
    State.TRY: "Try another fix, or read more, or give the hypothesis up.",
    State.DONE: "",
}
_PASSES = (
    "A fix is kept. If it mends the cause for every input, call goal_accomplished. If not, write a "
    "better one, whole: the code that you read and change is without the fix."
)


@dataclass(kw_only=True, eq=False)
class DynamicPrompt:
    """Makes the messages of each step of one repair."""

    site: Site
    without: frozenset[Without]
    #: All commands; those of a state are among them.
    specs: Sequence[ActionSpec]
    #: Most tokens of a prompt.
    room: int
    #: Steps that there are in all.
    most: int
    count: Counter

    def messages(self, steps: Sequence[Step], offered: Sequence[str]) -> tuple[Message, ...]:
        """Return the prompt after `steps`, in at most `room` tokens where that can be had.

        `offered` are the names of the commands that the state has.
        """
        system, bug = self._opening
        memory = recall(steps)
        parts = [bug, *self._shown(memory.entries), self._tail(memory, steps, offered)]
        return (system, Message(role=Role.USER, text="\n\n".join(parts)))

    @cached_property
    def _opening(self) -> tuple[Message, str]:
        """The sections that stay as they are for the whole repair."""
        site, count = self.site, self.count
        system = self._system(short=False)
        if count(system.text) > self.room * _SYSTEM:
            system = self._system(short=True)
        runs = tuple(j.judgement.runs[0] for j in site.failing if j.judgement.runs)
        report = cut(site.issue.text, max(64, int(self.room * _REPORT)), count)
        places = told_places(site.places()[:_PLACES], perfect=site.perfect)
        left = self.room * 2 // 3 - sum(map(count, (system.text, report, places)))
        tests = cut(told_runs(runs, names_of(site)) if runs else "", max(64, left), count)
        brt = source_of(site, site.failing[0]) if site.failing else ""
        brt = brt if count(brt) <= left - count(tests) else ""
        bug = site.prompts.render("repair/bug", report=report, places=places, tests=tests, brt=brt)
        return system, bug

    def _system(self, *, short: bool) -> Message:
        tools = describe(self.specs)
        return self.site.prompts.message(Role.SYSTEM, "repair/system", tools=tools, short=short)

    def _shown(self, entries: Sequence[Remembered]) -> list[str]:
        """Return the entries, in their order; of those that do not fit only the titles.

        More are left out with every step, never fewer.
        """
        if Without.MEMORY in self.without:
            return [entry.text for entry in entries[-1:]]
        system, bug = self._opening
        room = self.room - self.count(system.text) - self.count(bug) - _TAIL
        gone: frozenset[int] = frozenset()
        for number in range(1, len(entries) + 1):
            gone = self._fitting(entries[:number], gone, room)
        return [_left_out(entry) if entry.number in gone else entry.text for entry in entries]

    def _fitting(
        self, entries: Sequence[Remembered], gone: frozenset[int], room: int
    ) -> frozenset[int]:
        sizes = {
            entry.number: 2 + self.count(_left_out(entry) if entry.number in gone else entry.text)
            for entry in entries
        }
        if sum(sizes.values()) <= room:
            return gone
        order = sorted(entries[:-1], key=lambda entry: (entry.worth, entry.number))
        for entry in order:
            size = sum(sizes.values())
            if size <= room * _AFTER or (size <= room and entry.worth >= CODE):
                break
            if entry.number not in gone:
                gone |= {entry.number}
                sizes[entry.number] = 2 + self.count(_left_out(entry))
        return gone

    def _tail(self, memory: Memory, steps: Sequence[Step], offered: Sequence[str]) -> str:
        past = [one for one in memory.hypotheses if one.discarded is not None]
        ends = bool(memory.plausible) and ToolName.ACCOMPLISHED in offered
        machine = Without.STATES not in self.without
        now = _NOW[memory.state] if machine else ""
        return self.site.prompts.render(
            "repair/tail",
            machine=machine,
            state=_CALLED[memory.state],
            now=_PASSES if ends else now,
            discarded=[(one.text, one.discarded) for one in past[-3:]],
            hypothesis=memory.hypothesis,
            tools=", ".join(offered),
            others=", ".join(spec.name for spec in self.specs if spec.name not in offered),
            last=_last(steps[-1], memory.entries[-1]) if steps else "",
            step=len(steps) + 1,
            steps=self.most,
            budget=_budget(memory, self.most - len(steps)),
        )


def _left_out(entry: Remembered) -> str:
    return f"### {entry.title}: left out here"


def _last(step: Step, entry: Remembered) -> str:
    """Return the last command; what the bug is held to be is told elsewhere."""
    if step.action in (ToolName.HYPOTHESIS, ToolName.DISCARD):
        return f"{step.number}. {step.action}"
    return entry.title


def _budget(memory: Memory, left: int) -> str:
    if memory.plausible:
        return ""
    wanted = max(0, _FIXES - memory.tried)
    if wanted and left <= 3 * wanted + 2:
        more = "more " if memory.tried else ""
        return f"Try {wanted} {more}fix{'es' if wanted > 1 else ''} before the steps are used up."
    return ""
