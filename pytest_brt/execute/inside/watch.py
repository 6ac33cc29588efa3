"""Follows the process of one test to its end. Runs in a row: Python 3.8+."""

import json
import os
import select
import signal
import time

#: Bytes of events; a test that tells more is ended.
EVENTS_LIMIT = 64 * 1024 * 1024
#: Events that one test may tell.
EVENTS_MOST = 100000
#: Bytes that are kept, to be passed on together: each message would wake the tool.
KEPT = 65536


class Watch:
    """Follows one cell to its end or its deadline."""

    def __init__(self, row, pid, reader, allow):
        self.row = row
        self.pid = pid
        self.reader = reader
        self.allow = allow
        self.timed_out = False
        self.pending = bytearray()
        self.received = 0
        self.told = 0
        #: What is to be passed on.
        self.kept = bytearray()
        now = time.monotonic()
        self.last = now + allow["total"]
        self.deadline = now + allow["start"]
        os.set_blocking(reader, False)

    def follow(self):
        """Take in events until the process ends or the deadline passes."""
        poll = select.poll()
        poll.register(self.reader, select.POLLIN)
        ending = self._ending()
        if ending is not None:
            poll.register(ending, select.POLLIN)
        try:
            while True:
                left = min(self.deadline, self.last) - time.monotonic()
                if left <= 0:
                    self.timed_out = True
                    return
                ready = dict(poll.poll(min(left, 3600 if ending is not None else 0.01) * 1000 + 1))
                if self.reader in ready and not self.read():
                    poll.unregister(self.reader)
                if ending in ready or (ending is None and self._has_ended()):
                    return
        finally:
            if ending is not None:
                os.close(ending)

    def _ending(self):
        if not self.row.config["linux"]:
            return None
        try:
            return self.row.load("syscalls").pidfd_open(self.pid)
        except OSError:
            return None

    def _has_ended(self):
        return os.waitid(os.P_PID, self.pid, os.WEXITED | os.WNOHANG | os.WNOWAIT) is not None

    def end(self):
        """Kill the process and all it started, read what is left, and return its status."""
        if self.timed_out:
            try:
                os.kill(self.pid, signal.SIGKILL)
            except ProcessLookupError:
                pass  # it ended at the last moment
        _, status = os.waitpid(self.pid, 0)
        self.row.kill_rest()
        while self.read():
            pass
        return status

    def read(self):
        """Take in what there is to read; return whether there may be more."""
        try:
            data = os.read(self.reader, 65536)
        except BlockingIOError:
            return not self._gone()
        if not data:
            return False
        self.received += len(data)
        if self.received > EVENTS_LIMIT or self.told > EVENTS_MOST:
            self.deadline = 0
            return False
        self.pending += data
        if b"\n" not in data:
            return True
        *lines, rest = bytes(self.pending).split(b"\n")
        self.pending = bytearray(rest)
        self.told += len(lines)
        for line in lines:
            self.kept += b"e%s\n" % line
            self.extend(line)
        if len(self.kept) > KEPT:
            self.row.control.write(self.kept)
            self.kept = bytearray()
        return True

    def _gone(self):
        try:
            os.kill(self.pid, 0)
        except OSError:
            return True
        return False

    def extend(self, line):
        """Move the deadline as the event says."""
        try:
            event = json.loads(line.decode("utf-8")).get("event")
            seconds = self.allow["events"].get(event)
        except (ValueError, AttributeError, TypeError, RecursionError):
            return  # anything may stand there: a test can write to the pipe
        if seconds is not None:
            self.deadline = time.monotonic() + seconds
