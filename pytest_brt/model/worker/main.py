"""The process that a model lives in: orders on stdin, answers on a private copy of stdout.

A thread reads the orders while llama.cpp evaluates (its calls let other threads run), so that the
process ends at once when its parent is gone.
"""

from __future__ import annotations

import os
import queue
import sys
import threading
import traceback
from typing import BinaryIO

from pytest_brt.codec import from_json, to_json
from pytest_brt.errors import BrtError
from pytest_brt.model.base import Completion, ModelFailed
from pytest_brt.model.chat import Template
from pytest_brt.model.wire import Answer, Order, Start
from pytest_brt.model.worker.batch import Batcher
from pytest_brt.model.worker.llama import Context, Weights
from pytest_brt.model.worker.tokens import Conversations


class ModelWorker:
    """Loads a model and does what it is told until its input ends."""

    def __init__(self, orders: BinaryIO, answers: BinaryIO) -> None:
        self.orders = orders
        self.answers = answers
        self.engine: Batcher
        self.inbox: queue.SimpleQueue[Order] = queue.SimpleQueue()

    def say(self, answer: Answer) -> None:
        """Write one line."""
        self.answers.write(to_json(answer).encode() + b"\n")
        self.answers.flush()

    def run(self) -> None:
        """Load, then serve for ever; the reading thread ends the process."""
        start = from_json(self.orders.readline(), Start)
        threading.Thread(target=self.read, daemon=True).start()
        try:
            self.engine = load(start)
        except BrtError as problem:
            self.say(_failed(0, problem))
            return
        self.say(Answer(id=0, ready=True, gpu=self.engine.weights.gpu))
        while True:
            while not (self.engine.busy and self.inbox.empty()):
                order = self.inbox.get()
                try:
                    self.obey(order)
                except BrtError as problem:
                    self.say(_failed(order.id, problem))
            self.engine.step()

    def read(self) -> None:
        """Pass orders on; the end of the input ends the process, whatever it is doing."""
        for line in self.orders:
            self.inbox.put(from_json(line, Order))
        os._exit(0)

    def obey(self, order: Order) -> None:
        """Carry one order out; the engine delivers samples in later steps.

        Raises:
            BrtError: it cannot be carried out.
        """

        def deliver(sample: int, outcome: Completion | BrtError) -> None:
            if isinstance(outcome, BrtError):
                self.say(_failed(order.id, outcome))
            else:
                self.say(Answer(id=order.id, completion=outcome, sample=sample))

        if order.prompt is not None:
            self.engine.submit(order.prompt, deliver, order.numbers)
        else:
            self.say(Answer(id=order.id, count=self.engine.count(order.count)))


def _failed(order: int, problem: BrtError) -> Answer:
    if isinstance(problem, ModelFailed):
        return Answer(id=order, fault=problem.fault)
    return Answer(id=order, problem=str(problem))


def load(start: Start) -> Batcher:
    """Load the model, and make a context for it.

    Raises:
        ModelProblem: llama.cpp cannot load the file, or a context of that size.
    """
    path = start.path
    weights = Weights(path, gpu_layers=start.gpu_layers, rearrange=start.rearrange)
    bos, eos = weights.name(weights.bos), weights.name(weights.eos)
    template = Template(start.template, where=path, bos=bos, eos=eos)
    context = Context(weights, start.plan, cache_type=start.cache_type)
    return Batcher(context, Conversations(weights, template))


def main() -> None:
    """Serve on stdin and stdout.

    Whatever prints to stdout meanwhile, llama.cpp included, goes to stderr instead.
    """
    answers = os.fdopen(os.dup(1), "wb")
    os.dup2(2, 1)
    status = 0
    try:
        ModelWorker(sys.stdin.buffer, answers).run()
    except BaseException:
        traceback.print_exc()
        status = 1
    sys.stderr.flush()
    # Not exit(): the reading thread holds stdin, and llama.cpp's threads need no farewell.
    os._exit(status)


if __name__ == "__main__":
    main()
