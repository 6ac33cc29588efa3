"""Runs pytest once and tells what happens. Runs in the project: Python 3.8+, pytest 6.2+.

The plugin is handed to pytest as an object: passing it by name would warn about a module
imported too early, an error under ``filterwarnings = error``.
"""

import atexit
import inspect
import os
import sys
import threading

import pytest
from _pytest import hookspec, runner

start = sys.modules["_brt_start"]
describe = start.load("describe")
lines = start.load("lines")
project_calls = start.load("project_calls")

#: What the hook calls the path that it is asked about has changed with pytest 7.0.
PATH_NAMES = inspect.signature(hookspec.pytest_ignore_collect).parameters
OUTPUT_LIMIT = 8000


def cpu_seconds():
    """Return the CPU seconds of this process and of those it has waited for."""
    times = os.times()
    return times.user + times.system + times.children_user + times.children_system


class Selection:
    """Which items run, and in which order: by whole names, as ``--deselect`` takes beginnings."""

    def __init__(self, order):
        self.root = order["folder"]
        #: Node ids below each file that are wanted, None for all of them.
        self.nodes = {path: nodes and frozenset(nodes) for path, nodes in order["tests"]}
        self.places = {path: place for place, path in enumerate(self.nodes)}
        self.done = frozenset(order["done"])
        self.reverse = order["reverse"]
        self.files = frozenset(os.path.join(self.root, path) for path in self.nodes)

    def ignores(self, path):
        """Return whether a path is off the way to all files; None where pytest may decide."""
        if path in self.files:
            return False
        if os.path.basename(path) == "__init__.py":
            return None
        return not any(file.startswith(path + os.sep) for file in self.files)

    def wants(self, item):
        """Return whether an item is to be run."""
        path, _, node = item.nodeid.partition("::")
        wanted = self.nodes.get(path, frozenset())
        chosen = wanted is None or node in wanted or node.partition("[")[0] in wanted
        return chosen and item.nodeid not in self.done

    def apply(self, items):
        """Return the items to run, file by file as they were asked for."""
        chosen = sorted(filter(self.wants, items), key=lambda i: self.places[self.path_of(i)])
        return chosen[::-1] if self.reverse else chosen

    @staticmethod
    def path_of(item):
        """Return the path of the file that an item is in, from the project's root."""
        return item.nodeid.partition("::")[0]


class ChangedModules:
    """From where the modules were imported that a patch changes."""

    def __init__(self, files):
        self.files = files
        self.real = {}

    def origins(self):
        """Return path and origin of each module that was imported by one of its names."""
        found = []
        for path, names in self.files:
            for module in filter(None, map(sys.modules.get, names)):
                spec = getattr(module, "__spec__", None)
                origin = getattr(spec, "origin", None) or getattr(module, "__file__", None)
                if isinstance(origin, str):
                    if origin not in self.real:
                        self.real[origin] = os.path.realpath(origin)
                    found.append([path, self.real[origin]])
        return found


class Plugin:
    """Tells the tool what pytest does, as it happens."""

    def __init__(self, order, events):
        self.events = events
        self.selection = Selection(order)
        self.packages = frozenset(order["packages"])
        #: Files of tests each of which is run in a fork: they are to leave nothing to another.
        self.isolated = frozenset(order["isolated"])
        self.modules = ChangedModules(order["changed"])
        self.monitor = lines.LineMonitor([os.path.join(order["folder"], p) for p in order["watch"]])
        self.own_files = start.own_files()
        #: Whether the body of the running test ran code of the project; None when not known.
        self.used = None
        self.failed = False
        self.began = 0.0

    def describe(self, error):
        """Return an exception as plain data, or None."""
        return error and describe.describe(error, self.packages, self.own_files)

    @pytest.hookimpl(tryfirst=True)
    def pytest_cmdline_parse(self, pluginmanager, args):
        """Load plugins as pytest does that finds them by itself.

        By ``-p`` it takes the name for a module's too and rewrites the asserts in all of it: in
        the whole of Django, for the plugin `django`.
        """
        for word, name in zip(args, args[1:]):
            if word == "-p" and not name.startswith("no:"):
                try:
                    pluginmanager.load_setuptools_entrypoints("pytest11", name=name)
                except Exception:
                    return  # pytest is to say what is wrong with it

    if "collection_path" in PATH_NAMES:

        @pytest.hookimpl(tryfirst=True)
        def pytest_ignore_collect(self, collection_path):
            """Spare pytest the look at every neighbour of the files."""
            return self.selection.ignores(str(collection_path))

    else:

        @pytest.hookimpl(tryfirst=True)
        def pytest_ignore_collect(self, path):
            """Spare pytest the look at every neighbour of the files."""
            return self.selection.ignores(str(path))

    @pytest.hookimpl(trylast=True)
    def pytest_collection_modifyitems(self, items):
        """Leave out what was not asked for, and what an earlier process did."""
        items[:] = self.selection.apply(items)

    def pytest_collection_finish(self, session):
        """Tell which items are to run."""
        nodes = [item.nodeid for item in session.items]
        self.events.send("collected", nodes=nodes, cpu=cpu_seconds(), lines=self.monitor.take())

    def pytest_collectreport(self, report):
        """Tell of a file that was skipped as a whole."""
        if report.outcome == "skipped":
            reason = report.longrepr
            reason = reason[-1] if isinstance(reason, tuple) else reason
            self.events.send("file_skipped", node=report.nodeid, text=str(reason)[:OUTPUT_LIMIT])

    def pytest_exception_interact(self, call, report):
        """Tell of an error while collecting; errors of tests are told by makereport."""
        if getattr(report, "when", None) == "collect":
            error = call.excinfo.value
            if type(error).__name__ == "CollectError":
                error = error.__cause__ or error.__context__ or error
            text = str(report.longrepr)[-OUTPUT_LIMIT:]
            self.events.send(
                "file_failed", node=report.nodeid, raised=self.describe(error), text=text
            )

    @pytest.hookimpl(tryfirst=True)
    def pytest_runtest_protocol(self, item):
        """Run an item that is to be alone in a fork; threads do not survive one."""
        if self.selection.path_of(item) not in self.isolated or threading.active_count() > 1:
            return None
        self.events.send("fork", node=item.nodeid)
        try:
            child = os.fork()
        except OSError:  # there are too many processes: then it has to run here
            return None
        if not child:
            self.run_and_exit(item)
        _, status = os.waitpid(child, 0)
        code = -os.WTERMSIG(status) if os.WIFSIGNALED(status) else os.WEXITSTATUS(status)
        self.events.send("joined", node=item.nodeid, code=code)
        return True

    def run_and_exit(self, item):
        """Run one item, and end the process as Python does."""
        item.ihook.pytest_runtest_logstart(nodeid=item.nodeid, location=item.location)
        try:
            runner.runtestprotocol(item, nextitem=None, log=False)
        except BaseException as error:  # it would end the run of all tests
            self.events.send("interrupted", node=item.nodeid, raised=self.describe(error))
            os._exit(1)
        item.ihook.pytest_runtest_logfinish(nodeid=item.nodeid, location=item.location)
        for stream in (sys.stdout, sys.stderr):
            stream.flush()
        threading._shutdown()
        atexit._run_exitfuncs()
        os._exit(int(self.failed))

    def pytest_runtest_logstart(self, nodeid, location):
        """Tell that an item starts: its time counts from here."""
        self.began = cpu_seconds()
        self.monitor.take()
        self.failed = False
        self.events.send("begin", node=nodeid)

    def pytest_runtest_logfinish(self, nodeid, location):
        """Tell that an item is through with all its phases."""
        self.events.send(
            "end",
            node=nodeid,
            code=int(self.failed),
            lines=self.monitor.take(),
            monitored=self.monitor.is_on,
            origins=self.modules.origins(),
            cpu=cpu_seconds() - self.began,
        )

    @pytest.hookimpl(hookwrapper=True, trylast=True)
    def pytest_runtest_call(self, item):
        """See whether the test runs code of the project; importing it alone is no use of it."""
        self.used = None
        if self.selection.path_of(item) not in self.isolated:
            yield
            return
        with project_calls.ProjectCalls(self.packages, self.selection.files.__contains__) as calls:
            yield
        self.used = calls.seen

    @pytest.hookimpl(hookwrapper=True, tryfirst=True)
    def pytest_runtest_makereport(self, item, call):
        """Tell what a phase did, from the exception itself and not only the report."""
        error = call.excinfo.value if call.excinfo is not None else None
        outcome = yield
        report = outcome.get_result()
        # What unittest caught is only put there while the report is made.
        if error is None and call.excinfo is not None and report.outcome == "failed":
            error = call.excinfo.value
        self.failed = self.failed or report.outcome == "failed"
        printed = "".join(text for _, text in report.sections)
        is_skip = report.outcome == "skipped" and isinstance(report.longrepr, tuple)
        self.events.send(
            "phase",
            node=item.nodeid,
            when=call.when,
            outcome=report.outcome,
            xfail=hasattr(report, "wasxfail"),
            reason=str(report.longrepr[-1] if is_skip else getattr(report, "wasxfail", ""))[
                :OUTPUT_LIMIT
            ],
            duration=float(getattr(report, "duration", 0.0) or 0.0),
            raised=self.describe(error),
            used=self.used if call.when == "call" else None,
            text="" if error is not None else str(report.longrepr or "")[-OUTPUT_LIMIT:],
            output=printed[-OUTPUT_LIMIT:],
        )

    def pytest_internalerror(self, excrepr, excinfo):
        """Tell that pytest itself, or a plugin, broke."""
        self.events.send("internal_error", raised=self.describe(excinfo.value))

    def pytest_keyboard_interrupt(self, excinfo):
        """Tell that the run was broken off (``pytest.exit`` too)."""
        self.events.send("interrupted", raised=self.describe(excinfo.value))


def main(order, events):
    """Run pytest; in a fork it does not come back here."""
    plugin = Plugin(order, events)
    sys.argv[:] = ["pytest"] + order["arguments"]
    code = int(pytest.main(order["arguments"], plugins=[plugin]))
    events.send("finish", code=code)
    sys.exit(code)
