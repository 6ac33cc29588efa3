"""What the kernel refuses to code of a project: system calls by seccomp, and files by Landlock.

``python -P confine.py [NET WRITABLE READABLE...] -- ARGV...`` shuts a program in, or without
folders only ends all that it leaves: it stays as the parent, to which comes what the program leaves
running, whatever session that made its own, and is killed.

See seccomp(2), landlock(7) and the kernel's Documentation/userspace-api/seccomp_filter.rst.
"""

from __future__ import annotations

import ctypes
import errno
import os
import signal
import struct
import sys
from collections.abc import Sequence
from itertools import repeat

#: By machine: what the kernel calls the architecture, and which numbers are its own.
_MACHINES = {"x86_64": (0xC000003E, 0), "aarch64": (0xC00000B7, 1)}
#: Numbers on x86-64 and on ARM64 of what leads out of any sandbox: add_key, request_key, keyctl,
#: memfd_create, memfd_secret, bpf, perf_event_open, userfaultfd, open_by_handle_at,
#: io_uring_setup, unshare.
_REFUSED = (
    (248, 249, 250, 319, 447, 321, 298, 323, 304, 425, 272),
    (217, 218, 219, 279, 447, 280, 241, 282, 265, 425, 97),
)
#: What a sandbox without namespaces shares with everybody: shmget, shmat, shmctl, semget, semop,
#: semctl, semtimedop, msgget, msgsnd, msgrcv, msgctl, mq_open, mq_unlink, inotify_add_watch,
#: migrate_pages, move_pages, ioprio_set.
_SHARED = (
    (29, 30, 31, 64, 65, 66, 220, 68, 69, 70, 71, 240, 241, 254, 256, 279, 251),
    (194, 196, 195, 190, 193, 191, 192, 186, 189, 188, 187, 180, 181, 27, 238, 239, 30),
)
#: What sets limits and priorities of any process of the same user: sched_setparam,
#: sched_setscheduler, sched_setaffinity, sched_setattr, prlimit64, setpriority; and which of the
#: arguments must be 0, for the process itself.
_OF_OTHERS = ((142, 144, 203, 314, 302, 141, 141), (118, 119, 122, 274, 261, 140, 140))
_PLACES = (0, 0, 0, 0, 0, 0, 1)
#: socket, clone, clone3.
_CALLS = ((41, 56, 435), (198, 220, 435))
#: Families of sockets: of the file system, and of networks.
FILES, NETWORKS = 1, (2, 10, 16)
_NEW_USER = 0x10000000
#: Numbers from here on are of another way to call the same kernel.
_X32 = 0x40000000
_LOAD, _EQUAL, _AT_LEAST, _ANY, _RETURN = 0x20, 0x15, 0x35, 0x45, 0x06
_ALLOW, _ERROR = 0x7FFF0000, 0x00050000
#: A step: what it does, how many steps to skip where a comparison holds and where not, a value.
_LOAD_NUMBER, _REFUSE = (_LOAD, 0, 0, 0), (_RETURN, 0, 0, _ERROR | errno.EPERM)

_SET_DEATH_SIGNAL, _SET_SECCOMP, _SET_SUBREAPER = 1, 22, 36
_FILTER = 2


def filter_program(families: Sequence[int]) -> bytes:
    """Return the filter of system calls for this machine, b"" where its numbers are not known.

    Processes may have sockets of some `families`. Where `FILES` is not among these, they have no
    namespaces of their own, and what is shared with everybody is refused too.
    """
    architecture, column = _MACHINES.get(os.uname().machine, (0, -1))
    if column < 0:
        return b""
    socket, clone, clone3 = _CALLS[column]
    rules = [(number, 0, ()) for number in _REFUSED[column]]
    if FILES not in families:
        rules += [(number, 0, ()) for number in _SHARED[column]]
        rules += zip(_OF_OTHERS[column], _PLACES, repeat((0,)))
    rules += [(socket, 0, families)]
    steps = [(_LOAD, 0, 0, 4), (_EQUAL, 1, 0, architecture), _REFUSE, _LOAD_NUMBER]
    steps += [(_AT_LEAST, 0, 1, _X32), _REFUSE]
    for rule in rules:
        steps += _allow_only(*rule)
    steps += [(_EQUAL, 0, 4, clone), (_LOAD, 0, 0, 16)]
    steps += [(_ANY, 0, 1, _NEW_USER), _REFUSE, _LOAD_NUMBER]
    # Its flags cannot be seen; C libraries then use clone, whose can.
    steps += [(_EQUAL, 0, 1, clone3), (_RETURN, 0, 0, _ERROR | errno.ENOSYS)]
    steps += [(_RETURN, 0, 0, _ALLOW)]
    return b"".join(struct.pack("=HBBI", *step) for step in steps)


def _allow_only(
    number: int, place: int, values: Sequence[int]
) -> list[tuple[int, int, int, int]]:
    """Refuse a call unless its argument is one of the values."""
    last = len(values)
    checks = [(_EQUAL, last - index, 0, value) for index, value in enumerate(values)]
    call = (_EQUAL, 0, last + 3, number)
    return [call, (_LOAD, 0, 0, 16 + 8 * place), *checks, _REFUSE, _LOAD_NUMBER]


def _prctl(option: int, value: int, program: bytes | None = None) -> None:
    """Set something of this process.

    Raises:
        OSError: the kernel refuses.
    """
    libc = ctypes.CDLL(None, use_errno=True)
    if libc.prctl(option, value, program):
        raise OSError(ctypes.get_errno(), f"prctl {option} is refused")


def _restrict(net: str, writable: str, *readable: str) -> None:
    """Let this process read what is shown, write one folder, and call what is not refused."""
    from landlockpy import AccessFS, AccessNet, Ruleset, Scope

    read_file = AccessFS.READ_FILE | AccessFS.EXECUTE
    scope = Scope.SIGNAL | Scope.ABSTRACT_UNIX_SOCKET
    with Ruleset(handled_net=AccessNet.NONE, scoped=scope) as rules:
        for path in filter(os.path.exists, readable):
            is_folder = os.path.isdir(path)
            rules.allow_path(
                path, read_file | AccessFS.READ_DIR if is_folder else read_file
            )
        rules.allow_path("/dev/null", AccessFS.READ_FILE | AccessFS.WRITE_FILE)
        rules.allow_path(writable, rules.handled_fs)
        rules.restrict()
    steps = ctypes.create_string_buffer(filter_program(NETWORKS if net == "host" else ()))
    # A struct sock_fprog: the number of steps, and where they are.
    program = struct.pack("@HP", len(steps) // 8, ctypes.addressof(steps))
    _prctl(_SET_SECCOMP, _FILTER, program)


def _end_children() -> None:
    """Kill every process below this one: those of a killed one come to it."""
    while True:
        with open(f"/proc/self/task/{os.getpid()}/children", encoding="ascii") as stream:
            children = stream.read().split()
        if not children:
            return
        for child in children:
            os.kill(int(child), signal.SIGKILL)
        os.waitpid(-1, 0)


def _end_all(*_: object) -> None:
    _end_children()
    os._exit(128 + signal.SIGTERM)


def main() -> None:
    """Run the program and end with its status; for a signal it is 128 and its number."""
    split = sys.argv.index("--")
    folders, argv = sys.argv[1:split], sys.argv[split + 1 :]
    _prctl(_SET_SUBREAPER, 1)
    _prctl(_SET_DEATH_SIGNAL, signal.SIGTERM)
    signal.signal(signal.SIGTERM, _end_all)
    program = os.fork()
    if not program:
        if folders:
            _restrict(*folders)
        os.execvp(argv[0], argv)
    _, status = os.waitpid(program, 0)
    _end_children()
    code = os.waitstatus_to_exitcode(status)
    sys.exit(code if code >= 0 else 128 - code)


if __name__ == "__main__":
    main()
