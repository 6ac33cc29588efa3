"""Sees which lines and functions are run. Standard library, Python 3.8+."""

import os
import sys
import threading

#: Numbers 0 to 2 and 5 are meant for debuggers, coverage and profilers (sys.monitoring).
TOOL = 4


class LineMonitor:
    """The lines of the files at `paths` that were executed since it was last asked.

    From Python 3.12 on that costs next to nothing; before, tests that execute much of the files
    take several times as long.
    """

    def __init__(self, paths):
        self.lines = {os.path.abspath(path): set() for path in paths}
        self.paths = paths
        if paths and sys.version_info < (3, 12):
            sys.settrace(self.trace)
            threading.settrace(self.trace)
        elif paths:
            events = sys.monitoring.events
            sys.monitoring.use_tool_id(TOOL, "brt")
            sys.monitoring.register_callback(TOOL, events.PY_START, self.enter)
            sys.monitoring.register_callback(TOOL, events.LINE, self.note)
            sys.monitoring.set_events(TOOL, events.PY_START)

    def enter(self, code, offset):
        """Have the lines of a function told, where it is in one of the files."""
        if code.co_filename in self.lines:
            sys.monitoring.set_local_events(TOOL, code, sys.monitoring.events.LINE)
        return sys.monitoring.DISABLE

    def note(self, code, line):
        """Keep a line."""
        self.lines[code.co_filename].add(line)
        return sys.monitoring.DISABLE

    def trace(self, frame, event, argument):
        """Keep a line where Python has no cheaper way; calls in other files end here."""
        lines = self.lines.get(frame.f_code.co_filename)
        if lines is not None and event == "line":
            lines.add(frame.f_lineno)
        return None if lines is None else self.trace

    def take(self):
        """Return the lines executed since the last call, by path, as the bits of a number."""
        if self.paths and sys.version_info >= (3, 12):
            sys.monitoring.restart_events()
        taken = [sum(1 << line for line in lines) for lines in self.lines.values()]
        for lines in self.lines.values():
            lines.clear()
        return [[path, "%x" % bits] for path, bits in zip(self.paths, taken) if bits]


class Calls:
    """Notes the functions that are called from here on; what with does not matter."""

    def __init__(self):
        self.codes = {}
        self.begin(self.note)

    @staticmethod
    def begin(note):
        """Have each call told to `note`, None for nothing any more."""
        threading.setprofile(note)
        sys.setprofile(note)

    def note(self, frame, event, argument):
        """Keep the code of each call, once."""
        if event == "call":
            self.codes[id(frame.f_code)] = frame.f_code

    def end(self):
        """Stop, and return the file and first line of each function."""
        self.begin(None)
        codes = list(self.codes.values())
        return sorted({(code.co_filename, code.co_firstlineno) for code in codes})


class ProjectCalls(Calls):
    """Watches calls up to the first one of code of `packages` that is not in a test file."""

    def __init__(self, packages, test_files):
        self.packages = packages
        self.test_files = frozenset(map(os.path.abspath, test_files))
        #: True when there was one; None when that cannot be told: the project's packages are not
        #: known, or a process was started, in which it may have run.
        self.seen = False if packages else None

    def __enter__(self):
        self.begin(self.note)
        return self

    def __exit__(self, *_):
        self.begin(None)

    def note(self, frame, event, argument):
        """Look at a call: of a function, or of one written in C by the module that it is of."""
        modules = []
        if event == "call" and frame.f_code.co_filename not in self.test_files:
            modules = [frame.f_globals.get("__name__")]
            if modules == ["subprocess"] and self.seen is False:
                self.seen = None
        elif event == "c_call":
            owner = type(getattr(argument, "__self__", None))
            modules = [getattr(argument, "__module__", None), owner.__module__]
        if any(map(self.is_project, modules)):
            self.seen = True
            sys.setprofile(None)

    def is_project(self, module):
        """Return whether a module, by its name, is one of the project's and no test."""
        names = module.split(".") if isinstance(module, str) else [""]
        return names[0] in self.packages and not names[-1].startswith(("test_", "conftest"))
