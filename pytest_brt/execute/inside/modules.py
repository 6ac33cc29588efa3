"""What importing did to the process. Runs in the zygote and in rows: Python 3.8+."""

import importlib
import os


def try_import(name):
    """Import the module `name`; return whether that went well."""
    try:
        importlib.import_module(name)
    except BaseException:  # whatever it is, the tests are to see it themselves
        return False
    return True


def is_of_project(module, config):
    """Return whether `module` lies in the project's folder, and not among its libraries."""
    file = getattr(module, "__file__", None)
    if not isinstance(file, str) or not file.startswith(config["root"] + os.sep):
        return False
    return not file.startswith(tuple(path + os.sep for path in config["libraries"]))


def threads():
    """Return how many threads the process has, 1 when it cannot be known."""
    try:
        return len(os.listdir("/proc/self/task"))
    except OSError:
        return 1
