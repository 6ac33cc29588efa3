"""Runs tests and notes which lines of the project each of them runs. Python 3.8+, pytest 6.2+.

With coverage.py where the subject has it, with a trace function of its own otherwise. It is asked
by statements that `observe` runs.
"""

import base64
import json
import os
import sys
import threading
import zlib

#: Characters of the answer that are given at a time.
PART = 15000


class WithCoverage:
    """Notes lines by coverage.py, a context per test."""

    def __init__(self, root):
        import coverage

        self.root = root
        self.cover = coverage.Coverage(
            data_file=None, config_file=False, include=[os.path.join(root, "*")], messages=False
        )
        self.cover.start()

    def begin(self, test):
        """Count what runs from here on for `test`."""
        self.cover.switch_context(test)

    def end(self):
        """Count what runs from here on for no test."""
        self.cover.switch_context("")

    def lines(self):
        """Return {test: {file: lines}}."""
        self.cover.stop()
        data = self.cover.get_data()
        found = {}
        for path in data.measured_files():
            for line, contexts in data.contexts_by_lineno(path).items():
                for context in contexts:
                    if context:
                        found.setdefault(context, {}).setdefault(path, set()).add(line)
        return found


class WithTrace:
    """Notes lines by a trace function."""

    def __init__(self, root):
        self.prefix = root + os.sep
        self.ours = {}
        self.found = {}
        self.now = None

    def begin(self, test):
        """Count what runs from here on for `test`."""
        self.now = self.found.setdefault(test, {})
        threading.settrace(self.trace)
        sys.settrace(self.trace)

    def end(self):
        """Count what runs from here on for no test."""
        sys.settrace(None)
        threading.settrace(None)

    def trace(self, frame, event, argument):
        """Follow calls of the project's functions only."""
        name = frame.f_code.co_filename
        ours = self.ours.get(name)
        if ours is None:
            path = os.path.abspath(name)
            is_file = not name.startswith("<")
            ours = self.ours[name] = path if is_file and path.startswith(self.prefix) else ""
        if not ours:
            return None
        lines = self.now.setdefault(ours, set())

        def local(frame, event, argument):
            if event == "line":
                lines.add(frame.f_lineno)
            return local

        return local

    def lines(self):
        """Return {test: {file: lines}}."""
        return self.found


class Notes:
    """A plugin of pytest: begins and ends each test, and keeps what came of it."""

    def __init__(self, watch):
        self.watch = watch
        self.outcomes = {}
        self.number = {}

    def pytest_runtest_logstart(self, nodeid):
        """Begin a test; contexts are numbers, so that no name can be too odd for coverage."""
        number = self.number.setdefault(nodeid, str(len(self.number) + 1))
        self.outcomes.setdefault(nodeid, "passed")
        self.watch.begin(number)

    def pytest_runtest_logfinish(self, nodeid):
        """End a test."""
        self.watch.end()

    def pytest_runtest_logreport(self, report):
        """Keep the worst of its phases."""
        if report.outcome != "passed" or hasattr(report, "wasxfail"):
            odd = report.outcome == "skipped" or hasattr(report, "wasxfail")
            self.outcomes[report.nodeid] = "skipped" if odd else "failed"


def find_root(source_root):
    """Return the private view of the project: what the first source root lies in."""
    first = os.environ["PYTHONPATH"].split(os.pathsep)[0]
    return os.path.realpath(os.path.join(first, os.path.relpath(".", source_root)))


class Calls:
    """Notes the functions of the project that are called from here on."""

    def __init__(self, source_root):
        self.root = find_root(source_root)
        self.codes = {}
        threading.setprofile(self.note)
        sys.setprofile(self.note)

    def note(self, frame, event, argument):
        """Keep the code of each call, once; what it is called with does not matter."""
        if event == "call":
            self.codes[id(frame.f_code)] = frame.f_code

    def parts(self):
        """Stop, and return the parts of the answer: the file and first line of each function."""
        sys.setprofile(None)
        threading.setprofile(None)
        found = set()
        for code in self.codes.values():
            path = os.path.realpath(code.co_filename)
            if path.startswith(self.root + os.sep):
                name = os.path.relpath(path, self.root).replace(os.sep, "/")
                found.add((name, code.co_firstlineno))
        return packed(sorted(found))


def packed(data):
    """Return `data` as texts that are short enough to be told as values."""
    text = json.dumps(data).encode("utf-8")
    whole = base64.b64encode(zlib.compress(text, 9)).decode("ascii")
    return [whole[at : at + PART] for at in range(0, len(whole), PART)]


def run(nodes, source_root, args, prefer):
    """Run the tests and return the parts of the answer."""
    import pytest

    root = find_root(source_root)
    try:
        if prefer != "coverage":
            raise ImportError(prefer)
        watch, by = WithCoverage(root), "coverage"
    except Exception:  # not installed, or one that cannot start here
        watch, by = WithTrace(root), "trace"
    notes = Notes(watch)
    where = [os.path.join(root, node) for node in nodes]
    options = ["--rootdir", root, "--confcutdir", root, "-o", "addopts=", "-p", "no:cacheprovider"]
    options.append("--continue-on-collection-errors")
    os.chdir(root)
    pytest.main([*where, *options, "-q", "--tb=no", *args], plugins=[notes])
    found = watch.lines()
    tests = []
    for node, number in notes.number.items():
        files = {}
        for path, lines in found.get(number, {}).items():
            if os.path.realpath(path).startswith(root + os.sep):
                name = os.path.relpath(os.path.realpath(path), root).replace(os.sep, "/")
                files[name] = sorted(lines)
        tests.append([node, notes.outcomes[node], files])
    return packed({"by": by, "tests": tests})
