"""Lanes that share batches: each gets a seat, a fork of its prompt, and leaves at its end."""

from __future__ import annotations

from collections.abc import Callable

from pytest_brt.errors import ModelProblem
from pytest_brt.model.evaluation import NO_ROOM, Evaluation
from pytest_brt.model.job import Job
from pytest_brt.model.lane import Lane
from pytest_brt.model.sequences import Sequences


class Seats:
    """The answers in the making."""

    def __init__(
        self,
        sequences: Sequences,
        evaluation: Evaluation,
        *,
        most: int,
        finish: Callable[[Job], None],
        fail: Callable[[Job, ModelProblem], None],
    ) -> None:
        """Continue up to `most` lanes at a time.

        Call `finish` whenever one of a job has ended, and `fail` for jobs that cannot go on.
        """
        self.sequences = sequences
        self.context = sequences.context
        self.evaluation = evaluation
        self.most = most
        self.finish = finish
        self.fail = fail
        #: Jobs with lanes that have no seat yet.
        self.waiting: list[Job] = []
        self.taken: list[tuple[Job, Lane]] = []

    def promised(self) -> int:
        """Return the cells that the lanes will still need."""
        lanes = sum(job.room - len(lane.ids) + len(lane.pending) for job, lane in self.taken)
        return lanes + sum(job.left + (0 if job.seated else job.room) for job in self.waiting)

    def add(self, job: Job, row: int) -> None:
        """Draw the first token of every lane; they are seated as room allows.

        Its logits are those of `row` in the last batch, or with -1 those of its trunk.
        """
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
        self.waiting.append(job)

    def fill(self, make_room: Callable[[int], bool]) -> None:
        """Give the lanes that wait what seats there are."""
        for job in list(self.waiting):
            while job.waiting and len(self.taken) < self.most:
                if job.seated and not make_room(job.room):
                    break
                assert job.trunk is not None
                try:
                    fork = self.sequences.fork(job.trunk, len(job.ids))
                except LookupError:
                    break
                lane = job.waiting.pop(0)
                lane.sequence = fork
                job.seated += 1
                self.taken.append((job, lane))
            if not job.waiting:
                self.waiting.remove(job)
                assert job.trunk is not None
                job.trunk.pins -= 1
                self.finish(job)

    def decode(self) -> None:
        """Evaluate what is pending in each lane and draw its next token."""
        room = self.context.batch_size
        batch: list[tuple[Job, Lane, list[int]]] = []
        entries = []
        for job, lane in self.taken:
            tokens = lane.pending[:room]
            if not tokens:
                break
            assert lane.sequence is not None
            room -= len(tokens)
            whole = len(tokens) == len(lane.pending)
            entries.append((tokens, len(lane.sequence.ids), lane.sequence.number, whole))
            batch.append((job, lane, tokens))
        status = self.evaluation.run(entries)
        if status == NO_ROOM and self.sequences.evict():
            return  # try again with more room
        if status:
            said = self.context.weights.log.take() or "no reason given"
            problem = ModelProblem(f"llama.cpp cannot continue the answers ({status}): {said}")
            for job in {id(job): job for job, _, _ in batch}.values():
                self.fail(job, problem)
            return
        self._draw(batch)

    def _draw(self, batch: list[tuple[Job, Lane, list[int]]]) -> None:
        """Go on with the lanes of a batch that was evaluated."""
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
        self.taken = [(j, other) for j, other in self.taken if other is not lane]
        sequence, lane.sequence = lane.sequence, None
        if sequence is not None:
            if len(job.lanes) == 1:
                self.sequences.keep(sequence)
            else:
                self.sequences.drop(sequence)
        self.finish(job)

    def remove(self, job: Job) -> None:
        """Take all lanes of `job` out and free what they hold."""
        if job in self.waiting:
            self.waiting.remove(job)
            assert job.trunk is not None
            job.trunk.pins -= 1
        for other, lane in self.taken:
            if other is job and lane.sequence is not None:
                self.sequences.drop(lane.sequence)
                lane.sequence = None
        self.taken = [(other, lane) for other, lane in self.taken if other is not job]
        job.waiting = []
