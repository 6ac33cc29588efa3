"""A socket to the tool: JSON lines in, marked lines out. Runs in zygotes and rows: Python 3.8+.

The zygote's own never gets to a process that runs code of the project. Each row has another one,
which the tool made for it and knows it by: what is said there counts for this row alone.
"""

import json
import os
import socket
import struct


class Connection:
    """One end of a socket pair, the tool having the other."""

    def __init__(self, descriptor):
        self.socket = socket.socket(fileno=descriptor)
        self.pending = b""
        self.passed = []

    def read(self):
        """Return the next message, None when the tool is gone."""
        while b"\n" not in self.pending:
            data, extra, _, _ = self.socket.recvmsg(1 << 16, socket.CMSG_SPACE(4))
            for _, kind, content in extra:
                if kind == socket.SCM_RIGHTS:
                    self.passed += struct.unpack("i" * (len(content) // 4), content)
            if not data:
                return None
            self.pending += data
        line, _, self.pending = self.pending.partition(b"\n")
        return json.loads(line.decode("utf-8"))

    def take(self):
        """Return the descriptor that came with the last message."""
        return self.passed.pop(0)

    def send(self, event, after=b"", **fields):
        """Tell the tool something of our own, `after` what a test's process told."""
        fields["event"] = event
        self.write(after + b"r" + json.dumps(fields).encode("ascii") + b"\n")

    def close(self):
        """Let go of it, in a process that has no business with it."""
        self.socket.close()

    def write(self, data):
        """Pass on lines that are marked already."""
        view = memoryview(data)
        while view:
            view = view[os.write(self.socket.fileno(), view) :]
