"""Calls of the Linux kernel that Python does not offer. Standard library, Python 3.8+.

Numbers above 423 are the same on every architecture; see the manual pages of each call.
"""

import ctypes
import os
import select
import signal
import stat
import struct

CLONE_NEWNS = 0x00020000
CLONE_NEWUTS = 0x04000000
CLONE_NEWIPC = 0x08000000
CLONE_NEWUSER = 0x10000000
CLONE_NEWPID = 0x20000000
CLONE_NEWNET = 0x40000000

MS_NOSUID = 2
MS_NODEV = 4
MS_NOEXEC = 8
MS_BIND = 4096
MS_REC = 16384
MS_PRIVATE = 1 << 18
MNT_DETACH = 2

#: Files of a file system in memory: each takes about a KiB that its size does not count.
MOST_FILES = 100_000

AT_FDCWD = -100
AT_EMPTY_PATH = 0x1000
AT_RECURSIVE = 0x8000
OPEN_TREE_CLONE = 1
OPEN_TREE_CLOEXEC = 0x80000
MOVE_MOUNT_F_EMPTY_PATH = 4
MOUNT_ATTR_RDONLY = 0x1
MOUNT_ATTR_IDMAP = 0x100000

PR_SET_PDEATHSIG = 1
PR_SET_DUMPABLE = 4
PR_SET_KEEPCAPS = 8
PR_CAPBSET_DROP = 24
PR_SET_CHILD_SUBREAPER = 36
PR_SET_NO_NEW_PRIVS = 38
PR_CAP_AMBIENT = 47
PR_CAP_AMBIENT_RAISE = 2

CAP_DAC_READ_SEARCH = 2

LANDLOCK_SCOPE_ABSTRACT_UNIX_SOCKET = 1
LANDLOCK_SCOPE_SIGNAL = 2

_PIVOT_ROOT = {"x86_64": 155, "aarch64": 41}.get(os.uname().machine, -1)
_OPEN_TREE = 428
_MOVE_MOUNT = 429
_PIDFD_OPEN = 434
_MOUNT_SETATTR = 442
_LANDLOCK_CREATE = 444
_LANDLOCK_RESTRICT = 446

_LIBC = ctypes.CDLL(None, use_errno=True)


def _check(result, what):
    if result < 0:
        number = ctypes.get_errno()
        raise OSError(number, "%s: %s" % (what, os.strerror(number)))
    return result


def _syscall(what, number, *args):
    return _check(_LIBC.syscall(ctypes.c_long(number), *args), what)


def unshare(flags):
    """Leave the namespaces named by `flags` for new ones."""
    _check(_LIBC.unshare(flags), "unshare")


def mount(source, target, kind, flags=0, data=None):
    """Attach a file system, as the manual page says."""
    result = _LIBC.mount(
        os.fsencode(source),
        os.fsencode(target),
        None if kind is None else kind.encode(),
        ctypes.c_ulong(flags),
        None if data is None else os.fsencode(data),
    )
    _check(result, "mount %s on %s" % (kind or "bind", target))


def mount_empty(path, mode=0o755, size="4m", owner=None):
    """Attach a new file system in memory, of `size` as tmpfs(5) has it."""
    data = "mode=%o,size=%s,nr_inodes=%d" % (mode, size, MOST_FILES)
    if owner is not None:
        data += ",uid=%d,gid=%d" % (owner, owner)
    mount("tmpfs", path, "tmpfs", MS_NOSUID | MS_NODEV, data)


def bind(source, target, recursive=True):
    """Show the tree at `source` at `target` too, with what is mounted below it."""
    mount(source, target, None, MS_BIND | (MS_REC if recursive else 0))


def make_private():
    """Keep mounts of this namespace from spreading to any other."""
    mount("none", "/", None, MS_REC | MS_PRIVATE)


def enter_root(path):
    """Take the mount at `path` for the root of the file system, and let go of the old one."""
    os.chdir(path)
    _check(_LIBC.syscall(ctypes.c_long(_PIVOT_ROOT), b".", b"."), "pivot_root")
    _check(_LIBC.umount2(b".", MNT_DETACH), "umount2")
    os.chdir("/")


def set_read_only(path, recursive=True):
    """Make the mount at `path` read-only, and those below it."""
    flags = AT_RECURSIVE if recursive else 0
    _mount_setattr(AT_FDCWD, os.fsencode(path), flags, MOUNT_ATTR_RDONLY, 0, 0)


def set_writable(path):
    """Take back that the mount at `path` is read-only, where one may."""
    _mount_setattr(AT_FDCWD, os.fsencode(path), 0, 0, MOUNT_ATTR_RDONLY, 0)


def set_owner_map(tree, namespace):
    """Let the files of a detached tree appear with the owners that a user namespace maps to."""
    _mount_setattr(tree, b"", AT_EMPTY_PATH, MOUNT_ATTR_IDMAP, 0, namespace)


def _mount_setattr(folder, path, flags, set_to, clear, namespace):
    data = struct.pack("=QQQQ", set_to, clear, 0, namespace)
    _syscall("mount_setattr", _MOUNT_SETATTR, folder, path, flags, data, ctypes.c_size_t(len(data)))


def open_tree(path, recursive=True):
    """Return a descriptor of a detached copy of the mounts at `path`."""
    flags = OPEN_TREE_CLONE | OPEN_TREE_CLOEXEC | (AT_RECURSIVE if recursive else 0)
    return _syscall("open_tree %s" % path, _OPEN_TREE, AT_FDCWD, os.fsencode(path), flags)


def make_place(path, tree):
    """Make the empty folder, or file, on which what an open descriptor leads to can be shown."""
    os.makedirs(os.path.dirname(path), exist_ok=True)
    if stat.S_ISDIR(os.fstat(tree).st_mode):
        os.makedirs(path, exist_ok=True)
    else:
        os.close(os.open(path, os.O_CREAT | os.O_WRONLY | os.O_CLOEXEC))


def move_mount(tree, target):
    """Attach a detached tree at `target`."""
    target = os.fsencode(target)
    _syscall("move_mount", _MOVE_MOUNT, tree, b"", AT_FDCWD, target, MOVE_MOUNT_F_EMPTY_PATH)


def prctl(option, value=0, third=0):
    """Set a property of the calling process."""
    zero = ctypes.c_ulong(0)
    args = (ctypes.c_ulong(value), ctypes.c_ulong(third), zero, zero)
    return _check(_LIBC.prctl(option, *args), "prctl %d" % option)


def die_with_parent(parent):
    """Have the kernel kill this process when `parent` ends; end now if it has."""
    prctl(PR_SET_PDEATHSIG, signal.SIGKILL)
    if os.getppid() != parent:
        os._exit(1)


def exit_code(status):
    """Return an exit status, or minus the signal, from what `os.waitpid` gave."""
    if os.WIFSIGNALED(status):
        return -os.WTERMSIG(status)
    return os.WEXITSTATUS(status)


def fork_from_first(unneeded, on_end):
    """Be the first process of a new process namespace, and return in a child of it.

    The first process ignores signals by nature, so the child does the work. The first one closes
    the descriptors `unneeded`, collects orphans, and ends when the child does, once `on_end` was
    called with the child's `exit_code`.
    """
    # The parent has no number in this namespace, so it cannot be asked for.
    prctl(PR_SET_PDEATHSIG, signal.SIGKILL)
    mount("proc", "/proc", "proc", MS_NOSUID | MS_NODEV | MS_NOEXEC)
    child = os.fork()
    if child == 0:
        return
    for descriptor in unneeded:
        os.close(descriptor)
    while True:
        pid, status = os.waitpid(-1, 0)
        if pid == child:
            on_end(exit_code(status))
            os._exit(0)


def set_capabilities(wanted, ambient=False):
    """Keep only the capabilities numbered in `wanted`; with `ambient`, over exec too."""
    bits = sum(1 << number for number in wanted)
    low, high = bits & 0xFFFFFFFF, bits >> 32
    header = struct.pack("=Ii", 0x20080522, 0)
    data = struct.pack("=IIIIII", low, low, low, high, high, high)
    _check(_LIBC.capset(header, data), "capset")
    if ambient:
        for number in wanted:
            prctl(PR_CAP_AMBIENT, PR_CAP_AMBIENT_RAISE, number)


def give_up_capabilities():
    """Have none any more, and no program that is started from here."""
    for number in range(64):  # the kernel refuses those that it does not know
        _LIBC.prctl(PR_CAPBSET_DROP, ctypes.c_ulong(number))
    set_capabilities(())


def ends_before(pid, descriptor):
    """Wait until a process ends or there is something to read; return whether it has ended."""
    if hasattr(os, "pidfd_open"):
        ending = os.pidfd_open(pid)
    else:
        ending = _syscall("pidfd_open", _PIDFD_OPEN, pid, 0)
    try:
        ready, _, _ = select.select([ending, descriptor], [], [])
    finally:
        os.close(ending)
    return ending in ready


def keep_signals_in():
    """Let this process and its children signal only each other, from now on."""
    prctl(PR_SET_NO_NEW_PRIVS, 1)
    scope = LANDLOCK_SCOPE_SIGNAL | LANDLOCK_SCOPE_ABSTRACT_UNIX_SOCKET
    data = struct.pack("=QQQ", 0, 0, scope)
    ruleset = _syscall("landlock", _LANDLOCK_CREATE, data, ctypes.c_size_t(len(data)), 0)
    try:
        _syscall("landlock_restrict_self", _LANDLOCK_RESTRICT, ruleset, 0)
    finally:
        os.close(ruleset)


def enter_user_namespace(kinds):
    """Leave for a new user namespace, and others of these kinds, with the ids that one has."""
    uid, gid = os.getuid(), os.getgid()
    unshare(CLONE_NEWUSER | kinds)
    write_setting("/proc/self/setgroups", b"deny")
    write_setting("/proc/self/uid_map", b"%d %d 1" % (uid, uid))
    write_setting("/proc/self/gid_map", b"%d %d 1" % (gid, gid))


def write_setting(path, value):
    """Write to a file of the kernel, at less cost than by an object of Python's."""
    descriptor = os.open(path, os.O_WRONLY | os.O_CLOEXEC)
    try:
        os.write(descriptor, value)
    finally:
        os.close(descriptor)
