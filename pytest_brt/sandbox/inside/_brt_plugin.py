"""Runs pytest once and reports what happens. Runs in the project: Python 3.8+, pytest 6.2+.

The plugin is handed to pytest as an object: passing it by name would warn about a module
imported too early, an error under ``filterwarnings = error``.
"""

import os
import sys
import threading
import warnings

import _brt_observe as observe
import pytest
from _pytest import runner

OUTPUT_LIMIT = 4000


class Plugin:
    """Reports to the tool what pytest does, as it happens."""

    def __init__(self, order, send):
        self.order = order
        self.send = send
        #: Node ids that are wanted; one that ends after its file stands for all of it.
        self.wanted = frozenset(order["tests"])
        self.done = frozenset(order["done"])
        self.changed = [(os.path.realpath(path), name) for path, name in order["changed"]]
        self.monitor = None
        #: What is reported of the running test, and the times at which it began.
        self.report = {}
        self.began = None
        self.session = None

    def phase(self, when, report, excinfo):
        """Return what is told of a part of the run, from the exception and not only the report."""
        text = getattr(report, "wasxfail", report.longrepr)
        text = str((text[-1] if isinstance(text, tuple) else text) or "")
        return dict(
            observe.describe(excinfo.value, self.order["packages"]) if excinfo else {},
            when=when,
            # One that was expected to fail, and does so no more, is mended.
            outcome="passed" if text.startswith("[XPASS(strict)]") else report.outcome,
            xfail=hasattr(report, "wasxfail"),
            text=text[-OUTPUT_LIMIT:],
        )

    @pytest.hookimpl(tryfirst=True)
    def pytest_cmdline_parse(self, pluginmanager, args):
        """Load plugins as pytest does that finds them by itself.

        By ``-p`` it takes the name for a module's too and rewrites the asserts in all of it: in
        the whole of Django, for the plugin `django`.
        """
        for word, name in zip(args, args[1:]):
            if word == "-p" and not name.startswith("no:"):
                pluginmanager.load_setuptools_entrypoints("pytest11", name=name)

    # -- which tests there are -----------------------------------------------------------------

    @pytest.hookimpl(hookwrapper=True)
    def pytest_make_collect_report(self, collector):
        """Report a file that was skipped as a whole, or cannot be collected."""
        outcome = yield
        report = outcome.get_result()
        if report.outcome != "passed":
            told = self.phase("collect", report, report.call.excinfo)
            self.send("not_collected", node=collector.nodeid, **told)

    def is_wanted(self, item):
        """Return whether an item is to be run: by whole names, as --deselect takes beginnings."""
        node = item.nodeid
        names = {node, node.partition("[")[0], node.partition("::")[0] + "::"}
        return not names.isdisjoint(self.wanted) and node not in self.done

    @pytest.hookimpl(trylast=True)
    def pytest_collection_modifyitems(self, items):
        """Keep what was asked for and not done yet."""
        items[:] = filter(self.is_wanted, items)
        if self.order["reverse"]:
            items.reverse()

    def pytest_collection_finish(self, session):
        """Report which items are to run; watching what is imported would cost for nothing."""
        self.session = session
        self.monitor = observe.LineMonitor(self.order["watch"])
        self.send("collected", nodes=[item.nodeid for item in session.items])

    # -- what each does ------------------------------------------------------------------------

    def is_isolated(self, item):
        """Return whether an item is in a file of a test that is to leave nothing to another."""
        return item.nodeid.partition("::")[0] in self.order["isolated"]

    @pytest.hookimpl(tryfirst=True)
    def pytest_runtest_protocol(self, item):
        """Run an item that is to leave nothing in a fork, which threads do not survive."""
        if not self.is_isolated(item) or threading.active_count() > 1:
            return None
        with warnings.catch_warnings():
            # They are about threads of libraries, which know of forks.
            warnings.simplefilter("ignore")
            child = os.fork()
        if child:
            _, status = os.waitpid(child, 0)
            # One of the two is 0.
            code = os.WEXITSTATUS(status) - os.WTERMSIG(status)
            self.send("joined", node=item.nodeid, code=code)
        else:
            runner.pytest_runtest_protocol(item, None)  # which also takes all fixtures down
            for thread in threading.enumerate():  # as Python does when it ends
                if not (thread.daemon or thread is threading.main_thread()):
                    thread.join()
            os._exit(2)  # as when it is interrupted, in any version of pytest
        return True

    def pytest_runtest_logstart(self, nodeid, location):
        """Report that an item starts: its time counts from here."""
        self.monitor.take()
        self.report = {"outcome": "passed", "raised": None}
        self.began = os.times()
        self.send("begin", node=nodeid)

    @pytest.hookimpl(hookwrapper=True, trylast=True)
    def pytest_runtest_call(self, item):
        """See whether the test runs code of the project; importing it alone is no use of it."""
        if not self.is_isolated(item):
            yield
            return
        calls = observe.Calls(self.order["packages"])
        yield
        calls.end()
        self.report["used"] = calls.seen

    @pytest.hookimpl(hookwrapper=True, tryfirst=True)
    def pytest_runtest_makereport(self, item, call):
        """Keep the first phase that did not pass, or the last one."""
        outcome = yield
        report = outcome.get_result()
        if self.report["outcome"] == "passed" and not self.report["raised"]:
            self.report.update(self.phase(call.when, report, call.excinfo))
        self.report["output"] = "".join(text for _, text in report.sections)[-OUTPUT_LIMIT:]

    def pytest_runtest_logfinish(self, nodeid, location):
        """Report what an item did in all its phases, and the CPU seconds of all its processes."""
        spent = [now - before for now, before in zip(os.times(), self.began)]
        self.report.update(self.origins(), ran=self.monitor.take())
        self.send("end", node=nodeid, seconds=spent[4], cpu=sum(spent[:4]), **self.report)
        self.order["cpu"] -= sum(spent[:4]) + 0.001  # for reporting it
        if self.order["cpu"] < 0:
            self.send("spent")
            self.session.shouldstop = "the processor's time for all tests is over"

    def origins(self):
        """Return whether a changed module was imported, and where from if not from its file."""
        origins = {"reached": False if self.changed else None, "other_code": ""}
        for path, name in self.changed:
            file = getattr(sys.modules.get(name), "__file__", None)
            if file:
                origins["reached"] = True
                if os.path.realpath(file) != path:
                    origins["other_code"] = file
        return origins

    @pytest.hookimpl(trylast=True)
    def pytest_sessionfinish(self, session):
        """End the process: nobody reads what is summed up, for which plugins import much."""
        writer = session.config.get_terminal_writer()
        if hasattr(writer, "flush"):  # else it does so by itself
            writer.flush()
        os._exit(session.exitstatus)


def main(order, send):
    """Run pytest with the project's own options, but for its selection.

    It comes back only where pytest cannot begin.
    """
    plugin = Plugin(order, send)
    arguments = [*dict.fromkeys(node.partition("::")[0] for node in order["tests"])]
    arguments += ["--rootdir", order["folder"], "--confcutdir", order["folder"]]
    arguments += ["-o", "addopts=", "-p", "no:cacheprovider", "-p", "no:faulthandler", "-q"]
    arguments += ["--tb=no", "--continue-on-collection-errors", *order["options"]]
    # Options and marks of plugins that are not loaded are no errors.
    arguments += [
        "-Wignore::pytest.PytestConfigWarning",
        "-Wignore::pytest.PytestUnknownMarkWarning",
    ]
    sys.argv[:] = ["pytest", *arguments]
    sys.exit(pytest.main(arguments, plugins=[plugin]))
