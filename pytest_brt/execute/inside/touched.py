"""Sees whether the patched code is what ran. Standard library, Python 3.8+."""

import hashlib
import os
import sys
import threading

#: Numbers 0 to 2 and 5 are meant for debuggers, coverage and profilers (sys.monitoring).
TOOL = 4


class Touched:
    """The files that a patch changed: their modules' origin and content, their lines run."""

    def __init__(self, root, files, watch=()):
        """Take `files`: path, candidate names, digest (None if deleted) and lines of each.

        Which lines of the files `watch` each test executes is noted whatever that costs.
        """
        self.root = os.path.realpath(root)
        self.files = files
        self.mapped = {self.at(path): path for path in watch}
        # Asked before anything of the subject runs: a test may well write to the file later.
        self.intact = {f["path"]: _has_content(self.at(f["path"]), f["digest"]) for f in files}
        self.wanted = {}
        self.seen = {}
        self.watching = False
        #: Whether a changed line ran before the first test, and whether one ever ran.
        self.early = None
        self.ever = False

    def at(self, path):
        """Return where a file of the project lies."""
        return os.path.join(self.root, path)

    def watch(self):
        """Start noting which changed lines are executed, where Python can do it cheaply."""
        monitoring = getattr(sys, "monitoring", None)
        if monitoring is None:
            self.watching = bool(self.mapped) and sys.gettrace() is None
        else:
            self.watching = monitoring.get_tool(TOOL) is None
        if not self.watching:
            return
        self.wanted = {self.at(file["path"]): frozenset(file["lines"]) for file in self.files}
        self.seen = {path: set() for path in (*self.wanted, *self.mapped)}
        if monitoring is None:
            sys.settrace(self._trace)
            threading.settrace(self._trace)
            return
        monitoring.use_tool_id(TOOL, "brt")
        events = monitoring.events
        monitoring.register_callback(TOOL, events.PY_START, self._start)
        monitoring.register_callback(TOOL, events.LINE, self._line)
        monitoring.set_events(TOOL, events.PY_START)

    def _start(self, code, offset):
        if code.co_filename in self.seen:
            self._look_into(code)
        return sys.monitoring.DISABLE

    def _look_into(self, code):
        sys.monitoring.set_local_events(TOOL, code, sys.monitoring.events.LINE)
        for inner in code.co_consts:
            if isinstance(inner, type(code)):
                self._look_into(inner)

    def _line(self, code, line):
        seen = self.seen.get(code.co_filename)
        if seen is not None:
            seen.add(line)
        return sys.monitoring.DISABLE

    def _trace(self, frame, event, argument):
        """Note a line where Python has no cheaper way; calls in other files end here."""
        seen = self.seen.get(frame.f_code.co_filename)
        if seen is None:
            return None
        if event == "line":
            seen.add(frame.f_lineno)
        return self._trace

    def begin(self):
        """Begin a test: what is executed from here on is its own."""
        if not self.watching:
            return
        self.ever = self.ever or self._any()
        if self.early is None:
            self.early = self.ever
        for lines in self.seen.values():
            lines.clear()
        if hasattr(sys, "monitoring"):
            sys.monitoring.restart_events()

    def reached(self):
        """Return whether the test, or loading its file, ran a changed line; None if unknown."""
        return (self.early or self._any()) if self.watching else None

    def ran(self):
        """Return [path, lines] of what the test executed, the lines as the bits of a number."""
        ran = [(name, self.seen.get(path)) for path, name in self.mapped.items()]
        return [[name, "%x" % sum(1 << line for line in lines)] for name, lines in ran if lines]

    def _any(self):
        return any(self.seen[path] & self.wanted[path] for path in self.wanted)

    def tell(self, wire):
        """Tell [path, state, origin] of each file, if any, and whether a changed line ran.

        States: "patched", "other" (another file, or other content, was imported),
        "missing" (not imported). The second value is None when lines were not watched.
        """
        if self.files:
            states = [self._state(file["path"], file["names"]) for file in self.files]
            lines = self.ever or self._any() if self.watching else None
            wire.send("touched", states=states, lines=lines)

    def _state(self, path, names):
        expected = self.at(path)
        state = "missing"
        for name in names:
            module = sys.modules.get(name)
            spec = getattr(module, "__spec__", None)
            origin = getattr(spec, "origin", None) or getattr(module, "__file__", None)
            if not isinstance(origin, str):
                continue
            if os.path.realpath(origin) != expected or not self.intact[path]:
                return [path, "other", origin]
            state = "patched"
        return [path, state, expected if state == "patched" else ""]


def _has_content(path, digest):
    if digest is None:
        return False
    try:
        with open(path, "rb") as stream:
            return hashlib.sha256(stream.read()).hexdigest() == digest
    except OSError:
        return False
