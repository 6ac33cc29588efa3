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

#: By machine: what the kernel calls the architecture, and which column has its numbers of calls.
_MACHINES = {"x86_64": (0xC000003E, 1), "aarch64": (0xC00000B7, 2)}
#: Calls that lead out of any sandbox.
_REFUSED = """\
add_key 248 217
request_key 249 218
keyctl 250 219
memfd_create 319 279
memfd_secret 447 447
bpf 321 280
perf_event_open 298 241
userfaultfd 323 282
open_by_handle_at 304 265
io_uring_setup 425 425
unshare 272 97"""
#: Calls of what a sandbox without namespaces shares with everybody.
_SHARED = """\
shmget 29 194
shmat 30 196
shmctl 31 195
semget 64 190
semop 65 193
semctl 66 191
semtimedop 220 192
msgget 68 186
msgsnd 69 189
msgrcv 70 188
msgctl 71 187
mq_open 240 180
mq_unlink 241 181
inotify_add_watch 254 27
migrate_pages 256 238
move_pages 279 239
ioprio_set 251 30"""
#: Calls that set limits and priorities of any process of the same user; and which of their
#: arguments must be 0, for the process itself.
_OF_OTHERS = """\
sched_setparam 142 118 0
sched_setscheduler 144 119 0
sched_setaffinity 203 122 0
sched_setattr 314 274 0
prlimit64 302 261 0
setpriority 141 140 0
setpriority 141 140 1"""
#: Calls whose other arguments are looked at.
_LOOKED_AT = """\
socket 41 198
clone 56 220
clone3 435 435"""
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
    architecture, column = _MACHINES.get(os.uname().machine, (0, 0))
    if not column:
        return b""
    socket, clone, clone3 = (int(row[column]) for row in _rows(_LOOKED_AT))
    refused = _REFUSED if FILES in families else f"{_REFUSED}\n{_SHARED}"
    rules = [(int(row[column]), 0, ()) for row in _rows(refused)]
    if FILES not in families:
        rules += [(int(row[column]), int(row[3]), (0,)) for row in _rows(_OF_OTHERS)]
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


def _rows(table: str) -> list[list[str]]:
    """Return the rows of a table of calls: names, and numbers."""
    return [line.split() for line in table.splitlines()]


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
