"""One tree, and the tests that are to run on it: a fork of the zygote. Python 3.8+.

It mounts its own view of the project, gives up all privileges, imports the project, lets
pytest read its configuration once, and then forks a cell for each test it is asked for.
"""

import gc
import importlib
import os
import signal
import sys
import time
import warnings

start = sys.modules["_brt_start"]
cells = start.load("cell")
overlay = start.load("overlay")
processes = start.load("processes")
syscalls = start.load("syscalls")
touches = start.load("touched")
trees = start.load("tree")

#: Bytes of the end of what was printed.
TAIL = 16384


class Row:
    """The process of a row."""

    def __init__(self, zygote, connection):
        self.zygote = zygote
        self.config = zygote.config
        self.control = connection
        self.request = connection.read()
        if self.request is None:
            os._exit(0)
        self.root = self.config["root"]
        self.cell = None
        self.modules = []
        self.output = None

    def set_up(self):
        """Get a private view of the tree, make the changes, and give up every privilege."""
        if self.config["level"] == "ns":
            overlay.mount_row(self.config)
            changes = trees.read_changes(self.request["changes"])
            trees.Tree(self.root).apply(changes)
            syscalls.set_capabilities(())
        syscalls.prctl(syscalls.PR_SET_NO_NEW_PRIVS, 1)
        syscalls.prctl(syscalls.PR_SET_CHILD_SUBREAPER, 1)
        if self.config["scope"]:
            syscalls.keep_signals_in()
        os.environ.update(self.request["env"])
        os.chdir(self.root)
        self.output = _unnamed_file()
        for number in (1, 2):
            os.dup2(self.output, number)
        start.apply_limits(self.request["limits"])

    def import_project(self):
        """Import what the tests will; return whether that went without any remark.

        A module that fails, or warns, is left for the tests to import themselves: what
        they see must be what they would see without us.
        """
        gc.disable()
        with warnings.catch_warnings(record=True) as remarks:
            warnings.simplefilter("always")
            for name in self.request["imports"]:
                if not try_import(name):
                    return False
        gc.enable()
        return not remarks and threads() == 1

    def foreign_modules(self, before):
        """Return the loaded modules that are not the project's, to load sooner next time."""
        return [
            name
            for name, module in list(sys.modules.items())
            if name not in before
            and name != "__main__"
            and not name.startswith("_brt_")
            and name.split(".")[0] not in self.config["packages"]
            and getattr(module, "__spec__", None) is not None
            and not is_of_project(module, self.config)
        ]

    def serve(self):
        """Fork a cell for each request; return True in a cell, end the process elsewhere."""
        gc.freeze()
        self.control.send("row_ready", modules=self.modules)
        while True:
            request = self.control.read()
            if request is None:
                os._exit(0)
            if request.get("op") == "kill":
                continue  # the cell that is meant had ended already
            if self.run_cell(request):
                return True

    def run_cell(self, request):
        """Fork one cell, and say how it ended; return True in the cell itself."""
        writer = self.control.passed.pop(0)
        status_reader, status_writer = os.pipe()
        output = _unnamed_file()
        me = os.getpid()
        begin = time.monotonic()
        try:
            pid = processes.fork()
        except processes.NoProcess as error:
            self.control.send("no_process", text=str(error))
            os._exit(1)
        if pid == 0:
            self.control.close()
            for descriptor in (status_reader, self.output):
                os.close(descriptor)
            self.cell = cells.Cell(self, request, writer, status_writer, output)
            self.cell.enter(me)
            return True
        os.close(writer)
        os.close(status_writer)
        status, cpu = self.await_end(pid)
        said = os.read(status_reader, 64)
        tail = _tail(output)
        for descriptor in (status_reader, output):
            os.close(descriptor)
        self.control.send(
            "cell_end",
            status=int(said) if said else syscalls.exit_code(status),
            tail=tail,
            seconds=time.monotonic() - begin,
            cpu=cpu,
        )
        return False

    def await_end(self, pid):
        """Wait for the end of a cell, or kill it when told to; return status and CPU seconds.

        What the cell left running has ended then, so nobody tells anything in its name.
        """
        if self.control.pending or not syscalls.ends_before(pid, self.control.socket):
            if self.control.read() is None:
                os._exit(0)
            os.kill(pid, signal.SIGKILL)
        _, status, used = os.wait4(pid, 0)
        self.kill_rest()
        return status, used.ru_utime + used.ru_stime

    def kill_rest(self):
        """End whatever a cell left running."""
        if self.config["scope"] and self.zygote.shielded:
            processes.kill_children(processes.kill_reachable)
        else:
            processes.kill_children(lambda: processes.kill_descendants(os.getpid()))


def make_server(row):
    """Return the pytest plugin of a row: where pytest would collect, it forks cells."""
    import pytest

    class Server:
        @pytest.hookimpl(tryfirst=True)
        def pytest_collection(self, session):
            row.serve()
            row.cell.adopt(session)

    return Server()


def run_row(zygote, connection, parent):
    """Be the process of a row, asked over `connection`, to its end; return its exit status."""
    syscalls.die_with_parent(parent)
    syscalls.prctl(syscalls.PR_SET_DUMPABLE, 1)
    before = set(sys.modules)
    row = Row(zygote, connection)
    row.set_up()
    request = row.request
    touched = touches.Touched(row.root, request["touched"], request["watch"])
    if row.request["kind"] == "exec":
        row.serve()
        row.cell.replace_process()
    touched.watch()
    if not row.import_project():
        row.control.send("not_importable")
        return 0
    if row.request["bare"]:
        row.modules = row.foreign_modules(before)
    return run_pytest(row, touched)


def run_pytest(row, touched):
    """Run pytest up to its collection, and in the cells to its end."""
    import pytest

    probe = start.load("probe").Probe(None, row.config["packages"])
    args = row.request["args"]
    sys.argv[:] = ["pytest"] + args
    probe.touched = touched
    row.probe = probe
    code = int(pytest.main(list(args), plugins=[probe, make_server(row)]))
    if row.cell is not None:
        row.cell.leave(code, touched)
    row.control.send("returned", code=code, tail=_tail(row.output))
    return 0


def _unnamed_file():
    """Return a file in the row's own folder, for what is printed; it counts as the row's."""
    try:
        return os.open(os.environ["TMPDIR"], os.O_TMPFILE | os.O_RDWR | os.O_CLOEXEC, 0o600)
    except OSError:  # not every file system has such files
        import tempfile

        tempfile.tempdir = None
        descriptor, path = tempfile.mkstemp()
        os.unlink(path)
        return descriptor


def _tail(descriptor):
    """Return the end of what was printed into a file."""
    size = os.fstat(descriptor).st_size
    return os.pread(descriptor, TAIL, max(0, size - TAIL)).decode("utf-8", "replace")


def try_import(name):
    """Import the module `name`; return whether that went well."""
    try:
        importlib.import_module(name)
    except BaseException:  # whatever it is, the tests are to see it themselves
        return False
    return True


def is_of_project(module, config):
    """Return whether `module` lies in the project's folder, and not among its libraries."""
    file = getattr(module, "__file__", None)
    return isinstance(file, str) and is_in_project(file, config)


def is_in_project(path, config):
    """Return whether a path is the project's folder or below it, and not among its libraries."""
    path = os.path.abspath(path)
    libraries = config["libraries"]
    return trees.is_below(path, config["root"]) and not any(
        trees.is_below(path, library) for library in libraries
    )


def threads():
    """Return how many threads the process has, 1 when it cannot be known."""
    try:
        return len(os.listdir("/proc/self/task"))
    except OSError:
        return 1
