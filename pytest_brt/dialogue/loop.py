"""Carries a dialogue out: ask, read the action, do it, show what came of it, until it ends."""

from __future__ import annotations

import time
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, field, replace

from pytest_brt.dialogue.action import (
    Action,
    ActionSpec,
    Outcome,
    Tool,
    changed_files,
    grammar_of,
    refused,
)
from pytest_brt.dialogue.budget import REPEAT, Budget, Counter, rounds, why_repeat
from pytest_brt.dialogue.history import cut, without_repeats
from pytest_brt.dialogue.parse import Refused, read_action
from pytest_brt.dialogue.paths import Paths
from pytest_brt.dialogue.trajectory import Log
from pytest_brt.errors import BrtError, ModelProblem, SubjectProblem
from pytest_brt.model.base import Completion, Finish, Message, Model, Prompt, Sampling
from pytest_brt.model.metered import cost_of
from pytest_brt.types import Ending, Step, Trajectory

#: Steps so far → the messages to send.
Messages = Callable[[Sequence[Step]], tuple[Message, ...]]
#: Steps so far → the names of the actions that are allowed next.
Allowed = Callable[[Sequence[Step]], Collection[str]]
#: A second sample of a step must not be drawn with the seed of another step's first one.
_SEEDS = 1000


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
    while ended is None:
        try:
            step, done = _step(loop, steps, counter)
        except ModelProblem as problem:
            if not steps:
                raise
            ended = (Ending.ERROR, str(problem))
            break
        if step is None:
            ended = (Ending.TOKENS, "the conversation does not fit the model's context any more")
            break
        steps.append(step)
        if log:
            log.add(step)
        loop.say(_told(step, loop.budget.steps))
        ended = (Ending.FINISH, "") if done else _over(loop, steps)
    trajectory = Trajectory(steps=tuple(steps), ending=ended[0], reason=ended[1])
    if log:
        log.close(trajectory)
    return trajectory


#: Fact of the step that ended the dialogue.
DONE = "done"


def _over(loop: Loop, steps: Sequence[Step]) -> tuple[Ending, str] | None:
    if steps and steps[-1].fact(DONE):
        return Ending.FINISH, ""
    times = rounds(steps)
    if times:
        return Ending.LOOP, f"the same action {times} times"
    spent = loop.budget.spent(steps)
    return None if spent is None else (spent, "")


def _step(loop: Loop, steps: Sequence[Step], counter: Counter) -> tuple[Step | None, bool]:
    """Take one step; None when the prompt does not fit."""
    messages = loop.messages(steps)
    if counter.of(messages) > room(loop.model, loop.sampling):
        return None, False
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
    shown = _shown(outcome.observation, action.mended, loop.observation, counter)
    step = Step(
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
    return step, outcome.done


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


def _shown(text: str, mended: tuple[str, ...], most: int, counter: Counter) -> str:
    note = f"({'; '.join(mended)})\n" if mended else ""
    return note + cut(without_repeats(text), most, counter)


def _told(step: Step, most: int) -> str:
    """Return a step in a few words, as in "step 3 of 25: test tests/test_a.py: FAIL"."""
    what = " ".join([step.action or "no action", *(v for _, v in step.arguments[:1])])
    refused = f"refused: {' '.join(step.problem.split())[:60]}" if step.problem else ""
    came = step.verdict or refused
    line = f"step {step.number} of {most}: {what[:60]}" + (f": {came}" if came else "")
    return " ".join(line.split())
