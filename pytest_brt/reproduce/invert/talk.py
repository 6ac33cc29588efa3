"""A talk in several questions, each by itself; kept as it goes, and taken up where it was left."""

from __future__ import annotations

from dataclasses import replace

from pytest_brt.dialogue.trajectory import Log
from pytest_brt.model.base import Prompt
from pytest_brt.reproduce.asking import Asker
from pytest_brt.types import Cost, Ending, Step, Trajectory, Verdict


class Talk:
    """Asks, and keeps each question's kind, reply and what came of it; not for several threads."""

    def __init__(self, asker: Asker, log: Log) -> None:
        self.asker = asker
        self.steps: list[Step] = []
        self._log = log
        self._known = log.open()

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
            before = self.asker.cost
            reply = self.asker.ask(prompt)[0].text
            cost = _less(self.asker.cost, before)
            step = Step(number=place + 1, reply=reply, action=action, cost=cost)
        self.steps.append(step)
        return step.reply

    def note(self, observation: str, verdict: Verdict | None = None) -> None:
        """Say what came of the last reply, and keep the step."""
        step = replace(self.steps[-1], observation=observation, verdict=verdict)
        self.steps[-1] = step
        if len(self.steps) > len(self._known):
            self._log.add(step)

    def close(self, ending: Ending, reason: str) -> Trajectory:
        """End the talk and return all of it."""
        trajectory = Trajectory(steps=tuple(self.steps), ending=ending, reason=reason)
        self._log.close(trajectory)
        return trajectory

    @property
    def cost(self) -> Cost:
        """What all questions cost, those of an interrupted run as well."""
        return sum((step.cost for step in self.steps), Cost())


def _less(after: Cost, before: Cost) -> Cost:
    return Cost(
        calls=after.calls - before.calls,
        prompt_tokens=after.prompt_tokens - before.prompt_tokens,
        evaluated=after.evaluated - before.evaluated,
        tokens=after.tokens - before.tokens,
        seconds=after.seconds - before.seconds,
    )
