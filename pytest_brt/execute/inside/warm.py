"""Imports the project once, so that its bytecode is there: ``python warm.py SPEC.json``."""

import importlib
import json
import os
import sys


def main():
    """Import each module; one that fails is the tests' own affair."""
    here = os.path.dirname(os.path.abspath(__file__))
    sys.path[:] = [entry for entry in sys.path if os.path.abspath(entry or ".") != here]
    with open(sys.argv[1], encoding="utf-8") as stream:
        spec = json.load(stream)
    for name in spec["packages"]:
        try:
            importlib.import_module(name)
        except BaseException as error:  # whatever the project does when imported
            sys.stderr.write("%s: %s\n" % (name, type(error).__name__))
    os._exit(0)


if __name__ == "__main__":
    main()
