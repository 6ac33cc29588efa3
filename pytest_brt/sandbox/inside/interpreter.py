"""Tells what an interpreter is. Runs in the project: Python 3.8+."""

import json
import os
import sys
from importlib.metadata import distributions
from urllib.parse import unquote, urlsplit


def pytest_version():
    """Return pytest's version and "", or "" and why it cannot be imported."""
    try:
        import pytest

        return str(getattr(pytest, "__version__", "0.0")), ""
    except Exception as error:
        return "", "%s: %s" % (type(error).__name__, error)


def editable_folder(distribution):
    """Return the folder that a distribution was installed from to be edited, or "" (PEP 610)."""
    origin = json.loads(distribution.read_text("direct_url.json") or "{}")
    is_editable = origin.get("dir_info", {}).get("editable", False)
    return unquote(urlsplit(origin["url"]).path) if is_editable else ""


def main(order, events):
    """Tell it as one event."""
    installed = list(distributions())
    plugins = {
        (point.name, str(distribution.metadata["Name"]))
        for distribution in installed
        for point in distribution.entry_points
        if point.group == "pytest11"
    }
    version, problem = pytest_version()
    paths = {os.path.abspath(path) for path in (sys.prefix, sys.base_prefix, *sys.path)}
    answer = {
        "version": list(sys.version_info[:2]),
        "pytest": version,
        "problem": problem,
        "plugins": sorted(plugins),
        "paths": sorted(paths),
        "hidden": sorted({*paths, *filter(None, map(editable_folder, installed))}),
    }
    events.send("interpreter", text=json.dumps(answer))
