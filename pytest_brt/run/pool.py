"""Threads of one run, which nobody waits for once it is over."""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import Executor, Future
from dataclasses import dataclass
from queue import Empty, SimpleQueue
from threading import Thread
from typing import Any, ParamSpec, TypeVar

P = ParamSpec("P")
T = TypeVar("T")


@dataclass(frozen=True, slots=True, kw_only=True)
class _Task:
    future: Future[Any]
    work: Callable[[], Any]


class DaemonPool(Executor):
    """Carries out tasks in the order of submission, on threads that do not keep Python alive.

    Python waits at its end for the threads of the standard library's pool, so after Ctrl-C it
    would wait for work that nobody wants any more. These threads are daemons; what they wait for
    outside of Python ends when engine and models are closed.
    """

    def __init__(self, workers: int) -> None:
        self._tasks: SimpleQueue[_Task | None] = SimpleQueue()
        self._threads = [
            Thread(target=self._carry_out, name=f"brt-run-{number}", daemon=True)
            for number in range(workers)
        ]
        self._closed = False
        for thread in self._threads:
            thread.start()

    def submit(self, fn: Callable[P, T], /, *args: P.args, **kwargs: P.kwargs) -> Future[T]:
        """Return the future of a task.

        Raises:
            RuntimeError: the pool was shut down.
        """
        if self._closed:
            raise RuntimeError("this pool was shut down")
        future: Future[T] = Future()
        self._tasks.put(_Task(future=future, work=lambda: fn(*args, **kwargs)))
        return future

    def shutdown(self, wait: bool = True, *, cancel_futures: bool = False) -> None:
        """Take no more tasks; with `cancel_futures` what has not begun is never begun."""
        self._closed = True
        if cancel_futures:
            self._cancel_waiting()
        self._tasks.put(None)
        if wait:
            for thread in self._threads:
                thread.join()

    def _cancel_waiting(self) -> None:
        while True:
            try:
                task = self._tasks.get_nowait()
            except Empty:
                return
            if task is not None:
                task.future.cancel()

    def _carry_out(self) -> None:
        while (task := self._tasks.get()) is not None:
            if not task.future.set_running_or_notify_cancel():
                continue
            try:
                result = task.work()
            except BaseException as error:  # as the standard library's pool hands it on
                task.future.set_exception(error)
            else:
                task.future.set_result(result)
        self._tasks.put(None)  # for the next thread
