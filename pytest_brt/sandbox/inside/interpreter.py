"""Tells what an interpreter is. Runs in the project: Python 3.8+."""

import importlib
import json
import os
import sys
from importlib.metadata import distributions
from urllib.parse import unquote, urlsplit


def editable_folder(distribution):
    """Return the folder that a distribution was installed from to be edited, or "" (PEP 610)."""
    origin = json.loads(distribution.read_text("direct_url.json") or "{}")
    is_editable = origin.get("dir_info", {}).get("editable", False)
    return unquote(urlsplit(origin["url"]).path) if is_editable else ""


def main(order, events):
    """Report it as one event."""
    problem = ""
    try:
        importlib.import_module("pytest")
    except Exception as error:
        problem = "%s: %s" % (type(error).__name__, error)
    paths = {os.path.abspath(path) for path in (sys.prefix, sys.base_prefix, *sys.path)}
    hidden, plugins = set(paths), set()
    for distribution in distributions():
        hidden.add(editable_folder(distribution) or sys.prefix)
        for point in distribution.entry_points:
            if point.group == "pytest11":
                plugins.add((point.name, str(distribution.metadata["Name"])))
    answer = {
        "version": list(sys.version_info[:2]),
        "problem": problem,
        "plugins": sorted(plugins),
        "paths": sorted(paths),
        "hidden": sorted(hidden),
    }
    events.send("interpreter", text=json.dumps(answer))
