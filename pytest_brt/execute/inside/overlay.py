"""The files that a row, and each of its tests, gets to see and changes (level ``ns``). Python 3.8+.

Everything is mounted below a scratch file system that the launcher made; every mount goes
when the last process that sees it ends.
"""

import os
import sys

start = sys.modules["_brt_start"]
calls = start.load("syscalls")
trees = start.load("tree")


def _overlay(target, lower, place):
    """Show the project at `target`, with changes of its own that are kept in `place`."""
    data = "lowerdir=%s,upperdir=%s/upper,workdir=%s/work,userxattr"
    calls.mount("overlay", target, "overlay", 0, data % (":".join(lower), place, place))


def lower_folders(config):
    """Return what lies below a row's own changes, topmost first."""
    scratch = config["scratch"]
    warm = os.path.join(scratch, "warm", "upper")
    base = os.path.join(scratch, "base")
    return [warm, base] if os.path.isdir(warm) else [base]


def mount_warm(config):
    """Give the calling process a view of the project in which what it writes is for all rows.

    No code of the project may run in it.
    """
    calls.enter_user_namespace(calls.CLONE_NEWNS)
    scratch = config["scratch"]
    place = os.path.join(scratch, "warm")
    for name in ("upper", "work"):
        os.makedirs(os.path.join(place, name), exist_ok=True)
    _overlay(config["root"], [os.path.join(scratch, "base")], place)


def mount_row(config):
    """Give the calling process its own view of the project, to be changed at will.

    All else of the scratch file system is read-only from then on.
    """
    calls.enter_user_namespace(calls.CLONE_NEWNS | calls.CLONE_NEWIPC)
    scratch = config["scratch"]
    place = os.path.join(scratch, "row")
    calls.mount_empty(place, 0o700, config["size"])
    for name in ("upper", "work", "tmp", "home"):
        os.mkdir(os.path.join(place, name))
    _overlay(config["root"], lower_folders(config), place)
    calls.set_read_only(scratch, recursive=False)


def mount_cell(config):
    """Give the calling process a view on top of the row's, hidden from all others.

    The process must have left for its own user and mount namespaces. What the row and the
    scratch file system hold is covered: a test sees its own folders in their place.
    """
    scratch, root = config["scratch"], config["root"]
    place = os.path.join(scratch, "cell")
    calls.mount_empty(place, 0o700, config["size"])
    for name in ("upper", "work", "tmp", "shm", "run"):
        os.mkdir(os.path.join(place, name))
    os.chmod(place + "/tmp", 0o777)
    for name in ("home", "work"):
        os.mkdir(os.path.join(place, "tmp", name))
    covers = ("/tmp", "/dev/shm", os.path.dirname(scratch))
    seen = (root, *config["shown"])
    behind = {path for path in seen if any(trees.is_below(path, cover) for cover in covers)}
    # A path through a link comes last: what it leads to is there by then.
    ordered = sorted(behind, key=lambda path: (os.path.realpath(path) != path, path))
    saved = {path: os.open(path, os.O_PATH | os.O_CLOEXEC) for path in behind - {root}}
    _overlay(root, [os.path.join(scratch, "row", "upper")] + lower_folders(config), place)
    if root in behind:
        saved[root] = os.open(root, os.O_PATH | os.O_CLOEXEC)
    calls.bind(place + "/tmp", "/tmp")
    if os.path.isdir("/dev/shm"):
        calls.bind(place + "/shm", "/dev/shm")
    calls.bind(place + "/run", os.path.dirname(scratch))
    for path in ordered:
        if not os.path.exists(path):
            calls.make_place(path, saved[path])
            calls.bind("/proc/self/fd/%d" % saved[path], path)
        os.close(saved[path])
