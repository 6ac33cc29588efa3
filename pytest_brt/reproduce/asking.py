"""How strategies ask a model: seeds, room for answers, and talks.

A talk is several questions, each by itself, kept as it goes and taken up where it was left.
"""

from __future__ import annotations

from dataclasses import replace

from pytest_brt.agent.trajectory import Log
from pytest_brt.codec import content_id
from pytest_brt.model.base import Model, Prompt
from pytest_brt.model.metered import cost_of
from pytest_brt.types import Call, Done, Ending, Step, TestsRan, Trajectory, Verdict

#: Begins an answer that is one block of code.
PREFILL = "```python\n"
#: Ends it: the fence on a line of its own. One with a language begins a block, where a model
#: that cannot be begun for talks first.
STOP = ("\n```\n",)


def seed_of(*parts: object) -> int:
    """Return a seed that depends on `parts` only: the issue, the strategy, the run.

    >>> seed_of("issue", 0) == seed_of("issue", 0)
    True
    """
    return int(content_id(*(str(part) for part in parts)), 16) % 2**31


def answer_room(model: Model, wanted: int) -> int:
    """Return how long an answer may be: `wanted` tokens, of a small context a quarter."""
    return max(16, min(wanted, model.context // 4))


class Talk:
    """Asks, and keeps each question's kind, reply and what came of it; not for several threads."""

    def __init__(self, model: Model, log: Log) -> None:
        self._model = model
        self.steps: list[Step] = []
        self._log = log
        self._known = log.kept()

    def ask(self, action: str, prompt: Prompt) -> str:
        """Return the reply to `prompt`; of a talk that was interrupted, the one it had.

        Raises:
            ModelProblem: the model cannot be asked.
        """
        place = len(self.steps)
        if place < len(self._known) and self._known[place].action == action:
            step = self._known[place]
        else:
            # What follows was said to something else.
            self._known = self._known[:place]
            (answer,) = self._model.complete(prompt)
            cost = cost_of([answer])
            call = Call(action=action)
            step = Step(number=place + 1, reply=answer.text, call=call, cost=cost)
        self.steps.append(step)
        return step.reply

    def note(self, observation: str, verdict: Verdict | None = None) -> None:
        """Say what came of the last reply, and keep the step."""
        ran = (TestsRan(path="", verdict=verdict),) if verdict is not None else ()
        step = replace(self.steps[-1], observation=observation, result=Done(effects=ran))
        self.steps[-1] = step
        if len(self.steps) > len(self._known):
            self._log.add(step)

    def close(self, ending: Ending, reason: str) -> Trajectory:
        """End the talk and return all of it."""
        return Trajectory(steps=tuple(self.steps), ending=ending, reason=reason)
