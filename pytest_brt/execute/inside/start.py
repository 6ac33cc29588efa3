"""Begins each script of this folder: ``python start.py NAME ARGUMENT``. Python 3.6+, POSIX.

The folder never gets on the import path, so nothing in it can hide a module of the subject: its
files load each other by `load`, under private names.
"""

import importlib.util
import json
import os
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


class Wire:
    """The writing end of the private pipe to the tool: one JSON object a line."""

    def __init__(self, descriptor):
        self.descriptor = descriptor
        os.set_inheritable(descriptor, False)

    def send(self, event, **fields):
        """Write one event, with the process that it happened in."""
        data = json.dumps(dict(fields, event=event, pid=os.getpid()), ensure_ascii=True)
        write_all(self.descriptor, data.encode("ascii") + b"\n")


def write_all(descriptor, data):
    """Write all of `data`."""
    view = memoryview(data)
    while view:
        view = view[os.write(descriptor, view) :]


def apply_limits(spec):
    """Lower the resource limits named in the specification, where there are such; raise none."""
    import resource

    for name, value in sorted(spec.items()):
        kind = getattr(resource, "RLIMIT_" + name, None)
        if kind is None or (name == "AS" and sys.platform == "darwin"):
            continue
        _, hard = resource.getrlimit(kind)
        if hard != resource.RLIM_INFINITY:
            value = min(value, hard)
        try:
            resource.setrlimit(kind, (value, value))
        except (ValueError, OSError):
            continue  # the platform refuses it


def main():
    """Run a script on its argument: a file of JSON, or the number of a descriptor."""
    sys.path[:] = [entry for entry in sys.path if os.path.abspath(entry or ".") != HERE]
    sys.modules["_brt_start"] = sys.modules["__main__"]
    name, argument = sys.argv[1:]
    if argument.isdigit():
        load(name).main(int(argument))
        return
    with open(argument, encoding="utf-8") as stream:
        spec = json.load(stream)
    apply_limits(spec.get("limits", {}))  # else it has them already
    wire = Wire(spec["fd"])
    wire.send("start")  # by which process: another may speak later
    load(name).main(spec, wire)


if __name__ == "__main__":
    main()
