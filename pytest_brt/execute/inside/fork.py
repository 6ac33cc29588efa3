"""Forks, with patience where the user has too many processes just now. Python 3.8+."""

import os
import time
import warnings

#: Seconds to wait for others to end; the tool then asks again, with a new limit.
PATIENCE = 5.0


class NoProcess(Exception):
    """The user may have no more processes: nothing that any test has done."""


def fork():
    """Fork as `os.fork` does.

    Raises:
        NoProcess: the limit on the user's processes was in the way for `PATIENCE` seconds.
    """
    last = time.monotonic() + PATIENCE
    while True:
        try:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                return os.fork()
        except BlockingIOError as error:
            if time.monotonic() > last:
                raise NoProcess("no process can be started: %s" % error) from None
        time.sleep(0.05)
