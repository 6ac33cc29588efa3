"""The user that code of the subject runs as."""

from __future__ import annotations

import os
from types import ModuleType


def drop_user(uid: int | None, calls: ModuleType | None, *, keep_reading: bool) -> None:
    """Become the user `uid`, if there is one, without any power.

    With `keep_reading` it may read every file, as far as `calls`, Linux's, can say so.
    """
    if uid is None:
        return
    if keep_reading and calls is not None:
        calls.prctl(calls.PR_SET_KEEPCAPS, 1)
    parent = os.getppid()
    os.setgroups([])
    os.setresgid(uid, uid, uid)
    os.setresuid(uid, uid, uid)
    if calls is None:
        return
    if keep_reading:
        calls.set_capabilities((calls.CAP_DAC_READ_SEARCH,), ambient=True)
        calls.die_with_parent(parent)  # changing the user has undone it
    calls.prctl(calls.PR_SET_DUMPABLE, 1)
