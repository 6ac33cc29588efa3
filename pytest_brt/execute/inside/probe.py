"""The pytest plugin that watches a run from within. Runs in the subject: pytest 4.4 to 9.

It is handed to pytest as an object (``plugins=[...]``): passing it by name would warn about
a module imported too early, an error under ``filterwarnings = error``.
"""

import inspect
import os
import sys
import threading

import pytest
from _pytest import hookspec

start = sys.modules["_brt_start"]
describe = start.load("describe")

#: What the hook calls the path it is asked about: the name has changed before pytest 7.0,
#: and more than once while that was being written, so that no version number tells.
PATH_NAMES = inspect.signature(hookspec.pytest_ignore_collect).parameters
OUTPUT_LIMIT = 8000


class Use:
    """Sees whether code of the project runs: the profile hook, up to the first such call."""

    def __init__(self, packages, target):
        self.packages = packages
        self.target = target
        #: True when it ran; None when that cannot be told: the project's packages are not known,
        #: or a process was started, in which it may have run.
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
            ours = self.is_project(module) and frame.f_code.co_filename != self.target
        elif event == "c_call":
            owner = getattr(argument, "__self__", None)
            ours = self.is_project(getattr(argument, "__module__", None)) or self.is_project(
                getattr(type(owner), "__module__", None)
            )
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


def _cpu():
    """Return the CPU seconds of this process and of those it has waited for."""
    times = os.times()
    return times.user + times.system + times.children_user + times.children_system


class Probe:
    """Tells the tool what pytest does, as it happens."""

    def __init__(self, wire, packages):
        self.wire = wire
        #: The one file that is to be collected, "" for whatever pytest finds.
        self.target = ""
        #: Node ids of it that are left out: ``--deselect`` would take others that begin alike.
        self.skip = []
        #: Nodes of it, without parameters, that come before its others.
        self.first = []
        self.packages = frozenset(packages)
        self.own_files = start.own_files()
        #: What sees whether the patched code ran, where there is a patch.
        self.touched = None
        #: Whether the body of the running test ran code of the project; None when not known.
        self.used = None
        self.began = 0.0

    @pytest.hookimpl(tryfirst=True)
    def pytest_cmdline_parse(self, pluginmanager, args):
        """Load plugins as pytest does that finds them by itself.

        By ``-p`` it takes the name for a module's too and rewrites the asserts in all of it: in
        the whole of Django, for the plugin `django`.
        """
        words = iter(args)
        for word in words:
            name = next(words, "") if word == "-p" else ""
            if name and not name.startswith("no:"):
                try:
                    pluginmanager.load_setuptools_entrypoints("pytest11", name=name)
                except Exception:
                    return  # pytest is to say what is wrong with it

    def ignores(self, path):
        """Return whether a path is off the way to the target; None where pytest may decide."""
        if not self.target:
            return None
        if path == self.target or self.target.startswith(path + os.sep):
            return False
        folder, name = os.path.split(path)
        if name == "__init__.py" and self.target.startswith(folder + os.sep):
            return None
        return True

    if "collection_path" in PATH_NAMES:

        @pytest.hookimpl(tryfirst=True)
        def pytest_ignore_collect(self, collection_path):
            """Spare pytest the look at every neighbour of the target."""
            return self.ignores(str(collection_path))

    elif "fspath" in PATH_NAMES:

        @pytest.hookimpl(tryfirst=True)
        def pytest_ignore_collect(self, fspath):
            """Spare pytest the look at every neighbour of the target."""
            return self.ignores(str(fspath))

    else:

        @pytest.hookimpl(tryfirst=True)
        def pytest_ignore_collect(self, path):
            """Spare pytest the look at every neighbour of the target."""
            return self.ignores(str(path))

    def about(self, error):
        """Return the exception as plain data, or None."""
        return None if error is None else describe.describe(error, self.packages, self.own_files)

    @pytest.hookimpl(trylast=True)
    def pytest_collection_modifyitems(self, items):
        """Leave out what is to be skipped, and bring to the front what is to come first."""
        skip = frozenset(self.skip)
        items[:] = [item for item in items if item.nodeid not in skip]
        places = {node: place for place, node in enumerate(self.first)}
        if places:
            last = len(places)
            nodes = (item.nodeid.partition("::")[2].partition("[")[0] for item in items)
            order = {item: places.get(node, last) for item, node in zip(items, nodes)}
            items.sort(key=order.get)

    def pytest_collection_finish(self, session):
        """Tell which items were found."""
        nodes = [item.nodeid for item in session.items]
        self.wire.send("collected", nodes=nodes, cpu=_cpu())

    def pytest_collectreport(self, report):
        """Tell of a file that was skipped as a whole."""
        if report.outcome == "skipped":
            reason = report.longrepr
            reason = reason[-1] if isinstance(reason, tuple) else reason
            self.wire.send("collect_skip", node=report.nodeid, reason=str(reason)[:OUTPUT_LIMIT])

    def pytest_exception_interact(self, call, report):
        """Tell of an error while collecting; errors of tests are told by makereport."""
        if getattr(report, "when", None) == "collect":
            error = call.excinfo.value
            if type(error).__name__ == "CollectError":
                error = error.__cause__ or error.__context__ or error
            self.wire.send(
                "collect_error",
                node=report.nodeid,
                raised=self.about(error),
                text=str(report.longrepr)[-OUTPUT_LIMIT:],
            )

    def pytest_runtest_logstart(self, nodeid, location):
        """Tell that an item starts: its deadline counts from here."""
        self.began = _cpu()
        self.wire.send("item", node=nodeid)
        if self.touched is not None:
            self.touched.begin()

    def pytest_runtest_logfinish(self, nodeid, location):
        """Tell that an item is through with all its phases."""
        lines = None if self.touched is None else self.touched.reached()
        ran = [] if self.touched is None else self.touched.ran()
        self.wire.send("item_end", node=nodeid, lines=lines, ran=ran, cpu=_cpu() - self.began)

    @pytest.hookimpl(hookwrapper=True, trylast=True)
    def pytest_runtest_call(self, item):
        """See whether the test runs code of the project; importing it alone is no use of it."""
        self.used = None
        with Use(self.packages, self.target) as use:
            yield
        self.used = use.seen

    @pytest.hookimpl(hookwrapper=True, tryfirst=True)
    def pytest_runtest_makereport(self, item, call):
        """Tell what a phase did, from the exception itself and not only the report."""
        error = call.excinfo.value if call.excinfo is not None else None
        outcome = yield
        report = outcome.get_result()
        # What unittest caught is only put there while the report is made.
        if error is None and call.excinfo is not None and report.outcome == "failed":
            error = call.excinfo.value
        printed = "".join(text for _, text in report.sections)
        is_skip = report.outcome == "skipped" and isinstance(report.longrepr, tuple)
        self.wire.send(
            "report",
            node=item.nodeid,
            when=call.when,
            outcome=report.outcome,
            xfail=hasattr(report, "wasxfail"),
            wasxfail=str(getattr(report, "wasxfail", ""))[:OUTPUT_LIMIT],
            duration=float(getattr(report, "duration", 0.0) or 0.0),
            raised=self.about(error),
            used=self.used if call.when == "call" else None,
            skip=str(report.longrepr[-1])[:OUTPUT_LIMIT] if is_skip else "",
            text="" if error is not None else str(report.longrepr or "")[-OUTPUT_LIMIT:],
            output=printed[-OUTPUT_LIMIT:],
        )

    def pytest_internalerror(self, excrepr, excinfo):
        """Tell that pytest itself, or a plugin, broke."""
        self.wire.send(
            "internal_error", raised=self.about(excinfo.value), text=str(excrepr)[-4000:]
        )

    def pytest_keyboard_interrupt(self, excinfo):
        """Tell that the run was broken off (``pytest.exit`` too)."""
        self.wire.send("interrupted", raised=self.about(excinfo.value))
