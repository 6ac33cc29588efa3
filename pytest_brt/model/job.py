"""A prompt on its way to its answers, and how one is made ready."""

from __future__ import annotations

import time
from array import array
from collections.abc import Callable
from dataclasses import dataclass, field

from pytest_brt.errors import ModelProblem
from pytest_brt.model.base import Completion, Prompt
from pytest_brt.model.conversation import Conversations, Rendered
from pytest_brt.model.lane import Lane, Manners
from pytest_brt.model.picker import Candidates, Picker
from pytest_brt.model.sequences import Sequence

Deliver = Callable[[tuple[Completion, ...] | ModelProblem], None]
#: Takes the number of a sample and its answer, as soon as that has ended.
Each = Callable[[int, Completion], None]


def _nobody(_number: int, _done: Completion) -> None:
    """Leave the answer to the delivery of all."""


@dataclass(slots=True, eq=False)
class Job:
    """A prompt on its way to its answers."""

    key: int
    prompt: Prompt
    rendered: Rendered
    deliver: Deliver
    each: Each
    lanes: list[Lane]
    #: Most tokens one lane can add.
    room: int
    #: The evaluated prompt; lanes are forks of it.
    trunk: Sequence | None = None
    evaluated: int = 0
    #: Lengths at which its prefix is kept on the way, ascending: a running state cannot be rewound.
    marks: list[int] = field(default_factory=list)
    waiting: list[Lane] = field(default_factory=list)
    seated: int = 0
    started: float = field(default_factory=time.monotonic)

    @property
    def ids(self) -> array[int]:
        """The prompt's tokens."""
        return self.rendered.ids

    @property
    def left(self) -> int:
        """Tokens of the prompt that are still to be evaluated."""
        return len(self.ids) - (len(self.trunk.ids) if self.trunk else 0)

    @property
    def late(self) -> bool:
        """Whether its time is over."""
        return 0 < self.prompt.seconds <= time.monotonic() - self.started


class Workshop:
    """Makes jobs and their lanes for one model, and hands their answers over."""

    def __init__(self, conversations: Conversations, longest: int) -> None:
        """Refuse conversations of more than `longest` tokens."""
        self.conversations = conversations
        self.weights = weights = conversations.weights
        self.longest = longest
        self.candidates = Candidates(weights)
        self.manners = Manners(
            ends=weights.ends,
            control=weights.control,
            turns=conversations.turns,
            piece=weights.piece,
        )

    def job(
        self,
        key: int,
        prompt: Prompt,
        deliver: Deliver,
        each: Each = _nobody,
        numbers: tuple[int, ...] = (),
    ) -> Job:
        """Return the job for `prompt`, or for the samples of it that `numbers` names.

        Raises:
            ModelProblem: it does not fit into the context, or its grammar cannot be used.
        """
        rendered = self.conversations.render(prompt)
        room = prompt.sampling.max_tokens + len(rendered.prefill) + 1
        if rendered.thought is not None:
            thought = rendered.thought
            room += thought.budget + len(thought.force) + len(thought.after)
        if len(rendered.ids) + room > self.longest:
            raise ModelProblem(
                f"the prompt has {len(rendered.ids)} tokens and its answer may have {room}: more "
                f"than the context of {self.longest} (a larger one: --brt-context N)"
            )
        return Job(
            key=key,
            prompt=prompt,
            rendered=rendered,
            deliver=deliver,
            each=each,
            lanes=[
                self._lane(prompt, rendered, number) for number in numbers or range(prompt.samples)
            ],
            room=room,
        )

    def _lane(self, prompt: Prompt, rendered: Rendered, number: int) -> Lane:
        seed = prompt.sampling.seed + number
        gbnf = prompt.grammar.gbnf if prompt.grammar else ""
        picker = Picker(self.weights, self.candidates, prompt.sampling, seed, gbnf)
        given = self.weights.tokenize(prompt.prefill) if gbnf else []
        if not all(picker.force(token) for token in given):
            picker.close()
            raise ModelProblem(f"the grammar does not allow the prefill {prompt.prefill!r}")
        return Lane(
            number=number,
            seed=seed,
            prompt=prompt,
            picker=picker,
            manners=self.manners,
            thought=rendered.thought,
            prefill=rendered.prefill,
        )

    def finish(self, job: Job) -> None:
        """Hand over the answers that have ended; deliver all of them once the last one has."""
        for lane in job.lanes:
            if lane.finish is None or lane.done is not None:
                continue
            lane.done = done = lane.completion(
                prompt_tokens=len(job.ids), evaluated=job.evaluated if lane is job.lanes[0] else 0
            )
            ids = job.ids[:]
            ids.extend(lane.ids)
            self.conversations.learn(job.prompt.messages, done.text, ids)
            lane.picker.close()
            job.each(lane.number, done)
        answers = [lane.done for lane in job.lanes if lane.done is not None]
        if len(answers) == len(job.lanes):
            job.deliver(tuple(answers))

    def fail(self, job: Job, problem: ModelProblem) -> None:
        """Deliver the problem in place of answers."""
        for lane in job.lanes:
            lane.picker.close()
        job.deliver(problem)
