"""Tells what an interpreter is. Runs in the project: Python 3.8+."""

import importlib
import json
import sys
from importlib.metadata import distributions


def main(order, events):
    """Report it as one event."""
    problem = ""
    try:
        importlib.import_module("pytest")
    except Exception as error:
        problem = "%s: %s" % (type(error).__name__, error)
    plugins = set()
    for distribution in distributions():
        for point in distribution.entry_points:
            if point.group == "pytest11":
                plugins.add((point.name, str(distribution.metadata["Name"])))
    answer = {
        "version": list(sys.version_info[:2]),
        "problem": problem,
        "plugins": sorted(plugins),
        "paths": sys.path,
    }
    events.send("interpreter", text=json.dumps(answer))
