"""Notes which lines of some files are executed. Standard library, Python 3.8+."""

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
        self.executed = {path: set() for path in paths}
        monitoring = getattr(sys, "monitoring", None)
        if monitoring is None:
            self.is_on = bool(paths) and sys.gettrace() is None
        else:
            self.is_on = bool(paths) and monitoring.get_tool(TOOL) is None
        if not self.is_on:
            return
        if monitoring is None:
            sys.settrace(self.trace)
            threading.settrace(self.trace)
            return
        monitoring.use_tool_id(TOOL, "brt")
        events = monitoring.events
        monitoring.register_callback(TOOL, events.PY_START, self.enter)
        monitoring.register_callback(TOOL, events.LINE, self.note)
        monitoring.set_events(TOOL, events.PY_START)

    def enter(self, code, offset):
        """Have the lines of a function told, where it is in one of the files."""
        if code.co_filename in self.executed:
            self.listen(code)
        return sys.monitoring.DISABLE

    def listen(self, code):
        """Have the lines of some code told, and of what is defined in it."""
        sys.monitoring.set_local_events(TOOL, code, sys.monitoring.events.LINE)
        for inner in code.co_consts:
            if isinstance(inner, type(code)):
                self.listen(inner)

    def note(self, code, line):
        """Keep a line."""
        lines = self.executed.get(code.co_filename)
        if lines is not None:
            lines.add(line)
        return sys.monitoring.DISABLE

    def trace(self, frame, event, argument):
        """Keep a line where Python has no cheaper way; calls in other files end here."""
        lines = self.executed.get(frame.f_code.co_filename)
        if lines is None:
            return None
        if event == "line":
            lines.add(frame.f_lineno)
        return self.trace

    def take(self):
        """Return the lines executed since the last call, by path."""
        taken = {path: sorted(lines) for path, lines in self.executed.items() if lines}
        for lines in self.executed.values():
            lines.clear()
        if self.is_on and hasattr(sys, "monitoring"):
            sys.monitoring.restart_events()
        return taken
