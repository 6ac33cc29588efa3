"""Continues many sequences at once: prompts are evaluated once and forked, lanes share a batch.

One `step` evaluates a chunk of the prompts that are new, then one token for each lane. Answers
that end make room at once, prompts join while others run. Nothing is ever rewound (recurrent
models cannot be): what may be needed again stays untouched, and work goes on in a fork.
"""

from __future__ import annotations

import threading
from collections import deque

import numpy as np

from pytest_brt.errors import ModelProblem
from pytest_brt.model.base import Finish, Prompt
from pytest_brt.model.context import Context
from pytest_brt.model.conversation import Conversations
from pytest_brt.model.job import Deliver, Job, Workshop
from pytest_brt.model.lane import Lane
from pytest_brt.model.prefixes import Prefixes
from pytest_brt.model.sequences import Sequences, common
from pytest_brt.model.states import StateFolder

#: A prompt waits for one that is being evaluated when it shares this much more with it.
_WORTH_WAITING = 32
#: Tokens of prompts evaluated between two tokens of the lanes.
_CHUNK = 256


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
        self.most_lanes = lanes
        self.most_trunks = max(1, sequences - lanes - 2)
        self.sequences = Sequences(context, sequences, spare_bytes)
        self.prefixes = Prefixes(self.sequences, states, self._make_room)
        self.workshop = Workshop(conversations, min(longest, context.cells))
        self.queue: deque[Job] = deque()
        self.reading: list[Job] = []
        self.seating: list[Job] = []
        self.seats: list[tuple[Job, Lane]] = []
        #: Tokens evaluated since the start, for figures.
        self.evaluated = 0
        self._dropped: set[int] = set()
        self._in_flight: frozenset[int] = frozenset()
        self._lock = threading.Lock()

    @property
    def busy(self) -> bool:
        """Whether there is anything to do."""
        return bool(self.queue or self.reading or self.seating or self.seats)

    def submit(self, key: int, prompt: Prompt, deliver: Deliver) -> None:
        """Ask for the answers to `prompt`; `deliver` is called with them from within `step`.

        Raises:
            ModelProblem: it does not fit into the context, or its grammar cannot be used.
        """
        self.queue.append(self.workshop.job(key, prompt, deliver))

    def drop(self, key: int) -> None:
        """Give a prompt up; may be called from another thread, also during an evaluation."""
        with self._lock:
            self._dropped.add(key)
            if self._in_flight and self._in_flight <= self._dropped:
                self.context.brake(True)

    def step(self) -> None:
        """Do one round: admit, evaluate a chunk of prompts, then a token for each lane."""
        self._sweep()
        self._admit()
        if self.reading:
            self._read()
        self._seat()
        if self.seats:
            self._decode()
        elif not self.reading and (self.queue or self.seating):
            self._give_up()

    # -- room ------------------------------------------------------------------------------

    def _promised(self) -> int:
        """Return the cells that will be needed by what was admitted."""
        lanes = sum(job.room - len(lane.ids) + len(lane.pending) for job, lane in self.seats)
        return lanes + sum(
            job.left + (0 if job.seated else job.room) for job in (*self.reading, *self.seating)
        )

    def _make_room(self, cells: int) -> bool:
        """Evict until `cells` more are free for what is new; False when that cannot be had."""
        while self.sequences.used + self._promised() + cells > self.context.cells:
            if not self.sequences.evict():
                return False
        return True

    def _give_up(self) -> None:
        """Fail the first job: nothing runs, and yet it does not fit."""
        job = (self.seating or list(self.queue))[0]
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
            if len(self.reading) + len(self.seating) >= self.most_trunks or not self._begin(job):
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
            if self.reading or self.seats or self.seating:
                return False
            while self.sequences.evict():  # alone: all room there is
                pass
            if not self._make_room(len(job.ids) + job.room):
                return False
            job.trunk = self.prefixes.beginning(job.ids, None, 0)
        assert job.trunk is not None
        if job.left:
            self.reading.append(job)
        else:
            self._ready(job, -1)
        return True

    # -- evaluating prompts ----------------------------------------------------------------

    def _read(self) -> None:
        """Evaluate a chunk of the prompts that are being read, as one batch."""
        budget = self.context.batch_size if not self.seats else min(_CHUNK, self.context.batch_size)
        chunk: list[tuple[Job, list[int]]] = []
        for job in self.reading:
            assert job.trunk is not None
            start = len(job.trunk.ids)
            tokens = job.ids[start : start + budget].tolist()
            if tokens:
                chunk.append((job, tokens))
                budget -= len(tokens)
        entries = []
        for job, tokens in chunk:
            assert job.trunk is not None
            start = len(job.trunk.ids)
            done = start + len(tokens) == len(job.ids)
            entries.append((tokens, start, job.trunk.number, done))
        status = self._run(entries, frozenset(job.key for job, _ in chunk))
        if status:
            self._recover([job for job, _ in chunk], status)
            return
        row = -1
        for job, tokens in chunk:
            assert job.trunk is not None
            row += len(tokens)
            self.sequences.extend(job.trunk, tokens)
            job.evaluated += len(tokens)
            if not job.left:
                self.reading.remove(job)
                job.trunk.logits = np.array(self.context.logits(row))
                self.sequences.keep(job.trunk)
                self._ready(job, row)
                self.prefixes.store(job)

    def _run(self, entries: list[tuple[list[int], int, int, bool]], keys: frozenset[int]) -> int:
        """Evaluate a batch; while it runs, `drop` may stop it."""
        with self._lock:
            self._in_flight = keys
            if keys and keys <= self._dropped:
                self._in_flight = frozenset()
                return 2
        status = self.context.decode(entries)
        with self._lock:
            self._in_flight = frozenset()
            self.context.brake(False)
        if status == 0:
            self.evaluated += sum(len(tokens) for tokens, *_ in entries)
        return status

    def _recover(self, jobs: list[Job], status: int) -> None:
        """Put the memory right after an evaluation that did not end well."""
        if status == 1 and self.sequences.evict():
            return  # try again with more room
        for job in jobs:
            assert job.trunk is not None
            if status == 2 and (
                not self.weights.recurrent
                and self.context.remove(job.trunk.number, len(job.trunk.ids))
            ):
                continue
            self.reading.remove(job)
            self.sequences.drop(job.trunk)
            job.trunk = None
            if status == 2:
                self.queue.appendleft(job)
            else:
                said = self.weights.log.take() or "no reason given"
                self._fail(
                    job, ModelProblem(f"llama.cpp cannot evaluate the prompt ({status}): {said}")
                )

    def _ready(self, job: Job, row: int) -> None:
        """Draw the first token of every lane; they are seated as room allows."""
        assert job.trunk is not None
        job.trunk.pins += 1
        for lane in job.lanes:
            if row >= 0:
                lane.take(lane.picker.pick(self.context, row, free=lane.free))
            else:
                assert job.trunk.logits is not None
                lane.take(lane.picker.pick_from(job.trunk.logits, free=lane.free))
            lane.started = job.started
        job.waiting = [lane for lane in job.lanes if lane.finish is None]
        self.seating.append(job)

    # -- decoding --------------------------------------------------------------------------

    def _seat(self) -> None:
        for job in list(self.seating):
            while job.waiting and len(self.seats) < self.most_lanes:
                if job.seated and not self._make_room(job.room):
                    break
                assert job.trunk is not None
                try:
                    fork = self.sequences.fork(job.trunk, len(job.ids))
                except LookupError:
                    break
                lane = job.waiting.pop(0)
                lane.sequence = fork
                job.seated += 1
                self.seats.append((job, lane))
            if not job.waiting:
                self.seating.remove(job)
                assert job.trunk is not None
                job.trunk.pins -= 1
                self._finish(job)

    def _decode(self) -> None:
        """Evaluate what is pending in each lane and draw its next token."""
        room = self.context.batch_size
        batch: list[tuple[Job, Lane, list[int]]] = []
        entries = []
        for job, lane in self.seats:
            tokens = lane.pending[:room]
            if not tokens:
                break
            assert lane.sequence is not None
            room -= len(tokens)
            whole = len(tokens) == len(lane.pending)
            entries.append((tokens, len(lane.sequence.ids), lane.sequence.number, whole))
            batch.append((job, lane, tokens))
        status = self._run(entries, frozenset())
        if status:
            if status == 1 and self.sequences.evict():
                return
            said = self.weights.log.take() or "no reason given"
            problem = ModelProblem(f"llama.cpp cannot continue the answers ({status}): {said}")
            for job in {id(job): job for job, _, _ in batch}.values():
                self._fail(job, problem)
            return
        row = -1
        for job, lane, tokens in batch:
            assert lane.sequence is not None
            row += len(tokens)
            self.sequences.extend(lane.sequence, tokens)
            if len(tokens) < len(lane.pending):
                del lane.pending[: len(tokens)]
                continue
            lane.take(lane.picker.pick(self.context, row, free=lane.free))
            if lane.finish is not None:
                self._leave(job, lane)

    def _leave(self, job: Job, lane: Lane) -> None:
        """Take an ended lane out; keep a single answer for the conversation to go on."""
        self.seats = [(j, other) for j, other in self.seats if other is not lane]
        sequence, lane.sequence = lane.sequence, None
        if sequence is not None:
            if len(job.lanes) == 1:
                self.sequences.keep(sequence)
            else:
                self.sequences.drop(sequence)
        self._finish(job)

    def _finish(self, job: Job) -> None:
        """Deliver the answers once the last one has ended."""
        if job.waiting or any(lane.finish is None for lane in job.lanes):
            return
        completions = []
        for lane in job.lanes:
            done = lane.completion(
                prompt_tokens=len(job.ids), evaluated=job.evaluated if lane.number == 0 else 0
            )
            completions.append(done)
            ids = job.ids[:]
            ids.extend(lane.ids)
            self.conversations.learn(job.prompt.messages, done.text, ids)
            lane.picker.close()
        job.deliver(tuple(completions))

    # -- ending early ----------------------------------------------------------------------

    def _sweep(self) -> None:
        """End what was given up or ran out of time."""
        with self._lock:
            dropped, self._dropped = self._dropped, set()
        for job in self._jobs():
            if job.key in dropped:
                self._fail(job, ModelProblem("the prompt was given up"))
            elif job.late:
                self._end(job)

    def _jobs(self) -> list[Job]:
        every = (*self.queue, *self.reading, *self.seating, *(job for job, _ in self.seats))
        return list({id(job): job for job in every}.values())

    def _end(self, job: Job) -> None:
        """End every lane of `job` as it is and deliver."""
        for lane in job.lanes:
            if lane.finish is None:
                lane.end(Finish.TIME)
        self._remove(job)
        self._finish(job)

    def _fail(self, job: Job, problem: ModelProblem) -> None:
        self._remove(job)
        for lane in job.lanes:
            lane.picker.close()
        job.deliver(problem)

    def _remove(self, job: Job) -> None:
        """Take `job` out wherever it is and free what it holds."""
        if job in self.queue:
            self.queue.remove(job)
        if job in self.reading:
            self.reading.remove(job)
            assert job.trunk is not None
            self.sequences.drop(job.trunk)
        if job in self.seating:
            self.seating.remove(job)
            assert job.trunk is not None
            job.trunk.pins -= 1
        for other, lane in self.seats:
            if other is job and lane.sequence is not None:
                self.sequences.drop(lane.sequence)
                lane.sequence = None
        self.seats = [(other, lane) for other, lane in self.seats if other is not job]
        job.waiting = []
