"""Sees whether code of the project runs. Standard library, Python 3.8+."""

import sys
import threading

start = sys.modules["_brt_start"]
describe = start.load("describe")


class ProjectCalls:
    """Watches calls, by the profile hook, up to the first one of the project's code."""

    def __init__(self, packages, is_test_file):
        self.packages = packages
        self.is_test_file = is_test_file
        #: True when there was one; None when that cannot be told: the project's packages are not
        #: known, or a process was started, in which it may have run.
        self.seen = False if packages else None

    def __enter__(self):
        self.before = sys.getprofile()
        if self.before is None:
            threading.setprofile(self.look)
            sys.setprofile(self.look)
        else:
            self.seen = None  # somebody else is looking
        return self

    def __exit__(self, *_):
        if self.before is None:
            sys.setprofile(None)
            threading.setprofile(None)

    def look(self, frame, event, argument):
        """Be told of a call."""
        if event == "call":
            module = frame.f_globals.get("__name__")
            if module == "subprocess" and self.seen is False:
                self.seen = None
            ours = self.is_project(module) and not self.is_test_file(frame.f_code.co_filename)
        elif event == "c_call":
            owner = type(getattr(argument, "__self__", None))
            names = (getattr(argument, "__module__", None), getattr(owner, "__module__", None))
            ours = any(map(self.is_project, names))
        else:
            return
        if ours:
            self.seen = True
            sys.setprofile(None)

    def is_project(self, module):
        """Return whether a module, by its name, is one of the project's and no test."""
        if not describe.belongs(module, self.packages):
            return False
        return not module.rpartition(".")[2].startswith(("test_", "conftest"))
