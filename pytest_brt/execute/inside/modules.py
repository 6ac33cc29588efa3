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
    return isinstance(file, str) and is_in_project(file, config)


def is_in_project(path, config):
    """Return whether a path is the project's folder or below it, and not among its libraries."""
    path = os.path.join(os.path.abspath(path), "")
    if not path.startswith(os.path.join(config["root"], "")):
        return False
    return not path.startswith(tuple(os.path.join(one, "") for one in config["libraries"]))


def threads():
    """Return how many threads the process has, 1 when it cannot be known."""
    try:
        return len(os.listdir("/proc/self/task"))
    except OSError:
        return 1
