"""One tree, and the tests that are to run on it: a fork of the zygote. Python 3.8+.

It mounts its own view of the project, gives up all privileges, imports the project, lets
pytest read its configuration once, and then forks a cell for each test it is asked for.
"""

import base64
import gc
import json
import os
import select
import signal
import sys
import time
import warnings

EVENTS_LIMIT = 64 * 1024 * 1024
TAIL = 16384


class Row:
    """The process of a row."""

    def __init__(self, zygote, request):
        self.zygote = zygote
        self.load = zygote.load
        self.config = zygote.config
        self.request = request
        self.control = zygote.control
        self.root = self.config["root"]
        self.scoped = False
        self.cell = None
        self.modules = []
        self.output = _memory_file()
        for number in (1, 2):
            os.dup2(self.output, number)

    def set_up(self):
        """Get a private view of the tree, make the changes, and give up every privilege."""
        syscalls = self.load("syscalls") if self.config["linux"] else None
        if self.config["level"] == "ns":
            self.load("view").mount_row(self.config, self.request["keep"])
            write_files(self.root, self.request["changes"])
            syscalls.set_capabilities(())
        if syscalls is not None:
            syscalls.prctl(syscalls.PR_SET_NO_NEW_PRIVS, 1)
            syscalls.prctl(syscalls.PR_SET_CHILD_SUBREAPER, 1)
            if self.config["scope"]:
                syscalls.keep_signals_in()
                self.scoped = True
        os.environ.update(self.request["env"])
        os.chdir(self.root)
        self.load("limits").apply_limits(self.request["limits"])

    def import_project(self):
        """Import what the tests will; return whether that went without any remark.

        A module that fails, or warns, is left for the tests to import themselves: what
        they see must be what they would see without us.
        """
        gc.disable()
        with warnings.catch_warnings(record=True) as remarks:
            warnings.simplefilter("always")
            for name in self.request["imports"]:
                if not _import(name):
                    return False
        gc.enable()
        return not remarks and _threads() == 1

    def foreign_modules(self, before):
        """Return the loaded modules that are not the project's, to load sooner next time."""
        root = self.root + os.sep
        libraries = tuple(path + os.sep for path in self.config["libraries"])
        found = []
        for name, module in list(sys.modules.items()):
            if name in before or name.startswith("_brt_") or name == "__main__":
                continue
            file = getattr(module, "__file__", None)
            if isinstance(file, str) and file.startswith(root) and not file.startswith(libraries):
                continue
            if (
                name.split(".")[0] in self.config["packages"]
                or getattr(module, "__spec__", None) is None
            ):
                continue
            found.append(name)
        return found

    def serve(self):
        """Fork a cell for each request; return True in a cell, end the process elsewhere."""
        gc.freeze()
        self.control.send("row_ready", modules=self.modules)
        while True:
            request = self.control.read()
            if request is None or request["op"] == "end":
                os._exit(0)
            if self.run_cell(request):
                return True

    def run_cell(self, request):
        """Fork one cell and watch it; return True in the cell itself."""
        cell = self.load("cell")
        reader, writer = os.pipe()
        status_reader, status_writer = os.pipe()
        output = _memory_file()
        me = os.getpid()
        begin = time.monotonic()
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            pid = os.fork()
        if pid == 0:
            for descriptor in (reader, status_reader, self.control.descriptor, self.output):
                os.close(descriptor)
            self.cell = cell.Cell(self, request, writer, status_writer, output)
            self.cell.enter(me)
            return True
        os.close(writer)
        os.close(status_writer)
        watch = Watch(self, pid, reader, request["allow"])
        try:
            watch.follow()
        finally:
            status = watch.end()
        said = os.read(status_reader, 64)
        size = os.fstat(output).st_size
        tail = os.pread(output, TAIL, max(0, size - TAIL))
        for descriptor in (reader, status_reader, output):
            os.close(descriptor)
        self.control.send(
            "cell_end",
            status=int(said) if said else _signed(status),
            timed_out=watch.timed_out,
            tail=tail.decode("utf-8", "replace"),
            seconds=time.monotonic() - begin,
        )
        return False

    def kill_rest(self):
        """End whatever a cell left running."""
        sweep = self.load("sweep")
        if self.scoped and self.zygote.shielded:
            sweep.kill_children(sweep.kill_reachable)
        else:
            sweep.kill_children(lambda: sweep.kill_descendants(os.getpid()))


class Watch:
    """Follows one cell to its end or its deadline."""

    def __init__(self, row, pid, reader, allow):
        self.row = row
        self.pid = pid
        self.reader = reader
        self.allow = allow
        self.timed_out = False
        self.pending = b""
        self.received = 0
        now = time.monotonic()
        self.last = now + allow["total"]
        self.deadline = now + allow["start"]
        os.set_blocking(reader, False)

    def follow(self):
        """Pass on events until the process ends or the deadline passes."""
        poll = select.poll()
        poll.register(self.reader, select.POLLIN)
        ending = self._ending()
        if ending is not None:
            poll.register(ending, select.POLLIN)
        try:
            while True:
                left = min(self.deadline, self.last) - time.monotonic()
                if left <= 0:
                    self.timed_out = True
                    return
                ready = dict(poll.poll(min(left, 3600 if ending is not None else 0.01) * 1000 + 1))
                if self.reader in ready and not self.read():
                    poll.unregister(self.reader)
                if ending in ready or (ending is None and self._has_ended()):
                    return
        finally:
            if ending is not None:
                os.close(ending)

    def _ending(self):
        if not self.row.config["linux"]:
            return None
        try:
            return self.row.load("syscalls").pidfd_open(self.pid)
        except OSError:
            return None

    def _has_ended(self):
        return os.waitid(os.P_PID, self.pid, os.WEXITED | os.WNOHANG | os.WNOWAIT) is not None

    def end(self):
        """Kill the process and all it started, read what is left, and return its status."""
        if self.timed_out:
            try:
                os.kill(self.pid, signal.SIGKILL)
            except ProcessLookupError:
                pass  # it ended at the last moment
        _, status = os.waitpid(self.pid, 0)
        self.row.kill_rest()
        while self.read():
            pass
        return status

    def read(self):
        """Pass on what there is to read; return whether there may be more."""
        try:
            data = os.read(self.reader, 65536)
        except BlockingIOError:
            return not self._gone()
        if not data:
            return False
        self.received += len(data)
        if self.received > EVENTS_LIMIT:
            self.deadline = 0
            return False
        *lines, self.pending = (self.pending + data).split(b"\n")
        for line in lines:
            self.row.control.forward(line)
            self.extend(line)
        return True

    def _gone(self):
        try:
            os.kill(self.pid, 0)
        except OSError:
            return True
        return False

    def extend(self, line):
        """Move the deadline as the event says."""
        try:
            event = json.loads(line.decode("utf-8")).get("event")
        except (ValueError, AttributeError):
            return
        seconds = self.allow["events"].get(event)
        if seconds is not None:
            self.deadline = time.monotonic() + seconds


def make_server(row):
    """Return the pytest plugin of a row: where pytest would collect, it forks cells."""
    import pytest

    class Server:
        @pytest.hookimpl(tryfirst=True)
        def pytest_collection(self, session):
            row.serve()
            row.cell.adopt(session)

    return Server()


def run_row(zygote, request, parent):
    """Be the process of a row to its end; return its exit status."""
    if zygote.config["linux"]:
        zygote.load("syscalls").die_with_parent(parent)
    before = set(sys.modules)
    row = Row(zygote, request)
    row.set_up()
    touched = zygote.load("touched").Touched(row.root, request["touched"])
    if request["kind"] == "exec":
        row.serve()
        row.cell.replace_process()
    touched.watch()
    if not row.import_project():
        row.control.send("not_importable")
        return 0
    row.modules = row.foreign_modules(before)
    return run_pytest(row, touched)


def run_pytest(row, touched):
    """Run pytest up to its collection, and in the cells to its end."""
    import pytest

    describe = row.load("describe")
    own_files = row.load("load").own_files()
    probe = row.load("probe").Probe(None, describe.describe, row.config["packages"], own_files)
    args = row.request["args"]
    sys.argv[:] = ["pytest"] + args
    probe.touched = touched
    row.probe = probe
    row.zygote.rewritten.install()
    code = int(pytest.main(list(args), plugins=[probe, make_server(row)]))
    if row.cell is not None:
        row.cell.leave(code, touched)
    size = os.fstat(row.output).st_size
    tail = os.pread(row.output, TAIL, max(0, size - TAIL))
    row.control.send("returned", code=code, tail=tail.decode("utf-8", "replace"))
    return 0


def write_files(root, files):
    """Write or delete files: [path, content in base64 or None, is executable]."""
    for name, content, executable in files:
        path = os.path.join(root, name)
        drop_bytecode(path)
        if content is None:
            if os.path.lexists(path):
                os.unlink(path)
                _drop_empty_folders(root, os.path.dirname(path))
            continue
        before = os.stat(path).st_mtime_ns if os.path.exists(path) else 0
        if os.path.islink(path):
            os.unlink(path)
        os.makedirs(os.path.dirname(path), exist_ok=True)
        with open(path, "wb") as stream:
            stream.write(base64.b64decode(content))
        os.chmod(path, 0o755 if executable else 0o644)
        later = max(time.time_ns(), before + 2000000000)
        os.utime(path, ns=(later, later))


def drop_bytecode(path):
    """Remove what Python and pytest compiled from the module at `path`."""
    folder, name = os.path.split(path)
    if not name.endswith(".py"):
        return
    cache = os.path.join(folder, "__pycache__")
    prefix = name[:-2]
    if os.path.isdir(cache):
        for found in os.listdir(cache):
            if found.startswith(prefix):
                os.unlink(os.path.join(cache, found))
    if os.path.exists(path + "c"):
        os.unlink(path + "c")


def _drop_empty_folders(root, folder):
    while folder != root and os.path.isdir(folder):
        left = os.listdir(folder)
        if left == ["__pycache__"] and not os.listdir(os.path.join(folder, "__pycache__")):
            os.rmdir(os.path.join(folder, "__pycache__"))
        elif left:
            return
        os.rmdir(folder)
        folder = os.path.dirname(folder)


def _import(name):
    import importlib

    try:
        importlib.import_module(name)
    except BaseException:  # whatever it is, the tests are to see it themselves
        return False
    return True


def _threads():
    try:
        return len(os.listdir("/proc/self/task"))
    except OSError:
        return 1


def _signed(status):
    """Return an exit status, or minus the signal, from what waitpid gave."""
    if os.WIFSIGNALED(status):
        return -os.WTERMSIG(status)
    return os.WEXITSTATUS(status)


def _memory_file():
    if hasattr(os, "memfd_create"):
        return os.memfd_create("brt-output")
    import tempfile

    descriptor, path = tempfile.mkstemp()
    os.unlink(path)
    os.set_inheritable(descriptor, False)
    return descriptor
