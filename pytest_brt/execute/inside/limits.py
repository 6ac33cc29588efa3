"""Puts limits on the process that calls it. Runs in the subject: Python 3.8+, POSIX."""

import sys


def apply_limits(spec):
    """Lower the resource limits named in the specification; never raises one.

    What the platform does not have, or refuses, is returned as a list of names.
    """
    try:
        import resource
    except ImportError:
        return ["all"]
    missing = []
    for name, value in sorted(spec.items()):
        kind = getattr(resource, "RLIMIT_" + name, None)
        if kind is None or (name == "AS" and sys.platform == "darwin"):
            missing.append(name)
            continue
        _, hard = resource.getrlimit(kind)
        if hard != resource.RLIM_INFINITY:
            value = min(value, hard)
        try:
            resource.setrlimit(kind, (value, value))
        except (ValueError, OSError):
            missing.append(name)
    return missing
