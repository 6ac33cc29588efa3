"""Tells what an interpreter is. Runs in the project: Python 3.8+."""

import json
import os
import site
import sys

#: Where pytest's own module lies, in its newer and older versions.
FILES = ("pytest/__init__.py", "pytest.py")


def entry_points():
    """Return [name, distribution] of every installed pytest plugin."""
    try:
        from importlib.metadata import distributions
    except ImportError:
        return []
    found = set()
    for distribution in distributions():
        for point in distribution.entry_points:
            if point.group == "pytest11":
                found.add((point.name, str(distribution.metadata["Name"])))
    return sorted(found)


def pytest_version(roots, may_import):
    """Return pytest's version and "", or "" and why it cannot be imported.

    Importing it takes long, so an installed one is believed to be what its metadata says;
    not so one that comes from elsewhere, as when pytest itself is the project. That one is
    only imported if `may_import`: it is code of the project. Else both are "".
    """
    sys.path[:0] = roots
    try:
        import importlib.util
        from importlib.metadata import distribution

        found = distribution("pytest")
        spec = importlib.util.find_spec("pytest")
        origin = os.path.realpath(spec.origin)
        if any(os.path.realpath(str(found.locate_file(name))) == origin for name in FILES):
            return found.version, ""
    except Exception:
        pass  # then importing it tells what is wrong
    if not may_import:
        return "", ""
    try:
        import pytest

        return str(getattr(pytest, "__version__", "0.0")), ""
    except Exception as error:
        return "", "%s: %s" % (type(error).__name__, error)


def main(spec, wire):
    """Tell it as one event."""
    answer = {
        "version": list(sys.version_info[:2]),
        "plugins": entry_points(),
        "paths": sorted({sys.prefix, sys.base_prefix, sys.exec_prefix, *filter(None, sys.path)}),
        "user_base": site.getuserbase() if site.ENABLE_USER_SITE else "",
    }
    answer["pytest"], answer["problem"] = pytest_version(spec["roots"], spec["import"])
    wire.send("asked", text=json.dumps(answer))
