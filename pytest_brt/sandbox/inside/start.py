"""Begins each script of this folder: ``python start.py NAME``, its order on stdin. Python 3.8+.

The folder never gets on the import path, so nothing in it can hide a module of the project: its
files load each other by `load`, under private names.
"""

import importlib.util
import json
import os
import resource
import sys

HERE = os.path.dirname(os.path.abspath(__file__))


def load(name):
    """Return the sibling module `name`, imported once as ``_brt_<name>``."""
    full = "_brt_" + name
    if full not in sys.modules:
        spec = importlib.util.spec_from_file_location(full, os.path.join(HERE, name + ".py"))
        sys.modules[full] = importlib.util.module_from_spec(spec)
        spec.loader.exec_module(sys.modules[full])
    return sys.modules[full]


class EventWriter:
    """The writing end of the pipe to the tool: one JSON object a line."""

    def __init__(self, descriptor):
        self.descriptor = descriptor
        os.set_inheritable(descriptor, False)

    def send(self, event, **fields):
        """Write one event, with the process that it happened in."""
        line = json.dumps(dict(fields, event=event, pid=os.getpid())) + "\n"
        view = memoryview(line.encode("ascii"))
        while view:
            view = view[os.write(self.descriptor, view) :]


def main():
    """Run a script on its order, and leave an empty stdin to the project."""
    sys.path[:] = [entry for entry in sys.path if os.path.abspath(entry or ".") != HERE]
    sys.modules["_brt_start"] = sys.modules["__main__"]
    with os.fdopen(os.dup(0), encoding="utf-8") as stream:
        order = json.load(stream)
    os.dup2(os.open(os.devnull, os.O_RDONLY), 0)
    # Only here: outside of the sandbox it counts all processes of the user.
    resource.setrlimit(resource.RLIMIT_NPROC, [order["processes"]] * 2)
    os.chdir(order["folder"])
    events = EventWriter(order["events"])
    events.send("start")  # by which process: another may speak later
    load(sys.argv[1]).main(order, events)


if __name__ == "__main__":
    main()
