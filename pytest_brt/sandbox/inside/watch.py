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
        self.paths = paths
        self.lines = {os.path.abspath(path): set() for path in paths}
        self.monitoring = getattr(sys, "monitoring", None) if paths else None
        if self.monitoring:
            events = self.monitoring.events
            self.monitoring.use_tool_id(TOOL, "brt")
            self.monitoring.register_callback(TOOL, events.PY_START, self.enter)
            self.monitoring.register_callback(TOOL, events.LINE, self.note)
            self.monitoring.set_events(TOOL, events.PY_START)
        elif paths:
            sys.settrace(self.trace)
            threading.settrace(self.trace)

    def enter(self, code, offset):
        """Have the lines of a function told, where it is in one of the files."""
        if code.co_filename in self.lines:
            self.monitoring.set_local_events(TOOL, code, self.monitoring.events.LINE)
        return self.monitoring.DISABLE

    def note(self, code, line):
        """Keep a line."""
        self.lines[code.co_filename].add(line)
        return self.monitoring.DISABLE

    def trace(self, frame, event, argument):
        """Keep a line where Python has no cheaper way; calls in other files end here."""
        lines = self.lines.get(frame.f_code.co_filename)
        if lines is not None and event == "line":
            lines.add(frame.f_lineno)
        return None if lines is None else self.trace

    def take(self):
        """Return the lines executed since the last call, by path, as the bits of a number."""
        taken = [sum(1 << line for line in lines) for lines in self.lines.values()]
        for lines in self.lines.values():
            lines.clear()
        if self.monitoring:
            self.monitoring.restart_events()
        return [[path, "%x" % bits] for path, bits in zip(self.paths, taken) if bits]


class Calls:
    """Whether a function is called from here on that is of `packages` and no test.

    With `keeps_all` also all that are called; else it costs nothing more after the first.
    """

    def __init__(self, packages, keeps_all=False):
        self.packages = packages
        self.keeps_all = keeps_all
        self.codes = {}
        #: None when that cannot be told: the project's packages are not known, or a process was
        #: started, in which it may have run.
        self.seen = False if packages else None
        threading.setprofile(self.note)
        sys.setprofile(self.note)

    def note(self, frame, event, argument):
        """Keep the code of each call, once, and the module of what is written in C."""
        module = ""
        if event == "call":
            module = frame.f_globals.get("__name__")
            self.codes[id(frame.f_code)] = frame.f_code
        elif event == "c_call":
            owner = type(getattr(argument, "__self__", None))
            module = getattr(argument, "__module__", None) or owner.__module__
        names = module.split(".") if isinstance(module, str) else [""]
        if names[0] in self.packages and not names[-1].startswith(("test_", "conftest")):
            self.seen = True
            if not self.keeps_all:
                sys.setprofile(None)
        elif module == "subprocess" and not self.seen:
            self.seen = None

    def end(self):
        """Stop, and return the file and first line of each function."""
        sys.setprofile(None)
        threading.setprofile(None)
        codes = list(self.codes.values())
        return sorted({(code.co_filename, code.co_firstlineno) for code in codes})
