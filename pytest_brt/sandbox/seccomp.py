"""Which calls of the Linux kernel are refused to code of a project.

What rules about files cannot forbid: keys, limits of other processes, memory that outlives its
process, sockets that lead out. See seccomp(2) and the kernel's
Documentation/userspace-api/seccomp_filter.rst.
"""

from __future__ import annotations

import errno
import os
import struct
from collections.abc import Sequence

#: By machine: what the kernel calls the architecture, and which numbers are its own.
_MACHINES = {"x86_64": (0xC000003E, 0), "aarch64": (0xC00000B7, 1)}
#: Numbers on x86-64 and on ARM64 of: add_key, request_key, keyctl, memfd_create, memfd_secret, bpf,
#: perf_event_open, userfaultfd, open_by_handle_at, io_uring_setup.
_REFUSED = (
    (248, 249, 250, 319, 447, 321, 298, 323, 304, 425),
    (217, 218, 219, 279, 447, 280, 241, 282, 265, 425),
)
#: What a sandbox without namespaces shares with everybody: shmget, shmat, shmctl, semget, semop,
#: semctl, semtimedop, msgget, msgsnd, msgrcv, msgctl, mq_open, mq_unlink, inotify_add_watch,
#: migrate_pages, move_pages.
_SHARED = (
    (29, 30, 31, 64, 65, 66, 220, 68, 69, 70, 71, 240, 241, 254, 256, 279),
    (194, 196, 195, 190, 193, 191, 192, 186, 189, 188, 187, 180, 181, 27, 238, 239),
)
#: What sets limits and priorities of any process of the same user, and which value an argument (by
#: its place) must have to mean the calling thread alone: sched_setparam, sched_setscheduler,
#: sched_setaffinity, sched_setattr, prlimit64, setpriority, ioprio_set.
_OF_OTHERS = (
    (142, 144, 203, 314, 302, 141, 141, 251, 251),
    (118, 119, 122, 274, 261, 140, 140, 30, 30),
)
_OWN = ((0, 0), (0, 0), (0, 0), (0, 0), (0, 0), (0, 0), (1, 0), (0, 1), (1, 0))
#: socket, clone, unshare, clone3.
_CALLS = ((41, 56, 272, 435), (198, 220, 97, 435))
#: Families of sockets: of the file system, and of networks.
_UNIX, _NETWORKS = 1, (2, 10, 16)
_NEW_USER = 0x10000000
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
    architecture, column = _MACHINES.get(os.uname().machine, (0, -1))
    if column < 0:
        return b""
    socket, clone, unshare, clone3 = _CALLS[column]
    program = _step(_LOAD, 4) + _step(_EQUAL, architecture, 1, 0) + _refuse() + _step(_LOAD, 0)
    program += _step(_AT_LEAST, _X32, 0, 1) + _refuse()
    families: Sequence[int] = (_UNIX, *_NETWORKS)
    shared = () if apart else _SHARED[column]
    if not apart:
        families = _NETWORKS if network else ()
        for number, (place, value) in zip(_OF_OTHERS[column], _OWN, strict=True):
            program += _allow_only(number, place, (value,))
    for number in (*shared, *_REFUSED[column]):
        program += _step(_EQUAL, number, 0, 1) + _refuse()
    program += _allow_only(socket, 0, families)
    for number in (clone, unshare):
        flags = _step(_LOAD, 16) + _step(_ANY, _NEW_USER, 0, 1) + _refuse()
        program += _for_call(number, flags)
    # Its flags cannot be seen; C libraries then use clone, whose can.
    program += _step(_EQUAL, clone3, 0, 1) + _refuse(errno.ENOSYS)
    return program + _step(_RETURN, _ALLOW)


def _allow_only(number: int, place: int, values: Sequence[int]) -> bytes:
    """Refuse a call unless its argument is one of the values."""
    body = _step(_LOAD, 16 + 8 * place)
    for index, value in enumerate(values):
        body += _step(_EQUAL, value, len(values) - index, 0)
    return _for_call(number, body + _refuse())


def _for_call(number: int, body: bytes) -> bytes:
    return _step(_EQUAL, number, 0, len(body) // 8) + body + _step(_LOAD, 0)


def _refuse(error: int = errno.EPERM) -> bytes:
    return _step(_RETURN, _REFUSE | error)


def _step(code: int, value: int, then: int = 0, otherwise: int = 0) -> bytes:
    return struct.pack("=HBBI", code, then, otherwise, value)
