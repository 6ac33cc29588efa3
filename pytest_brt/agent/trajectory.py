"""Keeps the steps of a dialogue as they are taken, so that a killed one loses at most one."""

from __future__ import annotations

from pytest_brt.store import Journal
from pytest_brt.types import Step


class Log:
    """The steps of one dialogue in the journal, for the next run when this one is interrupted."""

    def __init__(self, issue: str, name: str, journal: Journal | None = None) -> None:
        """Keep them under `name`, as in "agent-03", which is unique for the issue with this id."""
        self._names = ("step", issue, name)
        self._journal = journal

    def kept(self) -> tuple[Step, ...]:
        """Return the steps that an interrupted run left."""
        steps: list[Step] = []
        while self._journal is not None:
            step = self._journal.get(Step, *self._names, str(len(steps) + 1))
            if step is None or step.number != len(steps) + 1:
                break
            steps.append(step)
        return tuple(steps)

    def add(self, step: Step) -> None:
        """Keep one more step."""
        if self._journal is not None:
            self._journal.put(step, *self._names, str(step.number))
