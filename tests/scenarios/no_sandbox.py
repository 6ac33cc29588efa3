"""Runs a command where nothing can be isolated: no_sandbox.py COMMAND ARGUMENT...

The kernel refuses namespaces and Landlock to it and to all that it starts, as many containers do.
"""

from __future__ import annotations

import ctypes
import errno
import os
import platform
import struct
import sys

PR_SET_NO_NEW_PRIVS, PR_SET_SECCOMP, FILTER = 38, 22, 2
LOAD, EQUAL, ALL_OF, RETURN = 0x20, 0x15, 0x45, 0x06
ALLOW, REFUSE = 0x7FFF0000, 0x00050000
#: CLONE_NEW... of all kinds.
NAMESPACES = 0x7E020000
#: clone, unshare, setns; clone3 and the three of Landlock have one number everywhere.
NUMBERS = {"x86_64": (56, 272, 308), "aarch64": (220, 97, 268)}
MISSING = (435, 444, 445, 446)


class Program(ctypes.Structure):
    _fields_ = (("length", ctypes.c_ushort), ("filter", ctypes.c_char_p))


def refuse() -> None:
    """Refuse it from here on."""
    clone, *others = NUMBERS[platform.machine()]
    code = [(LOAD, 0, 0, 0)]
    for number, error in [
        *((number, errno.EPERM) for number in others),
        *((number, errno.ENOSYS) for number in MISSING),
    ]:
        code += [(EQUAL, 0, 1, number), (RETURN, 0, 0, REFUSE | error)]
    code += [(EQUAL, 0, 3, clone), (LOAD, 0, 0, 16)]
    code += [(ALL_OF, 0, 1, NAMESPACES), (RETURN, 0, 0, REFUSE | errno.EPERM)]
    code += [(RETURN, 0, 0, ALLOW)]
    text = b"".join(struct.pack("HBBI", *line) for line in code)
    libc = ctypes.CDLL(None, use_errno=True)
    assert libc.prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0
    program = Program(len(code), text)
    assert libc.prctl(PR_SET_SECCOMP, FILTER, ctypes.byref(program), 0, 0) == 0, ctypes.get_errno()


if __name__ == "__main__":
    refuse()
    os.execv(sys.argv[1], sys.argv[1:])
