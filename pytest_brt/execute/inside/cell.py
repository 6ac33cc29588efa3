"""One test in a process of its own, a fork of a row, and how the row follows it. Python 3.8+."""

import atexit
import importlib
import json
import os
import select
import signal
import sys
import tempfile
import threading
import time
from contextlib import suppress

start = sys.modules["_brt_start"]
calls = start.load("syscalls")
view = start.load("view")
seccomp = start.load("seccomp")


class Cell:
    """The process of one target."""

    def __init__(self, row, request, writer, status_writer, output):
        self.row = row
        self.config = row.config
        self.request = request
        self.writer = writer
        self.status_writer = status_writer
        self.output = output
        self.folders = request["folders"]

    def enter(self, parent):
        """Shut the process in; what follows is the test."""
        try:
            self._shut_in(parent)
        except BaseException as error:  # then there must be no test, and no verdict about it
            text = "%s: %s" % (type(error).__name__, error)
            start.Wire(self.writer).send("sandbox_error", text=text)
            os._exit(1)

    def _shut_in(self, parent):
        calls.die_with_parent(parent)
        if self.config["level"] == "ns":
            self._enter_namespaces()
        if self.config["scope"]:
            calls.keep_signals_in()
        os.close(self.status_writer)
        null = os.open(os.devnull, os.O_RDONLY)
        os.dup2(null, 0)
        os.close(null)
        for number in (1, 2):
            os.dup2(self.output, number)
        os.environ.update(self.request["env"])
        if self.config["level"] == "ns":
            view.write_files(self.config["root"], self.request["files"])
            view.write_files(self.folders["work"], self.request["work"])
        importlib.invalidate_caches()
        os.chdir(self.request["cwd"])
        start.apply_limits(self.request["limits"])

    def _enter_namespaces(self):
        uid, gid = os.getuid(), os.getgid()
        apart = not self.config["scope"]
        flags = calls.CLONE_NEWUSER | calls.CLONE_NEWNS
        calls.unshare(flags | (calls.CLONE_NEWPID if apart else 0))
        calls.map_own_ids(uid, gid)
        view.mount_cell(self.config, self.request["keep"])
        if apart:
            self._become_apart()
        seccomp.close_up()
        calls.set_capabilities(())
        calls.prctl(calls.PR_SET_NO_NEW_PRIVS, 1)

    def _become_apart(self):
        """Go on as the child of a first process of a new process namespace.

        For kernels whose Landlock cannot keep signals in. The first process ignores
        signals by nature, so the test must not be it.
        """
        first = os.fork()
        if first:
            os.close(self.writer)
            os.close(self.status_writer)
            _, status = os.waitpid(first, 0)
            os._exit(os.WEXITSTATUS(status) if os.WIFEXITED(status) else 1)
        calls.prctl(calls.PR_SET_PDEATHSIG, signal.SIGKILL)
        calls.mount("proc", "/proc", "proc", calls.MS_NOSUID | calls.MS_NODEV | calls.MS_NOEXEC)
        second = os.fork()
        if second == 0:
            return
        os.close(self.writer)
        while True:
            pid, status = os.waitpid(-1, 0)
            if pid == second:
                text = -os.WTERMSIG(status) if os.WIFSIGNALED(status) else os.WEXITSTATUS(status)
                os.write(self.status_writer, str(text).encode())
                os._exit(0)

    def adopt(self, session):
        """Make the pytest session of the row the cell's own."""
        tempfile.tempdir = None
        config = session.config
        capture = config.pluginmanager.getplugin("capturemanager")
        if capture is not None:
            capture.stop_global_capturing()
            for number in (1, 2):  # to where they led when the row began: not here
                os.dup2(self.output, number)
            capture.start_global_capturing()
            capture.suspend_global_capture()
        os.close(self.output)
        args = self.request["args"]
        # The row's pytest has read its options already, and other cells want no docstrings.
        config.option.doctestmodules = args[0] == "--doctest-modules"
        config.args[:] = args[1:] if config.option.doctestmodules else args
        if self.request["deselect"]:
            config.option.deselect = list(self.request["deselect"])
        self.wire = start.Wire(self.writer)
        self.row.probe.wire = self.wire
        self.row.probe.first = self.request["first"]
        self.row.probe.target = os.path.join(self.config["root"], self.request["target"])
        self.wire.send("start")  # by which process: another may speak later

    def leave(self, code, touched):
        """Tell the end, wait for threads as Python does, and be gone."""
        touched.tell(self.wire)
        for stream in (sys.stdout, sys.stderr):
            stream.flush()
        self.wire.send("finish", code=code)
        threading._shutdown()
        atexit._run_exitfuncs()
        os._exit(code)

    def replace_process(self):
        """Become a new interpreter that does what the request says."""
        path = os.path.join(self.folders["tmp"], "spec.json")
        spec = dict(self.request["spec"], fd=self.writer)
        with open(path, "w", encoding="utf-8") as stream:
            json.dump(spec, stream)
        os.set_inheritable(self.writer, True)
        python, script = self.config["python"], self.request["script"]
        argv = [python, *self.request["flags"], start.__file__, script, path]
        os.execve(python, argv, dict(os.environ))


#: Bytes of events; a test that tells more is ended.
EVENTS_LIMIT = 64 * 1024 * 1024
#: Events that one test may tell.
EVENTS_MOST = 100000
#: Bytes that are kept, to be passed on together: each message would wake the tool.
KEPT = 65536


class Watch:
    """Follows one cell to its end or its deadline."""

    def __init__(self, row, pid, reader, allow):
        self.row = row
        self.pid = pid
        self.reader = reader
        self.allow = allow
        self.timed_out = False
        self.is_over = False
        self.pending = bytearray()
        self.received = 0
        self.told = 0
        #: What is to be passed on.
        self.kept = bytearray()
        now = time.monotonic()
        self.last = now + allow["total"]
        self.deadline = now + allow["start"]
        os.set_blocking(reader, False)

    def follow(self):
        """Take in events until the process ends or the deadline passes."""
        poll = select.poll()
        poll.register(self.reader, select.POLLIN)
        ending = calls.pidfd_open(self.pid)
        poll.register(ending, select.POLLIN)
        try:
            while True:
                left = min(self.deadline, self.last) - time.monotonic()
                if left <= 0:
                    self.timed_out = True
                    return
                ready = dict(poll.poll(min(left, 3600) * 1000 + 1))
                if self.reader in ready and not self.read():
                    poll.unregister(self.reader)
                if ending in ready:
                    return
        finally:
            os.close(ending)

    def end(self):
        """Kill the process and all it started, read what is left; return status and CPU seconds."""
        if self.timed_out:
            with suppress(ProcessLookupError):  # it ended at the last moment
                os.kill(self.pid, signal.SIGKILL)
        _, status, used = os.wait4(self.pid, 0)
        self.is_over = True
        self.row.kill_rest()
        while self.read():
            pass
        return status, used.ru_utime + used.ru_stime

    def read(self):
        """Take in what there is to read; return whether there may be more."""
        try:
            data = os.read(self.reader, 65536)
        except BlockingIOError:
            return not self.is_over
        if not data:
            return False
        self.received += len(data)
        if self.received > EVENTS_LIMIT or self.told > EVENTS_MOST:
            self.deadline = 0
            return False
        self.pending += data
        if b"\n" not in data:
            return True
        *lines, rest = bytes(self.pending).split(b"\n")
        self.pending = bytearray(rest)
        self.told += len(lines)
        for line in lines:
            self.kept += b"e%s\n" % line
            self.extend(line)
        if len(self.kept) > KEPT:
            self.row.control.write(self.kept)
            self.kept = bytearray()
        return True

    def extend(self, line):
        """Move the deadline as the event says."""
        try:
            event = json.loads(line.decode("utf-8")).get("event")
            seconds = self.allow["events"].get(event)
        except (ValueError, AttributeError, TypeError, RecursionError):
            return  # anything may stand there: a test can write to the pipe
        if seconds is not None:
            self.deadline = time.monotonic() + seconds
