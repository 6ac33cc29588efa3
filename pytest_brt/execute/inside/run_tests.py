"""Runs pytest once on one target. Runs in the subject: Python 3.8+ (3.6 too)."""

import os
import sys

start = sys.modules["_brt_start"]


def main(spec, wire):
    """Run what the specification says and exit with pytest's own status."""
    import pytest

    probe = start.load("probe").Probe(wire, spec["packages"])
    probe.target = os.path.join(os.path.realpath(spec["root"]), spec["target"])
    probe.skip = spec["skip"]
    probe.first = spec["first"]
    touched = start.load("touched").Touched(spec["root"], spec["touched"], spec["watch"])
    touched.watch()
    probe.touched = touched
    sys.argv[:] = ["pytest"] + spec["args"]
    code = int(pytest.main(spec["args"], plugins=[probe]))
    touched.tell(wire)
    wire.send("finish", code=code)
    sys.exit(code)
