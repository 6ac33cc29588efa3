"""Which calls of the Linux kernel are refused to code of a project.

What rules about files cannot forbid: keys, limits of other processes, memory that outlives its
process, sockets that lead out. See seccomp(2) and the kernel's
Documentation/userspace-api/seccomp_filter.rst.
"""

from __future__ import annotations

import errno
import os
import struct

#: Numbers on x86-64 and on ARM64.
REFUSED = {
    "add_key": (248, 217),
    "request_key": (249, 218),
    "keyctl": (250, 219),
    "memfd_create": (319, 279),
    "memfd_secret": (447, 447),
    "bpf": (321, 280),
    "perf_event_open": (298, 241),
    "userfaultfd": (323, 282),
    "open_by_handle_at": (304, 265),
    "io_uring_setup": (425, 425),
}
#: What a sandbox without namespaces shares with everybody.
SHARED = {
    "shmget": (29, 194),
    "shmat": (30, 196),
    "shmctl": (31, 195),
    "semget": (64, 190),
    "semop": (65, 193),
    "semctl": (66, 191),
    "semtimedop": (220, 192),
    "msgget": (68, 186),
    "msgsnd": (69, 189),
    "msgrcv": (70, 188),
    "msgctl": (71, 187),
    "mq_open": (240, 180),
    "mq_unlink": (241, 181),
    "inotify_add_watch": (254, 27),
    "migrate_pages": (256, 238),
    "move_pages": (279, 239),
}
#: What sets limits and priorities of any process of the same user, but for the arguments (place
#: and value) that name the calling thread.
OWN_ONLY = {
    "sched_setparam": ((142, 118), {0: 0}),
    "sched_setscheduler": ((144, 119), {0: 0}),
    "sched_setaffinity": ((203, 122), {0: 0}),
    "sched_setattr": ((314, 274), {0: 0}),
    "setpriority": ((141, 140), {0: 0, 1: 0}),
    "ioprio_set": ((251, 30), {0: 1, 1: 0}),
    "prlimit64": ((302, 261), {0: 0}),
}
_SOCKET, _CLONE, _UNSHARE, _CLONE3 = (41, 198), (56, 220), (272, 97), (435, 435)
#: Families of sockets: of the file system, and of networks.
_UNIX, _NETWORKS = 1, (2, 10, 16)
_NEW_USER = 0x10000000
#: By machine: which of the two numbers, and what the kernel calls the architecture.
_MACHINES = {"x86_64": (0, 0xC000003E), "aarch64": (1, 0xC00000B7)}
#: Numbers from here on are of another way to call the same kernel.
_X32 = 0x40000000
_LOAD, _EQUAL, _AT_LEAST, _ANY, _RETURN = 0x20, 0x15, 0x35, 0x45, 0x06
_ALLOW, _REFUSE = 0x7FFF0000, 0x00050000


def filter_program(*, apart: bool, network: bool) -> bytes:
    """Return the filter for this machine, b"" where its numbers are not known.

    Args:
        apart: processes have namespaces of their own. Where they have none, what is shared with
            everybody is refused too: sockets of the file system, and without `network` all others.
        network: whether they may have sockets of networks there.
    """
    known = _MACHINES.get(os.uname().machine)
    if known is None:
        return b""
    column, architecture = known
    program = _step(_LOAD, 4) + _step(_EQUAL, architecture, 1, 0) + _refuse(errno.EPERM)
    program += _step(_LOAD, 0)
    if column == 0:
        program += _step(_AT_LEAST, _X32, 0, 1) + _refuse(errno.EPERM)
    families: tuple[int, ...] = (_UNIX, *_NETWORKS)
    if not apart:
        families = _NETWORKS if network else ()
        for numbers in SHARED.values():
            program += _step(_EQUAL, numbers[column], 0, 1) + _refuse(errno.EPERM)
        for numbers, arguments in OWN_ONLY.values():
            for place, value in arguments.items():
                program += _allow_only(numbers[column], place, (value,))
    for numbers in REFUSED.values():
        program += _step(_EQUAL, numbers[column], 0, 1) + _refuse(errno.EPERM)
    program += _allow_only(_SOCKET[column], 0, families)
    for numbers in (_CLONE, _UNSHARE):
        flags = _step(_LOAD, 16) + _step(_ANY, _NEW_USER, 0, 1) + _refuse(errno.EPERM)
        program += _for_call(numbers[column], flags)
    # Its flags cannot be seen; C libraries then use clone, whose can.
    program += _step(_EQUAL, _CLONE3[column], 0, 1) + _refuse(errno.ENOSYS)
    return program + _step(_RETURN, _ALLOW)


def _allow_only(number: int, place: int, values: tuple[int, ...]) -> bytes:
    """Refuse a call unless its argument is one of the values."""
    body = _step(_LOAD, 16 + 8 * place)
    for index, value in enumerate(values):
        body += _step(_EQUAL, value, len(values) - index, 0)
    return _for_call(number, body + _refuse(errno.EPERM))


def _for_call(number: int, body: bytes) -> bytes:
    return _step(_EQUAL, number, 0, len(body) // 8) + body + _step(_LOAD, 0)


def _refuse(error: int) -> bytes:
    return _step(_RETURN, _REFUSE | error)


def _step(code: int, value: int, then: int = 0, otherwise: int = 0) -> bytes:
    return struct.pack("=HBBI", code, then, otherwise, value)
