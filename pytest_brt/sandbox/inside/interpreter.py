"""Tells what an interpreter is. Runs in the project: Python 3.8+."""

import importlib
import json
import os
import sys
from importlib.metadata import distributions
from urllib.parse import unquote, urlsplit


def main(order, events):
    """Report it as one event."""
    problem = ""
    try:
        importlib.import_module("pytest")
    except Exception as error:
        problem = "%s: %s" % (type(error).__name__, error)
    paths = {os.path.abspath(path) for path in (sys.prefix, sys.base_prefix, *sys.path)}
    plugins = set()
    for distribution in distributions():
        # What was installed to be edited has its folder (PEP 610).
        origin = json.loads(distribution.read_text("direct_url.json") or "{}")
        if origin.get("dir_info", {}).get("editable", False):
            paths.add(unquote(urlsplit(origin["url"]).path))
        for point in distribution.entry_points:
            if point.group == "pytest11":
                plugins.add((point.name, str(distribution.metadata["Name"])))
    answer = {
        "version": list(sys.version_info[:2]),
        "problem": problem,
        "plugins": sorted(plugins),
        "paths": sorted(paths),
    }
    events.send("interpreter", text=json.dumps(answer))
