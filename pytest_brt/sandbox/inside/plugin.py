"""Runs pytest once and reports what happens. Runs in the project: Python 3.8+, pytest 6.2+.

The plugin is handed to pytest as an object: passing it by name would warn about a module
imported too early, an error under ``filterwarnings = error``.
"""

import atexit
import os
import sys
import threading

import pytest
from _pytest import runner

start = sys.modules["_brt_start"]
describe = start.load("describe")
watch = start.load("watch")

OUTPUT_LIMIT = 4000


def cpu_seconds():
    """Return the CPU seconds of this process and of those it has waited for."""
    return sum(os.times()[:4])


class Plugin:
    """Reports to the tool what pytest does, as it happens."""

    def __init__(self, order, events):
        self.order = order
        self.send = events.send
        #: Node ids below each file that are wanted, "" for all of them.
        self.nodes = {path: frozenset(nodes) for path, nodes in order["tests"]}
        self.done = frozenset(order["done"])
        self.monitor = watch.LineMonitor(order["watch"])
        #: What is reported of the running test.
        self.report = {}
        self.began = 0.0

    def phase(self, when, excinfo, report=None):
        """Return what is told of a part of the run, from the exception and not only the report."""
        error = excinfo and excinfo.value
        if type(error).__name__ == "CollectError":
            error = error.__cause__ or error.__context__ or error
        text = getattr(report, "longrepr", None) or ""
        reason = text[-1] if isinstance(text, tuple) else getattr(report, "wasxfail", "")
        return {
            "when": when,
            "outcome": getattr(report, "outcome", "failed"),
            "xfail": hasattr(report, "wasxfail"),
            "reason": str(reason)[:OUTPUT_LIMIT],
            "text": "" if excinfo else str(text)[-OUTPUT_LIMIT:],
            "raised": excinfo and describe.describe(error, self.order["packages"]),
        }

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

    def is_wanted(self, item):
        """Return whether an item is to be run: by whole names, as --deselect takes beginnings."""
        path, _, node = item.nodeid.partition("::")
        names = self.nodes.get(path, ())
        is_named = "" in names or node in names or node.partition("[")[0] in names
        return is_named and item.nodeid not in self.done

    @pytest.hookimpl(trylast=True)
    def pytest_collection_modifyitems(self, items):
        """Keep what was asked for and not done yet."""
        items[:] = filter(self.is_wanted, items)
        if self.order["reverse"]:
            items.reverse()

    def pytest_collection_finish(self, session):
        """Report which items are to run."""
        self.send("collected", nodes=[item.nodeid for item in session.items])

    @pytest.hookimpl(hookwrapper=True)
    def pytest_make_collect_report(self, collector):
        """Report a file that was skipped as a whole, or cannot be collected."""
        outcome = yield
        report = outcome.get_result()
        if report.outcome != "passed":
            phase = self.phase("collect", report.call.excinfo, report)
            self.send("not_collected", node=report.nodeid, phases=[phase])

    @pytest.hookimpl(tryfirst=True)
    def pytest_runtest_protocol(self, item):
        """Run an item that is to leave nothing in a fork; threads do not survive one."""
        if not self.is_isolated(item) or threading.active_count() > 1:
            return None
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

    def is_isolated(self, item):
        """Return whether an item is in a file of a test that is to leave nothing to another."""
        return item.nodeid.partition("::")[0] in self.order["isolated"]

    def run_and_exit(self, item):
        """Run one item, and end the process as Python does."""
        item.ihook.pytest_runtest_logstart(nodeid=item.nodeid, location=item.location)
        try:
            runner.runtestprotocol(item, nextitem=None, log=False)
        except BaseException:  # it would end the run of all tests
            error = runner.ExceptionInfo.from_current()
            self.send("broken_off", node=item.nodeid, phases=[self.phase("run", error)])
            os._exit(1)
        item.ihook.pytest_runtest_logfinish(nodeid=item.nodeid, location=item.location)
        sys.stdout.flush()
        sys.stderr.flush()
        threading._shutdown()
        atexit._run_exitfuncs()
        os._exit(self.report["code"])

    def pytest_runtest_logstart(self, nodeid, location):
        """Report that an item starts: its time counts from here."""
        self.monitor.take()
        self.report = {"phases": [], "code": 0, "seconds": 0.0}
        self.began = cpu_seconds()
        self.send("begin", node=nodeid)

    def pytest_runtest_logfinish(self, nodeid, location):
        """Report what an item did in all its phases."""
        cpu = cpu_seconds() - self.began
        self.report.update(self.origins(), ran=self.monitor.take(), cpu=cpu)
        self.send("end", node=nodeid, **self.report)

    def origins(self):
        """Return whether a changed module was imported by one of its names, and from where."""
        seen = {"reached": False, "other_code": ""}
        for path, names in self.order["changed"]:
            patched = os.path.realpath(os.path.join(self.order["folder"], path))
            for module in filter(None, map(sys.modules.get, names)):
                spec = getattr(module, "__spec__", None)
                origin = getattr(spec, "origin", None) or getattr(module, "__file__", None)
                if isinstance(origin, str):
                    seen["reached"] = True
                    if os.path.realpath(origin) != patched:
                        seen["other_code"] = origin
        return seen

    @pytest.hookimpl(hookwrapper=True, trylast=True)
    def pytest_runtest_call(self, item):
        """See whether the test runs code of the project; importing it alone is no use of it."""
        if not self.is_isolated(item):
            yield
            return
        calls = watch.Calls(self.order["packages"])
        yield
        calls.end()
        self.report["used"] = calls.seen

    @pytest.hookimpl(hookwrapper=True, tryfirst=True)
    def pytest_runtest_makereport(self, item, call):
        """Keep what a phase did, from the exception itself and not only the report."""
        error = call.excinfo
        outcome = yield
        report = outcome.get_result()
        # What unittest caught is only put there while the report is made.
        if report.outcome == "failed":
            self.report["code"] = 1
            error = call.excinfo
        self.report["phases"].append(self.phase(call.when, error, report))
        self.report["seconds"] += call.stop - call.start
        self.report["output"] = "".join(text for _, text in report.sections)[-OUTPUT_LIMIT:]

    def pytest_keyboard_interrupt(self, excinfo):
        """Report that the run was broken off: ``pytest.exit``, or pytest or a plugin broke."""
        self.send("broken_off", phases=[self.phase("run", excinfo)])

    pytest_internalerror = pytest_keyboard_interrupt


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
