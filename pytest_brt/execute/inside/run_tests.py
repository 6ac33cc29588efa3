"""Runs pytest once on one target: ``python run_tests.py SPEC.json``. Python 3.8+ (3.6 too)."""

import json
import os
import sys


def main():
    """Run what the specification says and exit with pytest's own status."""
    here = os.path.dirname(os.path.abspath(__file__))
    sys.path[:] = [entry for entry in sys.path if os.path.abspath(entry or ".") != here]
    load = _loader(here)
    with open(sys.argv[1], encoding="utf-8") as stream:
        spec = json.load(stream)
    wire = load("wire").Wire(spec["fd"])
    load("limits").apply_limits(spec["limits"])
    wire.send("start", python=list(sys.version_info[:3]))
    import pytest

    describe = load("describe")
    own_files = load("load").own_files()
    probe = load("probe").Probe(wire, describe.describe, spec["packages"], own_files)
    probe.target = os.path.join(os.path.realpath(spec["root"]), spec["target"])
    touched = load("touched").Touched(spec["root"], spec["touched"], spec["mapping"])
    touched.watch()
    probe.touched = touched
    sys.argv[:] = ["pytest"] + spec["args"]
    code = int(pytest.main(spec["args"], plugins=[probe]))
    if touched.files:
        states, lines = touched.report()
        wire.send("touched", states=states, lines=lines)
    wire.send("finish", code=code)
    sys.exit(code)


def _loader(here):
    import importlib.util

    spec = importlib.util.spec_from_file_location("_brt_load", os.path.join(here, "load.py"))
    module = importlib.util.module_from_spec(spec)
    sys.modules["_brt_load"] = module
    spec.loader.exec_module(module)
    return module.load


if __name__ == "__main__":
    main()
