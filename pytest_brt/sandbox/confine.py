"""Shuts a process in by Landlock, and ends all that it leaves: ``python -P confine.py FD``.

It takes its order as JSON from the descriptor, and stays as the parent of the program: what that
leaves running comes to it, whatever session it made its own, and is killed.
"""

import ctypes
import json
import os
import signal
import struct
import sys

_SET_DEATH_SIGNAL, _SET_SECCOMP, _SET_SUBREAPER, _SET_NO_NEW_PRIVILEGES = 1, 22, 36, 38
_FILTER = 2
_DEVICES = ("null", "zero", "full", "random", "urandom")
#: Status of a program that could not be started.
NOT_STARTED = 125


def prctl(option, *values):
    """Set something of this process.

    Raises:
        OSError: the kernel refuses.
    """
    libc = ctypes.CDLL(None, use_errno=True)
    if libc.prctl(option, *map(ctypes.c_ulong, (*values, 0, 0, 0, 0)[:4])):
        raise OSError(ctypes.get_errno(), f"prctl {option} is refused")


def restrict_files(readable, writable):
    """Let this process read what is shown, and write its own folder alone."""
    from landlockpy import AccessFS, Ruleset, Scope, abi_version, scope_for_abi

    read_file = AccessFS.READ_FILE | AccessFS.EXECUTE
    read = read_file | AccessFS.READ_DIR
    scope = scope_for_abi(abi_version()) & (Scope.SIGNAL | Scope.ABSTRACT_UNIX_SOCKET)
    with Ruleset(handled_net=None, scoped=scope) as rules:
        for path in filter(os.path.exists, readable):
            rules.allow_path(path, read if os.path.isdir(path) else read_file)
        for name in _DEVICES:
            rules.allow_path(f"/dev/{name}", AccessFS.READ_FILE | AccessFS.WRITE_FILE)
        rules.allow_path(writable, rules.handled_fs)
        rules.restrict()


def run_program(order):
    """Shut this process in, and become the program."""
    signal.signal(signal.SIGTERM, signal.SIG_DFL)
    prctl(_SET_NO_NEW_PRIVILEGES, 1)
    if order["landlock"]:
        restrict_files(order["readable"], order["writable"])
    if order["user"] is not None:
        os.setgroups([])
        os.setresgid(*[order["user"]] * 3)
        os.setresuid(*[order["user"]] * 3)
    prctl(_SET_DEATH_SIGNAL, signal.SIGKILL)
    if order["filter"]:
        steps = bytes.fromhex(order["filter"])
        held = ctypes.create_string_buffer(steps, len(steps))
        # A struct sock_fprog: the number of steps, and where they are.
        packed = struct.pack("@HP", len(steps) // 8, ctypes.addressof(held))
        calls = ctypes.create_string_buffer(packed, len(packed))
        prctl(_SET_SECCOMP, _FILTER, ctypes.addressof(calls))
    os.chdir("/")
    os.execve(order["argv"][0], order["argv"], order["env"])


def end_children():
    """Kill every process below this one: those of a killed one come to it."""
    while True:
        with open(f"/proc/self/task/{os.getpid()}/children", encoding="ascii") as stream:
            children = stream.read().split()
        if not children:
            return
        for child in children:
            os.kill(int(child), signal.SIGKILL)
        os.waitpid(-1, 0)


def end_all(*_):
    """End with all processes."""
    end_children()
    os._exit(128 + signal.SIGTERM)


def main():
    """Run the program and end with its status; for a signal it is 128 and its number."""
    with open(int(sys.argv[1]), encoding="utf-8") as stream:
        order = json.load(stream)
    prctl(_SET_SUBREAPER, 1)
    prctl(_SET_DEATH_SIGNAL, signal.SIGTERM)
    signal.signal(signal.SIGTERM, end_all)
    program = os.fork()
    if not program:
        try:
            run_program(order)
        except BaseException as error:
            print(f"{type(error).__name__}: {error}", file=sys.stderr, flush=True)
        os._exit(NOT_STARTED)
    os.close(order["events"])
    ended = 0
    while ended != program:
        ended, status = os.waitpid(-1, 0)
    end_children()
    code = os.waitstatus_to_exitcode(status)
    os._exit(code if code >= 0 else 128 - code)


if __name__ == "__main__":
    main()
