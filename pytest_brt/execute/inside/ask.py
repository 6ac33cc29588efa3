"""Tells what an interpreter is: ``python ask.py``, JSON on stdout. Python 3.6+."""

import json
import os
import site
import sys


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


def main():
    """Print one JSON object."""
    here = os.path.dirname(os.path.abspath(__file__))
    sys.path[:] = [entry for entry in sys.path if os.path.abspath(entry or ".") != here]
    try:
        import pytest

        version = str(getattr(pytest, "__version__", "0.0"))
        problem = ""
    except Exception as error:
        version, problem = "", "%s: %s" % (type(error).__name__, error)
    answer = {
        "executable": sys.executable,
        "version": list(sys.version_info[:2]),
        "pytest": version,
        "problem": problem,
        "plugins": entry_points(),
        "paths": sorted({sys.prefix, sys.base_prefix, sys.exec_prefix, *filter(None, sys.path)}),
        "user_base": site.getuserbase() if site.ENABLE_USER_SITE else "",
    }
    sys.stdout.write("\n" + json.dumps(answer))


if __name__ == "__main__":
    main()
