"""Continues many sequences at once: a prompt is evaluated once and forked, lanes share a batch.

One `step` evaluates what is pending in each lane and, in the same batch, a chunk of the prompt that
is being read. Answers that end make room at once, prompts join while others run. Nothing is ever
rewound (recurrent models cannot be): what may be needed again stays untouched, and work goes on in
a fork. What begins has room for its longest sample, so that it never has to stop; what is only kept
for prompts to come goes when its room is needed.
"""

from __future__ import annotations

import time
from array import array
from collections import deque
from collections.abc import Callable
from dataclasses import dataclass, field

from pytest_brt.errors import ModelProblem
from pytest_brt.model.base import Completion, Finish, Prompt, TooLong
from pytest_brt.model.worker.llama import NO_ROOM, Context, Sequence, Sequences, common
from pytest_brt.model.worker.sample import Sample
from pytest_brt.model.worker.sampling import Candidates, Sampler
from pytest_brt.model.worker.tokens import Conversations, Rendered
from pytest_brt.types.model import PromptTooLarge

#: Takes the number of a sample and its answer as soon as that has ended, or -1 and why the prompt
#: as a whole failed.
Deliver = Callable[[int, Completion | ModelProblem], None]
#: Prompts that are remembered, and prefixes kept of one on the way, where states cannot be rewound.
_RECENT, _MARKS = 16, 2
#: Tokens that a prefix must have more than what is kept to be kept itself.
_WORTH_KEEPING = 32


@dataclass(slots=True, eq=False)
class Job:
    """A prompt on its way to its answers: it waits, is read, and then answered."""

    prompt: Prompt
    rendered: Rendered
    deliver: Deliver
    samples: list[Sample]
    #: Tokens that one answer has at most.
    room: int
    #: What is evaluated of the prompt, until every answer has a fork of it.
    trunk: Sequence | None = None
    #: Whether it is being read, and whether it has been.
    is_reading: bool = False
    is_read: bool = False
    evaluated: int = 0
    #: Lengths at which its prefix is kept on the way, ascending: a running state cannot be rewound.
    marks: list[int] = field(default_factory=list)
    started: float = field(default_factory=time.monotonic)

    @property
    def ids(self) -> array[int]:
        """The prompt's tokens."""
        return self.rendered.ids

    @property
    def seated(self) -> list[Sample]:
        """The answers that have a place in the batch."""
        return [sample for sample in self.samples if sample.sequence is not None]

    @property
    def unseated(self) -> list[Sample]:
        """Those that wait for one, once the prompt is read."""
        if not self.is_read:
            return []
        waiting = (sample for sample in self.samples if sample.finish is None)
        return [sample for sample in waiting if sample.sequence is None]


@dataclass(frozen=True, slots=True)
class _Turn:
    """Tokens of one batch: of an sample, or without one of the prompt that is being read."""

    job: Job
    sample: Sample | None
    sequence: Sequence
    tokens: list[int]
    #: Whether nothing is pending after them, so that the next token can be drawn.
    last: bool


class Batcher:
    """One context and everything that is being asked of it; belongs to one thread."""

    def __init__(self, context: Context, conversations: Conversations) -> None:
        self.context = context
        self.weights = weights = context.weights
        self.conversations = conversations
        self.longest = min(context.plan.longest, context.cells)
        self.sequences = Sequences(context)
        self.candidates = Candidates(weights)
        #: In the order in which they came.
        self.jobs: list[Job] = []
        #: Prompts of late, to see where others part from them.
        self.recent: deque[array[int]] = deque(maxlen=_RECENT)
        #: Tokens evaluated since the start, for figures.
        self.evaluated = 0

    @property
    def busy(self) -> bool:
        """Whether there is anything to do."""
        return bool(self.jobs)

    def count(self, asked: str | Prompt) -> int:
        """Return how many tokens a text or a prompt has.

        Raises:
            ModelProblem: the template fails.
        """
        if isinstance(asked, str):
            return len(self.weights.tokenize(asked))
        return len(self.conversations.render(asked).ids)

    def submit(self, prompt: Prompt, deliver: Deliver, numbers: tuple[int, ...] = ()) -> None:
        """Ask for the answers to `prompt`; `deliver` is called with them from within `step`.

        `numbers` are those of the samples that are wanted when it is not all of them.

        Raises:
            ModelProblem: it does not fit into the context, or its grammar cannot be used.
        """
        rendered = self.conversations.render(prompt)
        room = prompt.sampling.max_tokens + len(rendered.prefill) + 1
        if rendered.thought is not None:
            thought = rendered.thought
            room += thought.budget + len(thought.force) + len(thought.after)
        if len(rendered.ids) + room > self.longest:
            raise TooLong(
                PromptTooLarge(context=self.longest, prompt=len(rendered.ids), answer=room)
            )
        samples = [self.make_sample(prompt, rendered, n) for n in numbers or range(prompt.samples)]
        self.jobs.append(Job(prompt, rendered, deliver, samples, room))

    def make_sample(self, prompt: Prompt, rendered: Rendered, number: int) -> Sample:
        """Return sample `number`.

        Raises:
            ModelProblem: the grammar cannot be used, or does not allow the prefill.
        """
        seed = prompt.sampling.seed + number
        gbnf = prompt.grammar.gbnf if prompt.grammar else ""
        sampler = Sampler(self.weights, self.candidates, prompt.sampling, seed, gbnf)
        given = self.weights.tokenize(prompt.prefill) if gbnf else []
        if not all(map(sampler.accept, given)):
            raise ModelProblem(f"the grammar does not allow the prefill {prompt.prefill!r}")
        return Sample(number, prompt, rendered, sampler, self.weights, self.conversations.turns)

    def step(self) -> None:
        """Do one round: begin what can begin, then evaluate one batch and draw from it."""
        for job in list(self.jobs):
            if 0 < job.prompt.seconds <= time.monotonic() - job.started:
                self._cut(job)
        self._seat()
        self._begin()
        turns = self._turns()
        if not turns:
            return
        status = self.context.decode(
            [(turn.tokens, len(turn.sequence.ids), turn.sequence.number, turn.last)
             for turn in turns]
        )  # fmt: skip
        if status == NO_ROOM and self.sequences.evict():
            return
        if status:
            said = f"llama.cpp cannot evaluate the prompt ({status}): {self.weights.log.take()}"
            for job in dict.fromkeys(turn.job for turn in turns):
                self._remove(job)
                job.deliver(-1, ModelProblem(said))
            return
        row = -1
        for turn in turns:
            row += len(turn.tokens)
            self.evaluated += len(turn.tokens)
            turn.sequence.ids.extend(turn.tokens)
            if turn.sample is None:
                self._has_read(turn, row)
            else:
                self._go_on(turn, turn.sample, row)

    # -- beginning -------------------------------------------------------------------------

    def _seat(self) -> None:
        """Give the answers that wait a place in the batch, each a fork of its prompt."""
        free = self.context.plan.lanes - sum(len(job.seated) for job in self.jobs)
        for job in self.jobs:
            for sample in job.unseated:
                if not free or not self._fits(job.room):
                    return
                assert job.trunk is not None, "it is kept for those that wait"
                sample.sequence = self.sequences.fork(job.trunk, len(job.ids))
                free -= 1
            self._keep_trunk(job)

    def _begin(self) -> None:
        """Begin to read the next prompt, once all answers to those before it have a place."""
        if any(job.is_reading or job.unseated for job in self.jobs):
            return
        job = next((job for job in self.jobs if not job.is_read), None)
        if job is None or not self._fits(len(job.ids) + job.room):
            return
        job.is_reading = True
        job.trunk = self.sequences.begin(job.ids)
        if self.weights.recurrent:
            job.marks = self._marks(job.rendered, len(job.trunk.ids))

    def _fits(self, more: int) -> bool:
        """Whether there is room for `more` tokens when all that has begun gets its longest."""
        begun = [job for job in self.jobs if job.is_reading or job.is_read]
        taken = sum(len(job.ids) + job.room * len(job.seated) for job in begun)
        return taken + more <= self.context.cells

    def _keep_trunk(self, job: Job) -> None:
        """Keep a prompt for those to come, once all answers have a fork of it."""
        if job.trunk is not None and job.is_read and not job.unseated:
            self.sequences.keep(job.trunk)
            job.trunk = None

    def _marks(self, rendered: Rendered, start: int) -> list[int]:
        """Return where to keep the prefix of a prompt on the way, for those that will share it.

        At the end of its last message, and where it parts from a prompt of late: the next one
        of that kind will part there too.
        """
        ids = rendered.ids
        parted = {common(ids, other) for other in self.recent}
        self.recent.append(ids)
        parted = {n for n in parted if start + _WORTH_KEEPING <= n < len(ids)}
        stable = {rendered.stable} if start < rendered.stable < len(ids) else set()
        return sorted({*sorted(parted)[-_MARKS:], *stable})

    # -- a batch ---------------------------------------------------------------------------

    def _turns(self) -> list[_Turn]:
        """Return what is evaluated next: what is pending in the answers, then of the prompt."""
        room = self.context.plan.batch
        turns = []
        for job, sample in [(one, sample) for one in self.jobs for sample in one.seated]:
            tokens = sample.pending[:room]
            room -= len(tokens)
            if tokens and sample.sequence is not None:
                last = len(tokens) == len(sample.pending)
                turns.append(_Turn(job, sample, sample.sequence, tokens, last))
        for job in self.jobs:
            if job.is_reading and job.trunk is not None and room:
                start = len(job.trunk.ids)
                end = min([start + room, *job.marks[:1]])
                tokens = job.ids[start:end].tolist()
                turns.append(_Turn(job, None, job.trunk, tokens, end >= len(job.ids)))
        return turns

    def _has_read(self, turn: _Turn, row: int) -> None:
        """Keep what is read where a mark stands; at the end draw the first token of each sample."""
        job, trunk = turn.job, turn.sequence
        job.evaluated += len(turn.tokens)
        if job.marks[:1] == [len(trunk.ids)]:
            del job.marks[0]
            self.sequences.keep_copy(trunk)
        if not turn.last:
            return
        job.is_reading, job.is_read = False, True
        for sample in job.samples:
            self._draw(job, sample, row)
        self._keep_trunk(job)

    def _go_on(self, turn: _Turn, sample: Sample, row: int) -> None:
        if not turn.last:
            del sample.pending[: len(turn.tokens)]
            return
        self._draw(turn.job, sample, row)
        if sample.finish is None:
            return
        sample.sequence = None
        if len(turn.job.samples) == 1:  # for the conversation to go on
            self.sequences.keep(turn.sequence)
        else:
            self.sequences.drop(turn.sequence)

    def _draw(self, job: Job, sample: Sample, row: int) -> None:
        """Draw the next token of an sample, and hand it over if that was its last."""
        free = sample.thought is not None
        sample.take(sample.sampler.pick(self.context, row, free=free))
        if sample.finish is not None:
            self._deliver(job, sample)

    # -- ending ----------------------------------------------------------------------------

    def _deliver(self, job: Job, sample: Sample) -> None:
        """Hand an answer over; with the last one its job is done."""
        done = sample.completion(
            prompt_tokens=len(job.ids),
            evaluated=job.evaluated if sample is job.samples[0] else 0,
            seconds=time.monotonic() - job.started,
        )
        self.conversations.learn(job.prompt.messages, done.text, job.ids + array("i", sample.ids))
        job.deliver(sample.number, done)
        if job in self.jobs and all(a.finish is not None for a in job.samples):
            self._keep_trunk(job)
            self.jobs.remove(job)

    def _cut(self, job: Job) -> None:
        """End every answer of `job` as it is."""
        self._remove(job)
        for sample in job.samples:
            if sample.finish is None:
                sample.end(Finish.TIME)
                self._deliver(job, sample)

    def _remove(self, job: Job) -> None:
        """Take `job` out, and free what it holds but for a prompt that is read."""
        self.jobs.remove(job)
        if job.trunk is not None and job.is_read:
            self.sequences.keep(job.trunk)
        elif job.trunk is not None:
            self.sequences.drop(job.trunk)
        job.trunk = None
        for sample in job.seated:
            assert sample.sequence is not None, "it is seated"
            self.sequences.drop(sample.sequence)
            sample.sequence = None
