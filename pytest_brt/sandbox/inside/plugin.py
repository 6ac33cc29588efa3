"""Runs pytest once and reports what happens. Runs in the project: Python 3.8+, pytest 6.2+.

The plugin is handed to pytest as an object: passing it by name would warn about a module
imported too early, an error under ``filterwarnings = error``.
"""

import atexit
import functools
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
HAS_PATH = "collection_path" in inspect.signature(hookspec.pytest_ignore_collect).parameters
OUTPUT_LIMIT = 8000


def cpu_seconds():
    """Return the CPU seconds of this process and of those it has waited for."""
    return sum(os.times()[:4])


def path_of(item):
    """Return the path of the file that an item is in, from the project's root."""
    return item.nodeid.partition("::")[0]


class Plugin:
    """Reports to the tool what pytest does, as it happens."""

    def __init__(self, order, events):
        self.events = events
        #: Node ids below each file that are wanted, "" for all of them.
        self.nodes = {path: frozenset(nodes) for path, nodes in order["tests"]}
        self.places = {path: place for place, path in enumerate(self.nodes)}
        self.files = frozenset(os.path.join(order["folder"], path) for path in self.nodes)
        self.done = frozenset(order["done"])
        self.reverse = order["reverse"]
        self.packages = frozenset(order["packages"])
        #: Files of tests each of which is run in a fork: they are to leave nothing to another.
        self.isolated = frozenset(order["isolated"])
        self.own_files = start.own_files()
        #: Path and names of each module that is changed.
        self.changed = order["changed"]
        self.realpath = functools.lru_cache(None)(os.path.realpath)
        self.monitor = lines.LineMonitor([os.path.join(order["folder"], p) for p in order["watch"]])
        #: Whether the body of the running test ran code of the project; None when not known.
        self.used = None
        self.failed = False
        self.began = 0.0

    def send(self, event, error=None, **fields):
        """Report an event, with an exception as plain data."""
        if error is not None:
            fields["raised"] = describe.describe(error, self.packages, self.own_files)
        self.events.send(event, **fields)

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

    def ignores(self, path):
        """Return whether a path is off the way to all files; None where pytest may decide."""
        if os.path.basename(path) == "__init__.py" and path not in self.files:
            return None
        return path not in self.files and not any(f.startswith(path + os.sep) for f in self.files)

    if HAS_PATH:

        @pytest.hookimpl(tryfirst=True)
        def pytest_ignore_collect(self, collection_path):
            """Spare pytest the look at every neighbour of the files."""
            return self.ignores(str(collection_path))

    else:

        @pytest.hookimpl(tryfirst=True)
        def pytest_ignore_collect(self, path):
            """Spare pytest the look at every neighbour of the files."""
            return self.ignores(str(path))

    def wants(self, item):
        """Return whether an item is to be run: by whole names, as --deselect takes beginnings."""
        path, _, node = item.nodeid.partition("::")
        wanted = self.nodes.get(path, frozenset())
        chosen = wanted.intersection(("", node, node.partition("[")[0]))
        return bool(chosen) and item.nodeid not in self.done

    @pytest.hookimpl(trylast=True)
    def pytest_collection_modifyitems(self, items):
        """Keep what was asked for and not done yet, file by file in that order."""
        items[:] = sorted(filter(self.wants, items), key=lambda item: self.places[path_of(item)])
        if self.reverse:
            items.reverse()

    def pytest_collection_finish(self, session):
        """Report which items are to run."""
        self.monitor.take()
        self.send("collected", nodes=[item.nodeid for item in session.items])

    def pytest_collectreport(self, report):
        """Report a file that was skipped as a whole."""
        if report.outcome == "skipped":
            reason = report.longrepr
            reason = reason[-1] if isinstance(reason, tuple) else reason
            self.send("file_skipped", node=report.nodeid, text=str(reason)[:OUTPUT_LIMIT])

    def pytest_exception_interact(self, call, report):
        """Report an error while collecting; those of tests are reported by makereport."""
        if getattr(report, "when", None) == "collect":
            error = call.excinfo.value
            if type(error).__name__ == "CollectError":
                error = error.__cause__ or error.__context__ or error
            self.send("file_failed", error, node=report.nodeid, when="collect")

    @pytest.hookimpl(tryfirst=True)
    def pytest_runtest_protocol(self, item):
        """Run an item that is to be alone in a fork; threads do not survive one."""
        if path_of(item) not in self.isolated or threading.active_count() > 1:
            return None
        self.send("fork", node=item.nodeid)
        try:
            child = os.fork()
        except OSError:  # there are too many processes: then it has to run here
            return None
        if not child:
            self.run_and_exit(item)
        _, status = os.waitpid(child, 0)
        code = -os.WTERMSIG(status) if os.WIFSIGNALED(status) else os.WEXITSTATUS(status)
        self.send("joined", node=item.nodeid, code=code)
        return True

    def run_and_exit(self, item):
        """Run one item, and end the process as Python does."""
        item.ihook.pytest_runtest_logstart(nodeid=item.nodeid, location=item.location)
        try:
            runner.runtestprotocol(item, nextitem=None, log=False)
        except BaseException as error:  # it would end the run of all tests
            self.send("broken_off", error, node=item.nodeid)
            os._exit(1)
        item.ihook.pytest_runtest_logfinish(nodeid=item.nodeid, location=item.location)
        for stream in (sys.stdout, sys.stderr):
            stream.flush()
        threading._shutdown()
        atexit._run_exitfuncs()
        os._exit(int(self.failed))

    def pytest_runtest_logstart(self, nodeid, location):
        """Report that an item starts: its time counts from here."""
        self.began = cpu_seconds()
        self.monitor.take()
        self.failed = False
        self.send("begin", node=nodeid)

    def pytest_runtest_logfinish(self, nodeid, location):
        """Report that an item is through with all its phases."""
        self.send(
            "end",
            node=nodeid,
            code=int(self.failed),
            lines=self.monitor.take(),
            origins=self.origins(),
            cpu=cpu_seconds() - self.began,
        )

    def origins(self):
        """Return path and origin of each changed module that was imported by one of its names."""
        found = []
        for path, names in self.changed:
            for module in filter(None, map(sys.modules.get, names)):
                spec = getattr(module, "__spec__", None)
                origin = getattr(spec, "origin", None) or getattr(module, "__file__", None)
                if isinstance(origin, str):
                    found.append([path, self.realpath(origin)])
        return found

    @pytest.hookimpl(hookwrapper=True, trylast=True)
    def pytest_runtest_call(self, item):
        """See whether the test runs code of the project; importing it alone is no use of it."""
        self.used = None
        if path_of(item) not in self.isolated:
            yield
            return
        with project_calls.ProjectCalls(self.packages, self.files) as calls:
            yield
        self.used = calls.seen

    @pytest.hookimpl(hookwrapper=True, tryfirst=True)
    def pytest_runtest_makereport(self, item, call):
        """Report what a phase did, from the exception itself and not only the report."""
        error = call.excinfo.value if call.excinfo else None
        outcome = yield
        report = outcome.get_result()
        # What unittest caught is only put there while the report is made.
        if report.outcome == "failed":
            self.failed = True
            error = call.excinfo.value if call.excinfo else None
        reason = getattr(report, "wasxfail", "")
        if report.outcome == "skipped" and isinstance(report.longrepr, tuple):
            reason = report.longrepr[-1]
        self.send(
            "phase",
            error,
            node=item.nodeid,
            when=call.when,
            outcome=report.outcome,
            xfail=hasattr(report, "wasxfail"),
            reason=str(reason)[:OUTPUT_LIMIT],
            duration=call.stop - call.start,
            used=self.used if call.when == "call" else None,
            text=str(report.longrepr or "")[-OUTPUT_LIMIT:] if error is None else "",
            output="".join(printed for _, printed in report.sections)[-OUTPUT_LIMIT:],
        )

    def pytest_internalerror(self, excrepr, excinfo):
        """Report that pytest itself, or a plugin, broke."""
        self.send("broken_off", excinfo.value)

    def pytest_keyboard_interrupt(self, excinfo):
        """Report that the run was broken off (``pytest.exit`` too)."""
        self.send("broken_off", excinfo.value)


def main(order, events):
    """Run pytest with the project's own options, but for its selection.

    In a fork it does not come back here.
    """
    plugin = Plugin(order, events)
    arguments = [*plugin.nodes, "--rootdir", order["folder"], "--confcutdir", order["folder"]]
    arguments += ["-o", "addopts=", "-p", "no:cacheprovider", "-p", "no:faulthandler", "-q"]
    arguments += ["--tb=short", "--continue-on-collection-errors", *order["options"]]
    if not order["has_settings"]:
        arguments += ["-c", os.path.join(start.HERE, "empty.ini")]
    sys.argv[:] = ["pytest", *arguments]
    code = int(pytest.main(arguments, plugins=[plugin]))
    events.send("finish", code=code)
    sys.exit(code)
