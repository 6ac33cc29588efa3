"""Begins each script of this folder: ``python start.py NAME``, its order on stdin. Python 3.8+.

"interpreter" is none: it says what the interpreter is that runs it. The folder is on the import
path only while the script is imported; the project's own are there afterwards alone, as a patch
could bring modules that are called as those which the script needs.
"""

import importlib
import json
import os
import re
import resource
import sys
from importlib.metadata import PackageNotFoundError, distributions, requires

HERE = os.path.dirname(os.path.abspath(__file__))
#: Processes and threads of one test.
TASKS = 256


def tell_interpreter(order, send):
    """Report version, plugins of pytest and import path, where pytest can be imported."""
    importlib.import_module("pytest")
    plugins = set()
    for distribution in distributions():
        for point in distribution.entry_points:
            if point.group == "pytest11":
                plugins.add(point.name)
    # pytest passes over those that are called as its own.
    plugins -= importlib.import_module("_pytest.config").builtin_plugins
    version = "%d.%d" % sys.version_info[:2]
    send("interpreter", version=version, plugins=sorted(plugins), paths=sys.path)


def is_pytest(packages):
    """Return whether a project is pytest, or what pytest needs."""
    try:
        needed = requires("pytest") or ()
    except PackageNotFoundError:
        return True  # else there is none
    names = {re.match(r"\w+", one)[0] for one in needed}
    return bool(names.union(("pytest", "_pytest", "attr", "py")).intersection(packages))


def add_project(path):
    """Have a project be imported, by other programs that are started, too."""
    sys.path[:0] = path
    users = os.environ.get("PYTHONPATH")
    os.environ["PYTHONPATH"] = os.pathsep.join([*path, *filter(None, [users])])


def main():
    """Run a script on its order, and leave an empty stdin to the project."""
    order = json.loads(sys.stdin.buffer.read())
    os.dup2(os.open(os.devnull, os.O_RDONLY), 0)
    # Here, as only here a user may have processes of its own; else those of all others count.
    with open("/proc/loadavg", encoding="ascii") as file:
        running = int(file.read().split()[3].split("/")[1])
    resource.setrlimit(resource.RLIMIT_NPROC, [running + TASKS] * 2)
    os.chdir(order["folder"])
    os.set_inheritable(order["events"], False)
    events = open(order["events"], "w", 1, "ascii", closefd=False)

    def send(event, **fields):
        """Write one event, as a line of JSON, with the process that it happened in."""
        events.write(json.dumps(dict(fields, event=event, pid=os.getpid())) + "\n")

    send("start")  # by which process: another may speak later
    name = sys.argv[1]
    script = tell_interpreter
    is_early = name == "interpreter" or is_pytest(order["packages"])
    if is_early:
        add_project(order["path"])
    if name != "interpreter":
        script = importlib.import_module("_brt_" + name).main
    sys.path[:] = [entry for entry in sys.path if entry != HERE]
    if not is_early:
        add_project(order["path"])
    script(order, send)


if __name__ == "__main__":
    main()
