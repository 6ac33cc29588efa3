"""Runs an agent: ask, read the action, carry it out, show what came of it, until it ends.

It ends when an action says so, by its limits, or when it goes round in circles.
"""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Protocol

from pytest_brt.agent.action import Action, Refusal, grammar_of
from pytest_brt.agent.excerpt import Room, cut, without_repeats
from pytest_brt.agent.memory import Counter, summary
from pytest_brt.agent.reply import Unread, read_reply
from pytest_brt.agent.trajectory import Log
from pytest_brt.agent.tree import Tree
from pytest_brt.errors import BrtError, ModelProblem, Overflowed, SubjectProblem
from pytest_brt.model.base import Completion, Message, Model, Prompt, Sampling
from pytest_brt.model.metered import Meter, MeteredModel
from pytest_brt.types import (
    Call,
    Done,
    Ending,
    Finished,
    NotDone,
    Repeated,
    Step,
    Trajectory,
    Unreadable,
)

#: A second sample of a step must not be drawn with the seed of another step's first one.
_SEEDS = 1000
#: So many equal steps among so many of the last end a run: a loop need not be one step long.
_EQUAL, _AMONG_LAST = 4, 8
#: Shares of the context that a reply, and an observation, may have.
_REPLY, _OBSERVATION = 1 / 5, 1 / 7
#: Tokens below which a reply, or an observation, is of no use.
_LEAST_REPLY, _LEAST_OBSERVATION = 16, 60


class Agent(Protocol):
    """What one agent is: its actions, its states and its prompts."""

    @property
    def actions(self) -> Mapping[str, Action]:
        """All that it can do, by name."""
        ...

    def allowed(self, steps: Sequence[Step]) -> Collection[str]:
        """Return the names of the actions that the state after `steps` has."""
        ...

    def messages(self, steps: Sequence[Step], room: int, count: Counter) -> Sequence[Message]:
        """Return what the model is sent after `steps`, in `room` tokens where that can be had.

        Raises:
            Overflowed: not even the beginning fits.
        """
        ...


@dataclass(frozen=True, kw_only=True)
class Session:
    """What a run has at hand, whichever agent it is of."""

    model: Model
    #: Writes code when another model decides.
    editor: Model
    #: The project's files as they are before the first step.
    tree: Tree
    log: Log
    #: How the model that decides is asked; its seed is the first step's.
    sampling: Sampling
    #: Turns of the model, those that came to nothing included.
    max_steps: int
    #: For records, as in "agent".
    purpose: str
    #: Most tokens of one observation, where the context has room for it.
    observation: int = 1500
    #: When it must be over, as `time.monotonic` counts.
    deadline: float = math.inf
    #: Told of each step in a few words.
    say: Callable[[str], None] = lambda _: None
    meter: Meter = field(default_factory=Meter)

    @cached_property
    def count(self) -> Counter:
        """Counts tokens as the model does."""
        return Counter(self.model)

    @property
    def longest_reply(self) -> int:
        """Tokens of one reply."""
        wanted = min(self.sampling.max_tokens, int(self.model.context * _REPLY))
        return max(_LEAST_REPLY, wanted)

    @property
    def room(self) -> int:
        """Most tokens of a prompt, so that a whole reply fits after it."""
        return self.model.context - self.longest_reply

    @property
    def longest_observation(self) -> int:
        """Tokens of one observation."""
        wanted = min(self.observation, int(self.model.context * _OBSERVATION))
        return max(_LEAST_OBSERVATION, wanted)

    def seconds(self) -> float:
        """Return the seconds that are left for one answer; 0 when there is no limit."""
        if math.isinf(self.deadline):
            return 0.0
        return max(0.1, self.deadline - time.monotonic())

    def metered(self) -> Session:
        """Return it with models whose answers are added up in a meter of its own."""
        meter = Meter()
        model, editor = (MeteredModel(one, meter) for one in (self.model, self.editor))
        return replace(self, model=model, editor=editor, meter=meter)


@dataclass(frozen=True, slots=True, kw_only=True)
class Turn:
    """The moment in which an action is carried out."""

    session: Session
    steps: tuple[Step, ...]
    #: The files as the steps so far left them.
    tree: Tree

    @property
    def seed(self) -> int:
        """For models that the action asks: another one in each turn."""
        return (self.session.sampling.seed + _SEEDS * len(self.steps) + _SEEDS // 2) % 2**31

    @property
    def room(self) -> Room:
        """What the observation can hold."""
        return Room(most=self.session.longest_observation, count=self.session.count)


def run_agent(agent: Agent, session: Session) -> Trajectory:
    """Run `agent` from where an interrupted run of it stopped.

    Whatever the model writes, the run goes on: what cannot be carried out is answered. A prompt
    that does not fit ends it, and so does a model that fails later than at the first step.

    Raises:
        ModelProblem: the model could not be asked even once.
        SubjectProblem: the project's interpreter cannot be started.
    """
    session = session.metered()
    steps = list(session.log.kept())
    ended = _end(steps, session)
    while ended is None:
        taken = _try_step(agent, steps, session)
        if isinstance(taken, tuple):
            ended = taken
            break
        steps.append(taken)
        session.log.add(taken)
        session.say(f"step {taken.number} of {session.max_steps}: {summary(taken, 1)}")
        ended = _end(steps, session)
    return Trajectory(steps=tuple(steps), ending=ended[0], reason=ended[1])


def _try_step(agent: Agent, steps: Sequence[Step], session: Session) -> Step | tuple[Ending, str]:
    """Take one step, or say why there is none."""
    while True:
        context = session.model.context
        try:
            return _take_step(agent, steps, session)
        except Overflowed as problem:
            # A server's refusal may have told how much it holds: then all is made for that.
            if session.model.context >= context:
                return Ending.TOKENS, str(problem)
        except ModelProblem as problem:
            if not steps:
                raise
            return Ending.ERROR, str(problem)


def _end(steps: Sequence[Step], session: Session) -> tuple[Ending, str] | None:
    if steps and any(isinstance(effect, Finished) for effect in steps[-1].effects):
        return Ending.FINISH, ""
    if is_loop(steps):
        return Ending.LOOP, f"the same action {_EQUAL} times"
    if len(steps) >= session.max_steps:
        return Ending.STEPS, ""
    if time.monotonic() >= session.deadline:
        return Ending.TIME, ""
    return None


def _take_step(agent: Agent, steps: Sequence[Step], session: Session) -> Step:
    spent = session.meter.cost
    allowed = {name: agent.actions[name] for name in agent.allowed(steps)}
    reply = _ask(agent, steps, allowed, session)
    begin, asked = time.monotonic(), session.meter.cost
    tree = session.tree.after(steps)
    read = read_reply(reply.text, allowed, paths=tree.paths, cut=reply.is_cut)
    step = Step(number=len(steps) + 1, reply=reply.text, thought=read.thought)
    if isinstance(read, Unread):
        step = replace(step, result=Unreadable(action=read.action), observation=read.why)
    else:
        turn = Turn(session=session, steps=tuple(steps), tree=tree)
        result, told = _carry_out(allowed[read.call.action], read.call, turn)
        note = f"({'; '.join(read.corrections)})\n" if read.corrections else ""
        shown = cut(without_repeats(told), session.longest_observation, session.count)
        step = replace(
            step,
            call=read.call,
            corrections=read.corrections,
            result=result,
            observation=note + shown,
        )
    inner = session.meter.cost - asked
    seconds = max(0.0, time.monotonic() - begin - inner.seconds)
    return replace(step, cost=session.meter.cost - spent, seconds=seconds)


def _ask(
    agent: Agent, steps: Sequence[Step], allowed: Mapping[str, Action], session: Session
) -> Completion:
    messages = tuple(agent.messages(steps, session.room, session.count))
    if session.count.of(messages) > session.room:
        what = "the conversation" if steps else "the first prompt"
        raise Overflowed(
            f"{what} does not fit the model's context of {session.model.context} tokens "
            "(--brt-engine auto,context=N)"
        )
    sampling = replace(
        session.sampling,
        seed=session.sampling.seed + _SEEDS * len(steps),
        max_tokens=session.longest_reply,
    )
    prompt = Prompt(
        messages=messages,
        sampling=sampling,
        grammar=grammar_of(allowed),
        weighty=any(action.deserves_thought for action in allowed.values()),
        seconds=session.seconds(),
        purpose=session.purpose,
    )
    return session.model.complete(prompt)[0]


def _carry_out(action: Action, call: Call, turn: Turn) -> tuple[Done | NotDone | Repeated, str]:
    """Return what came of a call, and what the model is told of it."""
    earlier = repeated_step(call, turn.steps, action)
    if earlier is not None:
        return Repeated(step=earlier.number), _tell_repeat(call, earlier, turn.steps)
    try:
        outcome = action.run(turn, **action.typed(call))
    except (SubjectProblem, ModelProblem):
        raise
    except Refusal as refusal:
        return NotDone(), str(refusal)
    except BrtError as problem:
        return NotDone(), f"This did not work: {problem}"
    return Done(changes=outcome.changes, effects=outcome.effects), outcome.observation


def repeated_step(call: Call, steps: Sequence[Step], action: Action) -> Step | None:
    """Return the step that did the same with nothing changed since, None without one.

    An edit that changed something is not to be done twice either; a repeatable action is compared
    with the last step only, unless that was refused: it may ask to be sure.
    """
    compared = [step for step in steps[-1:] if step.is_done] if action.repeatable else steps
    for step in reversed(compared):
        if step.call == call and not isinstance(step.result, Repeated):
            return step
        if step.changes:
            return None
    return None


def is_loop(steps: Sequence[Step]) -> bool:
    """Return whether the last step was taken too often of late, in vain or for nothing new."""
    equal, changed = 0, False
    for step in reversed(steps[-_AMONG_LAST:]):
        same = step.call == steps[-1].call if step.call else step.reply == steps[-1].reply
        equal += same and not (step.is_done and changed)
        changed = changed or bool(step.changes)
    return equal >= _EQUAL


def _tell_repeat(call: Call, earlier: Step, steps: Sequence[Step]) -> str:
    """Return what a model is told that repeats a step; in other words the second time in a row."""
    if isinstance(steps[-1].result, Repeated):
        return (
            f"Again the same as step {earlier.number}. Your next action must be totally different "
            f"from {call.action}."
        )
    seen = " ".join(earlier.observation.split())[:160]
    return (
        f"You did exactly this in step {earlier.number}, and nothing has changed since. "
        f"It said: {seen} Do something else."
    )
