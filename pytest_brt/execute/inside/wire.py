"""Sends events to the tool, one JSON object a line. Runs in the subject: Python 3.8+."""

import json
import os


class Wire:
    """The writing end of the private pipe."""

    def __init__(self, descriptor):
        self.descriptor = descriptor
        os.set_inheritable(descriptor, False)

    def send(self, event, **fields):
        """Write one event, with the process that it happened in."""
        fields["event"] = event
        fields["pid"] = os.getpid()
        data = json.dumps(fields, ensure_ascii=True).encode("ascii") + b"\n"
        view = memoryview(data)
        while view:
            view = view[os.write(self.descriptor, view) :]
