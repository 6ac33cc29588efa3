"""Continues many sequences at once: prompts are evaluated once and forked, lanes share a batch.

One `step` evaluates a chunk of the prompts that are new, then one token for each lane. Answers
that end make room at once, prompts join while others run. Nothing is ever rewound (recurrent
models cannot be): what may be needed again stays untouched, and work goes on in a fork.
"""

from __future__ import annotations

from array import array
from collections import deque

import numpy as np

from pytest_brt.errors import ModelProblem
from pytest_brt.model.base import Finish, Prompt
from pytest_brt.model.context import Context
from pytest_brt.model.conversation import Conversations
from pytest_brt.model.evaluation import NO_ROOM, STOPPED, Evaluation
from pytest_brt.model.job import Deliver, Each, Job, Workshop
from pytest_brt.model.prefixes import Prefixes
from pytest_brt.model.seats import Seats
from pytest_brt.model.sequences import Sequences, common
from pytest_brt.model.states import StateFolder

#: A prompt waits for one that is being evaluated when it shares this much more with it.
_WORTH_WAITING = 32
#: Tokens of prompts evaluated between two tokens of the lanes.
_CHUNK = 256
#: Prompts that are remembered, and prefixes kept of one on the way, where states cannot be rewound.
_RECENT, _MARKS = 16, 2


class Engine:
    """One context and everything that is being asked of it; belongs to one thread."""

    def __init__(
        self,
        context: Context,
        conversations: Conversations,
        *,
        lanes: int,
        sequences: int,
        longest: int,
        states: StateFolder,
        spare_bytes: int = 0,
    ) -> None:
        """Run up to `lanes` lanes; no conversation may have more than `longest` tokens."""
        self.context = context
        self.weights = context.weights
        self.conversations = conversations
        self.most_trunks = max(1, sequences - lanes - 2)
        self.sequences = Sequences(context, sequences, spare_bytes)
        self.prefixes = Prefixes(self.sequences, states, self._make_room)
        self.workshop = Workshop(conversations, min(longest, context.cells))
        self.evaluation = Evaluation(context)
        self.seats = Seats(
            self.sequences,
            self.evaluation,
            most=lanes,
            finish=self.workshop.finish,
            fail=self._fail,
        )
        self.queue: deque[Job] = deque()
        #: Jobs whose prompts are being evaluated.
        self.reading: list[Job] = []
        #: Prompts of late, to see where others part from them.
        self.recent: deque[array[int]] = deque(maxlen=_RECENT)

    @property
    def busy(self) -> bool:
        """Whether there is anything to do."""
        return bool(self.queue or self.reading or self.seats.waiting or self.seats.taken)

    @property
    def evaluated(self) -> int:
        """Tokens evaluated since the start, for figures."""
        return self.evaluation.tokens

    def submit(
        self,
        key: int,
        prompt: Prompt,
        deliver: Deliver,
        each: Each | None = None,
        numbers: tuple[int, ...] = (),
    ) -> None:
        """Ask for the answers to `prompt`; `deliver` is called with them from within `step`.

        `each` is called with the number of a sample and its answer as soon as that has ended;
        `numbers` are those of the samples that are wanted when it is not all of them.

        Raises:
            ModelProblem: it does not fit into the context, or its grammar cannot be used.
        """
        more = {} if each is None else {"each": each}
        self.queue.append(self.workshop.job(key, prompt, deliver, numbers=numbers, **more))

    def drop(self, key: int) -> None:
        """Give a prompt up; may be called from another thread, also during an evaluation."""
        self.evaluation.drop(key)

    def step(self) -> None:
        """Do one round: admit, evaluate a chunk of prompts, then a token for each lane."""
        self._sweep()
        self._admit()
        if self.reading:
            self._read()
        self.seats.fill(self._make_room)
        if self.seats.taken:
            self.seats.decode()
        elif not self.reading and (self.queue or self.seats.waiting):
            self._give_up()

    # -- room ------------------------------------------------------------------------------

    def _promised(self) -> int:
        """Return the cells that will be needed by what was admitted."""
        return self.seats.promised() + sum(job.left + job.room for job in self.reading)

    def _make_room(self, cells: int) -> bool:
        """Evict until `cells` more are free for what is new; False when that cannot be had."""
        while self.sequences.used + self._promised() + cells > self.context.cells:
            if not self.sequences.evict():
                return False
        return True

    def _give_up(self) -> None:
        """Fail the first job: nothing runs, and yet it does not fit."""
        job = (self.seats.waiting or list(self.queue))[0]
        self._fail(
            job,
            ModelProblem(
                f"no room for a prompt of {len(job.ids)} tokens and {job.room} more in "
                f"{self.context.cells} cells (a larger context: --brt-context N)"
            ),
        )

    # -- admitting -------------------------------------------------------------------------

    def _admit(self) -> None:
        for job in list(self.queue):
            if self._should_wait(job):
                continue
            trunks = len(self.reading) + len(self.seats.waiting)
            if trunks >= self.most_trunks or not self._begin(job):
                break
            self.queue.remove(job)

    def _should_wait(self, job: Job) -> bool:
        """Whether a prompt that is being evaluated now will be a better beginning."""
        if not self.reading:
            return False
        shared = max(common(job.ids, other.ids) for other in self.reading)
        if self.weights.recurrent:
            shared = max(
                (len(o.ids) for o in self.reading if common(job.ids, o.ids) == len(o.ids)),
                default=0,
            )
        return shared >= self.sequences.best(job.ids)[1] + _WORTH_WAITING

    def _begin(self, job: Job) -> bool:
        """Find the best beginning for `job` and fork it; False when there is no room now."""
        base, length = self.sequences.best(job.ids)
        if base is not None:
            base.pins += 1
        try:
            fits = self._make_room(len(job.ids) - length + job.room)
            if fits:
                job.trunk = self.prefixes.beginning(job.ids, base, length)
        finally:
            if base is not None:
                base.pins -= 1
        if not fits:
            if self.reading or self.seats.taken or self.seats.waiting:
                return False
            while self.sequences.evict():  # alone: all room there is
                pass
            if not self._make_room(len(job.ids) + job.room):
                return False
            job.trunk = self.prefixes.beginning(job.ids, None, 0)
        assert job.trunk is not None
        if job.left:
            if self.weights.recurrent:
                job.marks = self._marks(job)
            self.reading.append(job)
        else:
            self.seats.add(job, -1)
        return True

    def _marks(self, job: Job) -> list[int]:
        """Return where to keep the prefix of `job` on the way, for prompts that will share it.

        At the end of its last message, and where it parts from a prompt of late: the next one
        of that kind will part there too.
        """
        assert job.trunk is not None
        start = len(job.trunk.ids)
        parted = {common(job.ids, other) for other in self.recent}
        self.recent.append(job.ids)
        parted = {n for n in parted if start + _WORTH_WAITING <= n < len(job.ids)}
        stable = {job.rendered.stable} if start < job.rendered.stable < len(job.ids) else set()
        return sorted({*sorted(parted)[-_MARKS:], *stable})

    # -- evaluating prompts ----------------------------------------------------------------

    def _read(self) -> None:
        """Evaluate a chunk of the prompts that are being read, as one batch."""
        budget = self.context.batch_size
        if self.seats.taken:
            budget = min(_CHUNK, budget)
        chunk: list[tuple[Job, list[int]]] = []
        for job in self.reading:
            assert job.trunk is not None
            start = len(job.trunk.ids)
            end = min([start + budget, *job.marks[:1]])
            tokens = job.ids[start:end].tolist()
            if tokens:
                chunk.append((job, tokens))
                budget -= len(tokens)
        entries = []
        for job, tokens in chunk:
            assert job.trunk is not None
            start = len(job.trunk.ids)
            done = start + len(tokens) == len(job.ids)
            entries.append((tokens, start, job.trunk.number, done))
        status = self.evaluation.run(entries, frozenset(job.key for job, _ in chunk))
        if status:
            self._recover([job for job, _ in chunk], status)
            return
        row = -1
        for job, tokens in chunk:
            assert job.trunk is not None
            row += len(tokens)
            self.sequences.extend(job.trunk, tokens)
            job.evaluated += len(tokens)
            if job.marks[:1] == [len(job.trunk.ids)]:
                del job.marks[0]
                self.sequences.keep_copy(job.trunk)
            if not job.left:
                self.reading.remove(job)
                job.trunk.logits = np.array(self.context.logits(row))
                self.sequences.keep(job.trunk)
                self.seats.add(job, row)
                self.prefixes.store(job)

    def _recover(self, jobs: list[Job], status: int) -> None:
        """Put the memory right after an evaluation that did not end well."""
        if status == NO_ROOM and self.sequences.evict():
            return  # try again with more room
        for job in jobs:
            assert job.trunk is not None
            if status == STOPPED and (
                not self.weights.recurrent
                and self.context.remove(job.trunk.number, len(job.trunk.ids))
            ):
                continue
            self.reading.remove(job)
            self.sequences.drop(job.trunk)
            job.trunk = None
            if status == STOPPED:
                self.queue.appendleft(job)
            else:
                said = self.weights.log.take() or "no reason given"
                self._fail(
                    job, ModelProblem(f"llama.cpp cannot evaluate the prompt ({status}): {said}")
                )

    # -- ending early ----------------------------------------------------------------------

    def _sweep(self) -> None:
        """End what was given up or ran out of time."""
        dropped = self.evaluation.take_dropped()
        for job in self._jobs():
            if job.key in dropped:
                self._fail(job, ModelProblem("the prompt was given up"))
            elif job.late:
                self._end(job)

    def _jobs(self) -> list[Job]:
        seated = (job for job, _ in self.seats.taken)
        every = (*self.queue, *self.reading, *self.seats.waiting, *seated)
        return list({id(job): job for job in every}.values())

    def _end(self, job: Job) -> None:
        """End every lane of `job` as it is and deliver."""
        for lane in job.lanes:
            if lane.finish is None:
                lane.end(Finish.TIME)
        self._remove(job)
        self.workshop.finish(job)

    def _fail(self, job: Job, problem: ModelProblem) -> None:
        self._remove(job)
        self.workshop.fail(job, problem)

    def _remove(self, job: Job) -> None:
        """Take `job` out wherever it is and free what it holds."""
        if job in self.queue:
            self.queue.remove(job)
        if job in self.reading:
            self.reading.remove(job)
            assert job.trunk is not None
            self.sequences.drop(job.trunk)
        self.seats.remove(job)
