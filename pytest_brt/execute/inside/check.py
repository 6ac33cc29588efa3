"""Tries what a sandbox is to forbid. Runs in the subject: Python 3.8+."""

import os


def is_written(path):
    """Return whether a file could be written, and take it away again."""
    try:
        with open(path, "w", encoding="utf-8") as stream:
            stream.write("x")
    except OSError:
        return False
    os.unlink(path)
    return True


def can_signal(pid):
    """Return whether a process outside can be signalled."""
    try:
        os.kill(pid, 0)
    except OSError:
        return False
    return True


def interfaces():
    """Return the names of the network interfaces."""
    try:
        with open("/proc/net/dev", encoding="utf-8") as stream:
            return sorted(line.split(":")[0].strip() for line in stream if ":" in line)
    except OSError:
        return []


def main(spec, wire):
    """Tell what could be done."""
    wire.send(
        "checked",
        outside=is_written(spec["outside"]),
        inside=is_written(spec["inside"]),
        signal=can_signal(spec["signal"]),
        visible=[path for path in spec["hidden"] if os.path.exists(path)],
        interfaces=interfaces(),
    )
    os._exit(0)
