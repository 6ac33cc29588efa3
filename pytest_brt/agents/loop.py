"""Runs an agent: ask, read the reply, run the tool, show what came of it, until it ends."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import field
from typing import Any

from pytest_brt.agents.prompts import cut, system_and_user
from pytest_brt.agents.reply import Tool, describe, read_reply
from pytest_brt.agents.workspace import Observation, Refused, Workspace
from pytest_brt.errors import BrtError, ModelProblem, OutOfTime, Overflowed, SubjectProblem
from pytest_brt.model.request import Message, Reply, Request, estimate
from pytest_brt.types import Call, Ending, Step, Trajectory
from pytest_brt.types.note import value

#: So many equal steps in vain among so many of the last end a run: a loop can have several steps.
_EQUAL, _AMONG_LAST = 4, 8
#: Tokens of the longest reply, the share of the context that it may have, and characters of an
#: observation for each token of the context.
_LONGEST, _REPLY, _OBSERVATION = 900, 1 / 5, 0.4

#: Returns the messages after some steps, in about so many tokens.
Layout = Callable[["Agent", Any, Sequence[Step], int], tuple[Message, ...]]


def conversation(
    agent: Agent, env: Workspace, steps: Sequence[Step], room: int
) -> tuple[Message, ...]:
    """Return the opening, then each reply and its result; old results go where there is no room.

    The last result is always whole.
    """
    left = room - estimate(env.opening)
    turns: list[Message] = []
    for step in reversed(steps):
        reply, result = Message("assistant", step.reply), Message("user", step.observation)
        left -= estimate((reply, result))
        if turns and left < 0:
            result = Message("user", "[this result is left out]")
        turns = [reply, result, *turns]
    return (*env.opening, *turns)


@value
class Agent:
    """An agent as data, named by the mapping that has it."""

    #: What the prompts are called that begin its dialogue.
    prompt: str
    tools: tuple[Tool, ...]
    steps: int = 25
    temperature: float = 0.0
    #: Runs of it for one report, and whether every other one is given the failing test.
    runs: int = 1
    is_given: bool = False
    #: State → tool → next state; the first state is the start. Empty: every tool, always.
    states: Mapping[str, Mapping[str, str]] = field(default_factory=dict)
    #: Lays out what it has seen; a plain conversation where nothing else is said.
    layout: Layout = conversation
    #: Whether the first result that stands ends a run.
    ends_early: bool = False
    #: Whether it is a paper's: it asks again what an earlier run that ended was answered.
    asks_again: bool = True

    def state(self, steps: Sequence[Step]) -> str:
        """Return the state after some steps, "" without states."""
        state = next(iter(self.states), "")
        for step in steps:
            if step.is_done and state:
                state = self.states[state].get(step.action, state)
        return state

    def offered(self, steps: Sequence[Step]) -> dict[str, Tool]:
        """Return the tools of the state after some steps, by name."""
        tools = {tool.__name__: tool for tool in self.tools}
        names = self.states.get(self.state(steps), tools)
        return {name: tools[name] for name in names if name in tools}

    def opening(self, values: Mapping[str, object]) -> tuple[Message, ...]:
        """Return the messages that a dialogue begins with, of the `values` of its prompts."""
        tools = "\n".join(map(describe, self.tools))
        return system_and_user(self.prompt, **values, tools=tools, steps=self.steps)


def run_agent(agent: Agent, env: Workspace, opening: Sequence[Message]) -> Trajectory:
    """Run one dialogue; whatever the model writes is answered.

    Raises:
        ModelProblem: the model could not be asked even once.
        SubjectProblem: the project's interpreter cannot be started.
    """
    env.opening = tuple(opening)
    ending, reason = Ending.STEPS, ""
    while len(env.steps) < agent.steps:
        try:
            is_over = _take_step(agent, env)
        except ModelProblem as problem:
            kinds = {Overflowed: Ending.TOKENS, OutOfTime: Ending.TIME}
            ending, reason = kinds.get(type(problem), Ending.ERROR), str(problem)
            if ending is not Ending.TOKENS and not env.steps:
                raise
            break
        env.say(f"step {len(env.steps)} of {agent.steps}: {env.steps[-1].action}")
        if is_over or is_loop(env.steps):
            ending = Ending.FINISH if is_over else Ending.LOOP
            break
    return Trajectory(steps=tuple(env.steps), ending=ending, reason=reason)


def is_loop(steps: Sequence[Step]) -> bool:
    """Return whether the last step was in vain, and taken too often of late."""
    vain = [step.call or step.reply for step in steps[-_AMONG_LAST:] if not step.is_done]
    return not steps[-1].is_done and vain.count(vain[-1]) >= _EQUAL


def _take_step(agent: Agent, env: Workspace) -> bool:
    """Ask for a step and carry it out; what is wrong with it is answered. Say if it is the last."""
    reply = _ask(agent, env)
    # Waiting for models is not meant.
    begin = time.monotonic() - env.model.usage.cost.seconds
    call, thought, is_done = None, "", False
    try:
        offered = agent.offered(env.steps)
        call, thought = read_reply(reply.text, offered, is_cut=reply.is_cut)
        _refuse_repeat(call, env.steps)
        code = {"code": call.code} if call.code else {}
        done = offered[call.action](env, **dict(call.arguments), **code)
        seen, is_done = done if isinstance(done, Observation) else Observation(done), True
    except (SubjectProblem, ModelProblem):
        raise
    except Refused as refused:
        seen = Observation(str(refused))
    except BrtError as problem:
        seen = Observation(f"This did not work: {problem}")
    step = Step(
        number=len(env.steps) + 1,
        reply=reply.text,
        observation=cut(seen.text, int(env.model.context * _OBSERVATION)),
        call=call,
        thought=thought,
        is_done=is_done,
        changes=seen.changes,
        verdict=seen.verdict,
        diffs=seen.diffs,
        seconds=time.monotonic() - env.model.usage.cost.seconds - begin,
    )
    env.steps.append(step)
    return seen.is_over


def _refuse_repeat(call: Call, steps: Sequence[Step]) -> None:
    """Raise Refused for a call that was made before, with nothing changed or run since."""
    for step in reversed(steps):
        if step.call == call:
            raise Refused(
                f"You did exactly this in step {step.number}, and nothing has changed since. Do "
                "something else."
            )
        if step.changes or step.verdict:
            return


def _ask(agent: Agent, env: Workspace) -> Reply:
    """Return the reply to what an agent has seen."""
    longest = max(16, min(_LONGEST, int(env.model.context * _REPLY)))
    request = Request(
        messages=agent.layout(agent, env, env.steps, env.model.context - longest),
        temperature=agent.temperature,
        seed=env.next_seed(),
        max_tokens=longest,
    )
    return env.model.complete(request)[0]
