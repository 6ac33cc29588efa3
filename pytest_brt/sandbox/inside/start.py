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
        path = os.path.join(HERE, name + ".py")
        spec = importlib.util.spec_from_file_location(full, path)
        module = importlib.util.module_from_spec(spec)
        sys.modules[full] = module
        spec.loader.exec_module(module)
    return sys.modules[full]


def own_files():
    """Return the paths of all files of this folder, to leave out of tracebacks."""
    return frozenset(os.path.join(HERE, name) for name in os.listdir(HERE))


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


def read_order():
    """Return what is asked for, and leave an empty stdin to the project."""
    with os.fdopen(os.dup(0), encoding="utf-8") as stream:
        order = json.load(stream)
    nothing = os.open(os.devnull, os.O_RDONLY)
    os.dup2(nothing, 0)
    os.close(nothing)
    return order


def main():
    """Run a script on its order."""
    sys.path[:] = [entry for entry in sys.path if os.path.abspath(entry or ".") != HERE]
    sys.modules["_brt_start"] = sys.modules["__main__"]
    order = read_order()
    # Only here: outside of the sandbox it counts all processes of the user.
    most = order["processes"]
    resource.setrlimit(resource.RLIMIT_NPROC, (most, most))
    os.chdir(order["folder"])
    events = EventWriter(order["events"])
    events.send("start")  # by which process: another may speak later
    load(sys.argv[1]).main(order, events)


if __name__ == "__main__":
    main()
