"""Continues many sequences at once: a prompt is evaluated once and forked, lanes share a batch.

One `step` evaluates what is pending in each lane and, in the same batch, a chunk of the prompt that
is being read. Answers that end make room at once, prompts join while others run. Nothing is ever
rewound (recurrent models cannot be): what may be needed again stays untouched, and work goes on in
a fork. What begins has room for its longest answer, so that it never has to stop; what is only kept
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
from pytest_brt.model.worker.answer import Lane
from pytest_brt.model.worker.llama import NO_ROOM, Context, Sequence, Sequences, common
from pytest_brt.model.worker.sampling import Candidates, Picker
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
class BatchJob:
    """A prompt on its way to its answers."""

    prompt: Prompt
    rendered: Rendered
    deliver: Deliver
    lanes: list[Lane]
    #: Tokens that one answer has at most.
    room: int
    #: What is evaluated of the prompt, until every lane has a fork of it.
    trunk: Sequence | None = None
    evaluated: int = 0
    #: Lengths at which its prefix is kept on the way, ascending: a running state cannot be rewound.
    marks: list[int] = field(default_factory=list)
    started: float = field(default_factory=time.monotonic)

    @property
    def ids(self) -> array[int]:
        """The prompt's tokens."""
        return self.rendered.ids


@dataclass(frozen=True, slots=True)
class _Turn:
    """Tokens of one batch: of a lane, or without one of the prompt that is being read."""

    job: BatchJob
    lane: Lane | None
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
        self.queue: deque[BatchJob] = deque()
        #: The job whose prompt is being evaluated.
        self.reading: BatchJob | None = None
        #: Lanes that have no place in the batch yet, and those that have.
        self.waiting: deque[tuple[BatchJob, Lane]] = deque()
        self.seated: list[tuple[BatchJob, Lane]] = []
        #: Prompts of late, to see where others part from them.
        self.recent: deque[array[int]] = deque(maxlen=_RECENT)
        #: Tokens evaluated since the start, for figures.
        self.evaluated = 0

    @property
    def busy(self) -> bool:
        """Whether there is anything to do."""
        return bool(self.queue or self.reading or self.waiting or self.seated)

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
        lanes = [self.lane(prompt, rendered, n) for n in numbers or range(prompt.samples)]
        self.queue.append(BatchJob(prompt, rendered, deliver, lanes, room))

    def lane(self, prompt: Prompt, rendered: Rendered, number: int) -> Lane:
        """Return the lane of sample `number`.

        Raises:
            ModelProblem: the grammar cannot be used, or does not allow the prefill.
        """
        seed = prompt.sampling.seed + number
        gbnf = prompt.grammar.gbnf if prompt.grammar else ""
        picker = Picker(self.weights, self.candidates, prompt.sampling, seed, gbnf)
        given = self.weights.tokenize(prompt.prefill) if gbnf else []
        if not all(map(picker.accept, given)):
            raise ModelProblem(f"the grammar does not allow the prefill {prompt.prefill!r}")
        return Lane(number, prompt, rendered, picker, self.weights, self.conversations.turns)

    def step(self) -> None:
        """Do one round: begin what can begin, then evaluate one batch and draw from it."""
        for job in self._jobs():
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
            said = self.weights.log.take()
            for job in dict.fromkeys(turn.job for turn in turns):
                self._fail(job, f"llama.cpp cannot evaluate the prompt ({status}): {said}")
            return
        row = -1
        for turn in turns:
            row += len(turn.tokens)
            self.evaluated += len(turn.tokens)
            turn.sequence.ids.extend(turn.tokens)
            if turn.lane is None:
                self._has_read(turn, row)
            else:
                self._go_on(turn, turn.lane, row)

    # -- beginning -------------------------------------------------------------------------

    def _seat(self) -> None:
        """Give the lanes that wait a place in the batch, each a fork of its prompt."""
        while self.waiting and len(self.seated) < self.context.plan.lanes:
            job, lane = self.waiting[0]
            if job.trunk is None or not self._fits(job.room):
                return
            lane.sequence = self.sequences.fork(job.trunk, len(job.ids))
            self.seated.append(self.waiting.popleft())
            self._keep_trunk(job)

    def _begin(self) -> None:
        """Begin to read the next prompt, once all lanes of those before it have a place."""
        if not self.queue or self.reading or self.waiting:
            return
        job = self.queue[0]
        if not self._fits(len(job.ids) + job.room):
            return
        self.reading = self.queue.popleft()
        job.trunk = self.sequences.begin(job.ids)
        if self.weights.recurrent:
            job.marks = self._marks(job.rendered, len(job.trunk.ids))

    def _fits(self, more: int) -> bool:
        """Whether there is room for `more` tokens when all that has begun gets its longest."""
        begun = (job for job in self._jobs() if job not in self.queue)
        taken = sum(len(job.ids) for job in begun) + sum(job.room for job, _ in self.seated)
        return taken + more <= self.context.cells

    def _keep_trunk(self, job: BatchJob) -> None:
        """Keep a prompt for those to come, once all lanes have a fork of it."""
        if job.trunk is not None and all(other is not job for other, _ in self.waiting):
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

    def _start(self, job: BatchJob, row: int) -> None:
        """Draw the first token of every lane; they are seated as room allows."""
        for lane in job.lanes:
            if lane.finish is None and not lane.ids:
                lane.take(lane.picker.pick(self.context, row, free=lane.thought is not None))
                self._deliver(job, lane)
        unseated = (lane for lane in job.lanes if lane.finish is None and lane.sequence is None)
        self.waiting += [(job, lane) for lane in unseated]
        self._keep_trunk(job)

    # -- a batch ---------------------------------------------------------------------------

    def _turns(self) -> list[_Turn]:
        """Return what is evaluated next: what is pending in the lanes, then of the prompt."""
        room = self.context.plan.batch
        turns = []
        for job, lane in self.seated:
            tokens = lane.pending[:room]
            room -= len(tokens)
            if tokens and lane.sequence is not None:
                last = len(tokens) == len(lane.pending)
                turns.append(_Turn(job, lane, lane.sequence, tokens, last))
        read = self.reading
        if read is not None and read.trunk is not None and room:
            start = len(read.trunk.ids)
            end = min([start + room, *read.marks[:1]])
            tokens = read.ids[start:end].tolist()
            last = start + len(tokens) == len(read.ids)
            turns.append(_Turn(read, None, read.trunk, tokens, last))
        return turns

    def _has_read(self, turn: _Turn, row: int) -> None:
        job, trunk = turn.job, turn.sequence
        job.evaluated += len(turn.tokens)
        if job.marks[:1] == [len(trunk.ids)]:
            del job.marks[0]
            self.sequences.keep_copy(trunk)
        if turn.last:
            self.reading = None
            self._start(job, row)

    def _go_on(self, turn: _Turn, lane: Lane, row: int) -> None:
        if not turn.last:
            del lane.pending[: len(turn.tokens)]
            return
        lane.take(lane.picker.pick(self.context, row, free=lane.thought is not None))
        if lane.finish is None:
            return
        self.seated.remove((turn.job, lane))
        lane.sequence = None
        if len(turn.job.lanes) == 1:  # for the conversation to go on
            self.sequences.keep(turn.sequence)
        else:
            self.sequences.drop(turn.sequence)
        self._deliver(turn.job, lane)

    # -- ending ----------------------------------------------------------------------------

    def _jobs(self) -> list[BatchJob]:
        lanes = (job for job, _ in (*self.seated, *self.waiting))
        reading = [self.reading] if self.reading else []
        return list(dict.fromkeys((*reading, *lanes, *self.queue)))

    def _deliver(self, job: BatchJob, lane: Lane) -> None:
        """Hand the answer over if it has ended."""
        if lane.finish is None:
            return
        done = lane.completion(
            prompt_tokens=len(job.ids),
            evaluated=job.evaluated if lane is job.lanes[0] else 0,
            seconds=time.monotonic() - job.started,
        )
        self.conversations.learn(job.prompt.messages, done.text, job.ids + array("i", lane.ids))
        job.deliver(lane.number, done)

    def _cut(self, job: BatchJob) -> None:
        """End every lane of `job` as it is."""
        self._remove(job)
        for lane in job.lanes:
            if lane.finish is None:
                lane.end(Finish.TIME)
                self._deliver(job, lane)

    def _fail(self, job: BatchJob, problem: str) -> None:
        self._remove(job)
        job.deliver(-1, ModelProblem(problem))

    def _remove(self, job: BatchJob) -> None:
        """Take `job` out wherever it is and free what it holds."""
        if job is self.reading and job.trunk is not None:
            self.sequences.drop(job.trunk)
            self.reading = job.trunk = None
        if job in self.queue:
            self.queue.remove(job)
        self.waiting = deque(pair for pair in self.waiting if pair[0] is not job)
        self._keep_trunk(job)
        for lane in job.lanes:
            if lane.sequence is not None:
                self.sequences.drop(lane.sequence)
                lane.sequence = None
        self.seated = [pair for pair in self.seated if pair[0] is not job]
