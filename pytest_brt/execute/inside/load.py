"""Loads the other files of this folder under private names. Runs in the subject: Python 3.8+.

The folder never gets on the import path, so nothing here can hide a module of the subject.
"""

import importlib.util
import os
import sys

HERE = os.path.dirname(os.path.abspath(__file__))


def load(name):
    """Return the sibling module `name`, imported once as ``_brt_<name>``."""
    full = "_brt_" + name
    if full not in sys.modules:
        path = os.path.join(HERE, name + ".py")
        spec = importlib.util.spec_from_file_location(full, path)
        module = importlib.util.module_from_spec(spec)
        sys.modules[full] = module
        spec.loader.exec_module(module)
    return sys.modules[full]


def own_files():
    """Return the paths of all files of this folder, to leave out of tracebacks."""
    return frozenset(os.path.join(HERE, name) for name in os.listdir(HERE))
