"""Waits, with pytest loaded, to be forked. Runs in the subject: Python 3.8+.

The process runs no code of the project, but for what an environment in it loads into every
interpreter, and has no power over anything. For each row it forks one that does run it (`row`),
waits for its end, and sees to it that nothing of it is left. It alone holds the connection on
which it is asked; a row gets one of its own, made by the tool, and nothing of any other.
"""

import gc
import importlib.machinery
import importlib.util
import json
import os
import socket
import struct
import sys
import warnings

start = sys.modules["_brt_start"]
beforehand = start.load("beforehand")
overlay = start.load("overlay")
processes = start.load("processes")
rows = start.load("row")
syscalls = start.load("syscalls")


class Connection:
    """One end of a socket pair, the tool having the other."""

    def __init__(self, descriptor):
        self.socket = socket.socket(fileno=descriptor)
        self.pending = b""
        #: The descriptors that came with messages, and were not taken yet.
        self.passed = []

    def read(self):
        """Return the next message, None when the tool is gone."""
        while b"\n" not in self.pending:
            space, flags = socket.CMSG_SPACE(4), socket.MSG_CMSG_CLOEXEC
            data, extra, _, _ = self.socket.recvmsg(1 << 16, space, flags)
            for _, kind, content in extra:
                if kind == socket.SCM_RIGHTS:
                    self.passed += struct.unpack("i" * (len(content) // 4), content)
            if not data:
                return None
            self.pending += data
        line, _, self.pending = self.pending.partition(b"\n")
        return json.loads(line.decode("utf-8"))

    def send(self, event, **fields):
        """Tell the tool something of our own."""
        data = json.dumps(dict(fields, event=event)).encode("ascii")
        start.write_all(self.socket.fileno(), data + b"\n")

    def close(self):
        """Let go of it, in a process that has no business with it."""
        self.socket.close()


class Zygote:
    """Forks rows on demand."""

    def __init__(self, control, config):
        self.control = control
        self.config = config
        self.shielded = self.is_shielded()

    def is_shielded(self):
        """Return whether signals to everyone reach only our own descendants."""
        if self.config["level"] == "ns":
            return os.readlink("/proc/self/ns/pid") != self.config["outer_pid_ns"]
        if not self.config["scope"]:
            return False
        try:
            os.kill(os.getppid(), 0)
        except PermissionError:
            return True
        return False

    def is_in_tree(self):
        """Return whether loading pytest has loaded modules of the project."""
        modules = list(sys.modules.values())
        return any(rows.is_of_project(module, self.config) for module in modules)

    def serve(self):
        """Answer requests until the tool goes away."""
        while True:
            request = self.control.read()
            if request is None or request["op"] == "quit":
                return
            if request["op"] == "preload":
                self.preload(request["names"])
                self.control.send("done")
            elif request["op"] == "compile":
                self.succeeds(self.compile, request["paths"])
                self.control.send("done")
            else:
                self.fork_row(self.control.passed.pop(0))

    def fork_row(self, descriptor):
        """Fork a row that talks over `descriptor`, wait for its end, and end what it left."""
        me = os.getpid()
        try:
            pid = processes.fork()
        except processes.NoProcess as error:
            os.close(descriptor)
            self.control.send("no_process", text=str(error))
            return
        if pid == 0:
            code = 1
            try:
                self.control.close()
                connection = Connection(descriptor)
                code = rows.run_row(self, connection, me)
            except BaseException as error:  # ours, or what the project did to us: tell it
                text = "%s: %s" % (type(error).__name__, error)
                connection.send("row_error", text=text[: rows.TAIL])
            finally:
                os._exit(code)
        os.close(descriptor)
        self.control.send("row_end", status=self.await_end(pid, me))

    def preload(self, names):
        """Import libraries that the project needs, if a trial in a child shows no harm.

        The project says which they are, so its own folders are not looked in.
        """
        names = [name for name in names if name not in sys.modules]
        path = list(sys.path)
        sys.path[:] = [one for one in path if not rows.is_in_project(one, self.config)]
        try:
            if names and self.succeeds(self.is_harmless, names):
                for name in names:
                    rows.try_import(name)
        finally:
            sys.path[:] = path
        gc.collect()
        gc.freeze()

    def is_harmless(self, names):
        """Return whether importing them loads no module of the project and starts no thread."""
        warnings.simplefilter("error")
        loaded = all(rows.try_import(name) for name in names)
        return loaded and not self.is_in_tree() and rows.threads() == 1

    def compile(self, paths):
        """Compile modules of the project for all rows, none of which has begun."""
        if self.config["level"] == "ns":
            syscalls.prctl(syscalls.PR_SET_DUMPABLE, 1)  # else it may not name its ids
            overlay.mount_warm(self.config)
            syscalls.set_capabilities(())
        start.load("warm").compile_modules(paths)
        return True

    def succeeds(self, work, names):
        """Return whether `work` of the names, done in a child, comes to a good end."""
        me = os.getpid()
        pid = os.fork()
        if pid == 0:
            good = False
            try:
                self.control.close()
                good = work(names)
            finally:
                os._exit(0 if good else 1)
        return self.await_end(pid, me) == 0

    def await_end(self, pid, me):
        """Wait for the end of a child, end all that it left, and return its status."""
        _, status = os.waitpid(pid, 0)
        if self.shielded:
            processes.kill_reachable()
        else:
            processes.kill_descendants(me)
        processes.reap()
        return status


def load_pytest(path, config):
    """Load pytest with no folder of the project on the import path, which is to be `path`.

    Return whether nothing of it would have come from the project, had these been on it.
    """
    before = set(sys.modules)
    sys.path[:] = [entry for entry in path if not rows.is_in_project(entry, config)]
    if importlib.util.find_spec("pytest") is None:
        return False  # it is the project
    beforehand.rehearse(config["packages"])
    names = {name.partition(".")[0] for name in sys.modules} - before
    specs = [importlib.machinery.PathFinder.find_spec(name, path) for name in names]
    return not any(spec and rows.is_in_project(spec.origin or "", config) for spec in specs)


def main(descriptor):
    """Load pytest, say so over the connection, and serve."""
    control = Connection(descriptor)
    config = control.read()
    sys.argv[:] = ["pytest"]
    if config is None:
        return
    # Only now, and not by the variable: a sitecustomize of the project must not be run here.
    outer = os.environ.get("PYTHONPATH", "").split(os.pathsep)
    entries = config["path"]
    path = entries + [entry for entry in sys.path if entry not in outer + entries]
    is_apart = config["fork"] and load_pytest(path, config)
    sys.path[:] = path
    os.environ["PYTHONPATH"] = os.pathsep.join(entries)
    zygote = Zygote(control, config)
    gc.collect()
    gc.freeze()
    # Nobody but root may look into this process, or change what it does.
    syscalls.prctl(syscalls.PR_SET_DUMPABLE, 0)
    if config["level"] == "ns" and not zygote.shielded:
        control.send("problem", text="no process namespace of its own")
        return
    forks = is_apart and not zygote.is_in_tree() and rows.threads() == 1
    control.send("ready", forks=forks)
    zygote.serve()
