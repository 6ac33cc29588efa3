"""Which calls of the Linux kernel are refused to code of the subject. Python 3.8+.

What a file system's rules cannot forbid: keys, other processes' memory, sockets that lead out,
and at the level `landlock` changing what is known of a file, which Landlock does not see. See
seccomp(2) and the kernel's Documentation/userspace-api/seccomp_filter.rst.
"""

import ctypes
import errno
import os
import struct

#: Numbers on x86-64 and on ARM64; -1 where a machine has no such call.
KEYS = {"add_key": (248, 217), "request_key": (249, 218), "keyctl": (250, 219)}
OTHER_PROCESSES = {
    "ptrace": (101, 117),
    "process_vm_readv": (310, 270),
    "process_vm_writev": (311, 271),
    "pidfd_getfd": (438, 438),
    "process_madvise": (440, 440),
    "migrate_pages": (256, 238),
    "move_pages": (279, 239),
}
#: What sets limits and priorities of any process of the same user, but for the arguments (place
#: and value) that name the calling thread.
ONLY_OWN = {
    "sched_setparam": ((142, 118), {0: 0}),
    "sched_setscheduler": ((144, 119), {0: 0}),
    "sched_setaffinity": ((203, 122), {0: 0}),
    "sched_setattr": ((314, 274), {0: 0}),
    "setpriority": ((141, 140), {0: 0, 1: 0}),
    "ioprio_set": ((251, 30), {0: 1, 1: 0}),
    "prlimit64": ((302, 261), {0: 0}),
}
#: What is kept in memory past the limits of a process, or past its end.
MEMORY = {
    "memfd_create": (319, 279),
    "memfd_secret": (447, 447),
    "shmget": (29, 194),
    "msgget": (68, 186),
    "semget": (64, 190),
}
KERNEL = {
    "bpf": (321, 280),
    "perf_event_open": (298, 241),
    "userfaultfd": (323, 282),
    "open_by_handle_at": (304, 265),
    "io_uring_setup": (425, 425),
    "kexec_load": (246, 104),
    "init_module": (175, 105),
    "finit_module": (313, 273),
}
MESSAGES = {"mq_open": (240, 180)}
METADATA = {
    "chmod": (90, -1),
    "fchmod": (91, 52),
    "fchmodat": (268, 53),
    "fchmodat2": (452, 452),
    "chown": (92, -1),
    "fchown": (93, 55),
    "lchown": (94, -1),
    "fchownat": (260, 54),
    "utime": (132, -1),
    "utimes": (235, -1),
    "futimesat": (261, -1),
    "utimensat": (280, 88),
    "setxattr": (188, 5),
    "lsetxattr": (189, 6),
    "fsetxattr": (190, 7),
    "removexattr": (197, 14),
    "lremovexattr": (198, 15),
    "fremovexattr": (199, 16),
    "setxattrat": (463, 463),
    "removexattrat": (466, 466),
    "file_setattr": (469, 469),
}
SOCKET, IOCTL = (41, 198), (16, 29)
CLONE, UNSHARE, CLONE3 = (56, 220), (272, 97), (435, 435)
#: Families of sockets: of the file system, and of networks.
UNIX, NETWORKS = 1, (2, 10, 16)
#: Protocols of sockets: the family's own (0), TCP and UDP. Landlock knows of TCP alone, and lets
#: what else carries streams (MPTCP, SMC, SCTP) through.
PROTOCOLS = (0, 6, 17)
#: Attributes of files that can be set through a descriptor that may only read.
SET_FLAGS, SET_XFLAGS = 0x40086602, 0x401C5820
NEW_USER = 0x10000000

_ARCH = {"x86_64": (0, 0xC000003E), "aarch64": (1, 0xC00000B7)}
_LOAD, _EQUAL, _AT_LEAST, _ANY, _RETURN = 0x20, 0x15, 0x35, 0x45, 0x06
_ALLOW, _REFUSE = 0x7FFF0000, 0x00050000


def _step(code, value, then=0, otherwise=0):
    return struct.pack("=HBBI", code, then, otherwise, value)


def _refuse(number, error):
    return _step(_EQUAL, number, 0, 1) + _step(_RETURN, _REFUSE | error)


def program(groups, families=(), attributes=False, no_users=False):
    """Return the filter (BPF) for this machine, None where its numbers are not known.

    Args:
        groups: the calls to refuse, as in `KEYS`.
        families: of sockets, that are allowed; () for all.
        attributes: refuse to set attributes of files.
        no_users: refuse new user namespaces.
    """
    known = _ARCH.get(os.uname().machine)
    if known is None:
        return None
    column, arch = known
    out = _step(_LOAD, 4) + _step(_EQUAL, arch, 1, 0) + _step(_RETURN, _REFUSE | errno.EPERM)
    out += _step(_LOAD, 0)
    if column == 0:  # the numbers of x32
        out += _step(_AT_LEAST, 0x40000000, 0, 1) + _step(_RETURN, _REFUSE | errno.EPERM)
    for group in groups:
        for numbers in group.values():
            if numbers[column] >= 0:
                out += _refuse(numbers[column], errno.EPERM)
    if groups:
        for calls, wanted in ONLY_OWN.values():
            for place, value in wanted.items():
                out += _only(calls[column], place, (value,), errno.EPERM)
    if families:
        out += _only(SOCKET[column], 0, families, errno.EAFNOSUPPORT)
        out += _only(SOCKET[column], 2, PROTOCOLS, errno.EPROTONOSUPPORT)
    if attributes:
        out += _never(IOCTL[column], 1, _EQUAL, (SET_FLAGS, SET_XFLAGS))
    if no_users:
        out += _never(CLONE[column], 0, _ANY, (NEW_USER,))
        out += _never(UNSHARE[column], 0, _ANY, (NEW_USER,))
        out += _refuse(CLONE3[column], errno.ENOSYS)  # its flags cannot be seen; clone's can
    return out + _step(_RETURN, _ALLOW)


def _only(number, place, values, error):
    """Refuse a call unless its argument is one of the values."""
    body = _step(_LOAD, 16 + 8 * place)
    for index, value in enumerate(values):
        body += _step(_EQUAL, value, len(values) - index, 0)
    body += _step(_RETURN, _REFUSE | error)
    return _step(_EQUAL, number, 0, len(body) // 8) + body + _step(_LOAD, 0)


def _never(number, place, test, values):
    """Refuse a call whose argument passes the test for one of the values."""
    body = _step(_LOAD, 16 + 8 * place)
    for value in values:
        body += _step(test, value, 0, 1) + _step(_RETURN, _REFUSE | errno.EPERM)
    return _step(_EQUAL, number, 0, len(body) // 8) + body + _step(_LOAD, 0)


def install(steps):
    """Refuse what a filter says, if there is one, to this process and its children.

    Raises:
        OSError: the kernel has no such filters.
    """
    if steps is None:
        return
    libc = ctypes.CDLL(None, use_errno=True)
    held = ctypes.create_string_buffer(steps, len(steps))
    head = struct.pack("=HxxxxxxQ", len(steps) // 8, ctypes.addressof(held))
    zero = ctypes.c_ulong(0)
    if libc.prctl(22, ctypes.c_ulong(2), head, zero, zero) != 0:
        raise OSError(ctypes.get_errno(), "no filter of system calls can be set")
