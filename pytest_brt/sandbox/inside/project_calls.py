"""Sees whether code of the project runs. Standard library, Python 3.8+."""

import sys
import threading

start = sys.modules["_brt_start"]
describe = start.load("describe")


class ProjectCalls:
    """Watches calls, by the profile hook, up to the first one of the project's code."""

    def __init__(self, packages, test_files):
        self.packages = packages
        self.test_files = test_files
        #: True when there was one; None when that cannot be told: the project's packages are not
        #: known, or a process was started, in which it may have run.
        self.seen = False if packages else None

    def __enter__(self):
        threading.setprofile(self.look)
        sys.setprofile(self.look)
        return self

    def __exit__(self, *_):
        sys.setprofile(None)
        threading.setprofile(None)

    def look(self, frame, event, argument):
        """Look at a call."""
        modules = []
        if event == "call" and frame.f_code.co_filename not in self.test_files:
            modules = [frame.f_globals.get("__name__")]
            if modules == ["subprocess"] and self.seen is False:
                self.seen = None
        elif event == "c_call":
            owner = type(getattr(argument, "__self__", None))
            modules = [getattr(argument, "__module__", None), getattr(owner, "__module__", None)]
        if any(map(self.is_project, modules)):
            self.seen = True
            sys.setprofile(None)

    def is_project(self, module):
        """Return whether a module, by its name, is one of the project's and no test."""
        if not describe.belongs(module, self.packages):
            return False
        return not module.rpartition(".")[2].startswith(("test_", "conftest"))
