"""Threads of one run, which nobody waits for once it is over."""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import Executor, Future
from contextlib import suppress
from functools import partial
from queue import Empty, SimpleQueue
from threading import Thread
from typing import Any, ParamSpec, TypeVar

P = ParamSpec("P")
T = TypeVar("T")


class DaemonPool(Executor):
    """Carries out tasks in the order of submission, on threads that do not keep Python alive.

    Python waits at its end for the threads of the standard library's pool, so after Ctrl-C it
    would wait for work that nobody wants any more. These threads are daemons; what they wait for
    outside of Python ends when engine and models are closed.
    """

    def __init__(self, workers: int) -> None:
        #: Futures with what is to be done; None ends each thread.
        self._tasks: SimpleQueue[tuple[Future[Any], Callable[[], Any]] | None] = SimpleQueue()
        self._closed = False
        self._threads = [Thread(target=self._carry_out, daemon=True) for _ in range(workers)]
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
        self._tasks.put((future, partial(fn, *args, **kwargs)))
        return future

    def shutdown(self, wait: bool = True, *, cancel_futures: bool = False) -> None:
        """Take no more tasks; with `cancel_futures` what has not begun is never begun."""
        self._closed = True
        with suppress(Empty):
            while cancel_futures:
                if task := self._tasks.get_nowait():
                    task[0].cancel()
        self._tasks.put(None)
        for thread in self._threads if wait else ():
            thread.join()

    def _carry_out(self) -> None:
        while task := self._tasks.get():
            future, work = task
            if not future.set_running_or_notify_cancel():
                continue
            try:
                result = work()
            except BaseException as error:  # as the standard library's pool hands it on
                future.set_exception(error)
            else:
                future.set_result(result)
        self._tasks.put(None)  # for the next thread
