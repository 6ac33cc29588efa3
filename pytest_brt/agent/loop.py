"""Carries a dialogue out: ask, read the action, do it, show what came of it, until it ends.

It ends when a tool says so, by its limits, or when it goes round in circles.
"""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, field, replace

from pytest_brt.agent.action import (
    Action,
    ActionSpec,
    Outcome,
    Tool,
    changed_files,
    grammar_of,
    refused,
)
from pytest_brt.agent.history import Counter, cut, without_repeats
from pytest_brt.agent.parse import Refused, read_action
from pytest_brt.agent.paths import Paths
from pytest_brt.agent.trajectory import Log
from pytest_brt.errors import BrtError, ModelProblem, Overflowed, SubjectProblem
from pytest_brt.model.base import Completion, Finish, Message, Model, Prompt, Sampling
from pytest_brt.model.metered import cost_of
from pytest_brt.types import Ending, Step, Trajectory

#: Steps so far → the messages to send.
Messages = Callable[[Sequence[Step]], tuple[Message, ...]]
#: Steps so far → the names of the actions that are allowed next.
Allowed = Callable[[Sequence[Step]], Collection[str]]
#: A second sample of a step must not be drawn with the seed of another step's first one.
_SEEDS = 1000
#: Facts of a step that was refused as a repeat, and of the one that ended the dialogue.
REPEAT, DONE = "repeat", "done"


@dataclass(frozen=True, slots=True, kw_only=True)
class Budget:
    """What a dialogue may use up."""

    #: Turns of the model, those that came to nothing included.
    steps: int
    #: When it must be over, as `time.monotonic` counts.
    deadline: float = math.inf

    def spent(self, steps: Sequence[Step]) -> Ending | None:
        """Say which limit is reached after `steps`; None when another one may be taken."""
        if len(steps) >= self.steps:
            return Ending.STEPS
        if time.monotonic() >= self.deadline:
            return Ending.TIME
        return None

    def seconds(self) -> float:
        """Return the seconds that are left for one answer; 0 when there is no limit."""
        if math.isinf(self.deadline):
            return 0.0
        return max(0.1, self.deadline - time.monotonic())


@dataclass(frozen=True, slots=True, kw_only=True)
class Loop:
    """Everything that a dialogue needs; `converse` carries it out."""

    model: Model
    tools: Mapping[str, Tool]
    #: What the model is sent; `history.conversation` is the plain way to make it.
    messages: Messages
    budget: Budget
    #: Files that paths are looked up in; files made by steps are added.
    paths: Paths
    #: Its seed is the first step's; `max_tokens` bounds each reply.
    sampling: Sampling = field(default_factory=Sampling)
    #: All of them when None.
    allowed: Allowed | None = None
    #: Most tokens of one observation.
    observation: int = 1500
    #: For records, as in "agent".
    purpose: str = ""
    #: Told of each step in a few words.
    say: Callable[[str], None] = lambda _: None
    #: Makes it anew for a model that turned out to have less context; None where nothing can.
    again: Callable[[], Loop] | None = None

    def specs(self, steps: Sequence[Step]) -> dict[str, ActionSpec]:
        """Return the actions that are allowed after `steps`, in the order of the tools."""
        allowed = self.tools if self.allowed is None else self.allowed(steps)
        return {name: tool.spec for name, tool in self.tools.items() if name in allowed}


def room(model: Model, sampling: Sampling) -> int:
    """Return the most tokens that a prompt may have so that a whole reply fits after it."""
    return model.context - sampling.max_tokens


def converse(loop: Loop, log: Log | None = None) -> Trajectory:
    """Carry `loop` out, from where `log` says that it was interrupted.

    Whatever the model writes, the dialogue goes on: what cannot be carried out is answered. It
    ends when a tool says so, or by a limit; a model that fails later than at the first step
    ends it too, with the steps that were taken.

    Raises:
        ModelProblem: the model could not be asked even once.
        SubjectProblem: the project's interpreter cannot be started.
        StoreProblem: `log` cannot be written.
    """
    steps = list(log.open()) if log else []
    counter = Counter(loop.model)
    ended: tuple[Ending, str] | None = _over(loop, steps)
    is_refused = False
    while ended is None:
        context = loop.model.context
        try:
            if is_refused and loop.again is not None:
                loop, is_refused = loop.again(), False
            step = _step(loop, steps, counter)
        except Overflowed as problem:
            is_refused = loop.again is not None and loop.model.context < context
            if is_refused:
                continue
            ended = (Ending.TOKENS, str(problem))
            break
        except ModelProblem as problem:
            if not steps:
                raise
            ended = (Ending.ERROR, str(problem))
            break
        if step is None:
            ended = (Ending.TOKENS, _too_long(loop.model, steps))
            break
        steps.append(step)
        if log:
            log.add(step)
        loop.say(_told(step, loop.budget.steps))
        ended = _over(loop, steps)
    trajectory = Trajectory(steps=tuple(steps), ending=ended[0], reason=ended[1])
    if log:
        log.close(trajectory)
    return trajectory


def _too_long(model: Model, steps: Sequence[Step]) -> str:
    """Return why the next prompt is not sent."""
    what = "the conversation" if steps else "the first prompt"
    room = f"the model's context of {model.context} tokens"
    return f"{what} does not fit {room} (--brt-engine auto,context=N)"


def _over(loop: Loop, steps: Sequence[Step]) -> tuple[Ending, str] | None:
    if steps and steps[-1].fact(DONE):
        return Ending.FINISH, ""
    times = rounds(steps)
    if times:
        return Ending.LOOP, f"the same action {times} times"
    spent = loop.budget.spent(steps)
    return None if spent is None else (spent, "")


def _step(loop: Loop, steps: Sequence[Step], counter: Counter) -> Step | None:
    """Take one step; None when the prompt does not fit."""
    messages = loop.messages(steps)
    if counter.of(messages) > room(loop.model, loop.sampling):
        return None
    specs = loop.specs(steps)
    completion = _ask(loop, messages, specs, len(steps))
    begin = time.monotonic()
    paths = loop.paths.also(changed_files(steps))
    read = read_action(
        completion.text, specs, paths=paths, cut=completion.finish is not Finish.STOP
    )
    if isinstance(read, Refused):
        action = Action(name=read.action, thought=read.thought)
        outcome = refused(read.text)
    else:
        action = read
        outcome = _carry_out(loop, action, steps, specs)
    note = f"({'; '.join(action.mended)})\n" if action.mended else ""
    shown = note + cut(without_repeats(outcome.observation), loop.observation, counter)
    return Step(
        number=len(steps) + 1,
        reply=completion.text,
        action=action.name,
        arguments=action.arguments,
        thought=action.thought,
        observation=shown,
        problem=outcome.problem,
        mended=action.mended,
        changes=outcome.changes,
        verdict=outcome.verdict,
        facts=outcome.facts + (((DONE, "yes"),) if outcome.done else ()),
        key="" if isinstance(read, Refused) else action.key,
        cost=cost_of([completion]) + outcome.cost,
        seconds=time.monotonic() - begin - outcome.cost.seconds,
    )


def _ask(
    loop: Loop, messages: tuple[Message, ...], specs: Mapping[str, ActionSpec], number: int
) -> Completion:
    prompt = Prompt(
        messages=messages,
        sampling=replace(loop.sampling, seed=loop.sampling.seed + _SEEDS * number),
        grammar=grammar_of(tuple(specs.values())),
        weighty=any(spec.weighty for spec in specs.values()),
        seconds=loop.budget.seconds(),
        purpose=loop.purpose,
    )
    return loop.model.complete(prompt)[0]


def _carry_out(
    loop: Loop, action: Action, steps: Sequence[Step], specs: Mapping[str, ActionSpec]
) -> Outcome:
    again = steps[-1:] if specs[action.name].repeatable else steps
    repeat = why_repeat(action, again, tuple(specs))
    if repeat:
        return replace(refused(repeat), facts=((REPEAT, "yes"),))
    try:
        return loop.tools[action.name].run(action, steps)
    except (SubjectProblem, ModelProblem):
        raise
    except BrtError as problem:
        return refused(f"This did not work: {problem}")


def _told(step: Step, most: int) -> str:
    """Return a step in a few words, as in "step 3 of 25: test tests/test_a.py: FAIL"."""
    what = " ".join([step.action or "no action", *(v for _, v in step.arguments[:1])])
    refused = f"refused: {' '.join(step.problem.split())[:60]}" if step.problem else ""
    came = step.verdict or refused
    line = f"step {step.number} of {most}: {what[:60]}" + (f": {came}" if came else "")
    return " ".join(line.split())


#: Of so many last steps as many as that may not be equal: a loop need not be one step long.
_LAST, _EQUAL = 8, 4


def why_repeat(action: Action, steps: Sequence[Step], allowed: Collection[str]) -> str:
    """Return what to tell a model whose action was done before and cannot do anything new, or "".

    The same action is no repeat if files were changed since: running a test again after an edit
    is right. The second repeat in a row is told in other words than the first.
    """
    earlier = _same(action.key, steps)
    if earlier is None:
        return ""
    if not steps[-1].fact(REPEAT):
        seen = " ".join(earlier.observation.split())[:160]
        return (
            f"You did exactly this in step {earlier.number}, and nothing has changed since. "
            f"It said: {seen} Do something else."
        )
    others = [name for name in allowed if name != action.name]
    return (
        f"Again the same as step {earlier.number}. Your next action must be totally different "
        f"from {action.name}: take {' or '.join(others) or 'other arguments'}."
    )


def rounds(steps: Sequence[Step]) -> int:
    """Return how often the last step was done among the last eight, if it is time to end for that.

    A step counts when it was refused, or when nothing has been changed since.
    """
    count, changed = 0, False
    for step in reversed(steps[-_LAST:]):
        same = (step.key or step.reply) == (steps[-1].key or steps[-1].reply)
        count += same and bool(step.problem or not changed)
        changed |= bool(step.changes)
    return count if count >= _EQUAL else 0


def _same(key: str, steps: Sequence[Step]) -> Step | None:
    """Return the step since the last change that did the same, None when there is none."""
    for step in reversed(steps):
        if step.key == key and not step.fact(REPEAT):
            # An edit that changed something is not to be done twice either.
            return step
        if step.changes:
            return None
    return None
