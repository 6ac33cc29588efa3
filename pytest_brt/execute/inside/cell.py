"""One test in a process of its own, a fork of a row. Python 3.8+."""

import atexit
import importlib
import json
import os
import sys
import tempfile
import threading

start = sys.modules["_brt_start"]
calls = start.load("syscalls")
overlay = start.load("overlay")
seccomp = start.load("seccomp")
trees = start.load("tree")


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
            for root, files in (
                (self.config["root"], self.request["files"]),
                (self.folders["tmp"], self.request["work"]),
            ):
                trees.Tree(root).apply(trees.read_changes(files))
        importlib.invalidate_caches()
        os.chdir(self.request["cwd"])

    def _enter_namespaces(self):
        apart = not self.config["scope"]
        calls.enter_user_namespace(calls.CLONE_NEWNS | (calls.CLONE_NEWPID if apart else 0))
        overlay.mount_cell(self.config)
        if apart:
            self._become_apart()
        self._close_up()
        calls.set_capabilities(())
        calls.prctl(calls.PR_SET_NO_NEW_PRIVS, 1)

    def _close_up(self):
        """Refuse further user namespaces, and more than a share of what rows have together.

        Without those, and without capabilities, nothing can be mounted. A setting of the
        namespace costs less than a filter, where it can be set.
        """
        try:
            calls.write_setting("/proc/sys/user/max_user_namespaces", b"0")
            # Of those that all rows of a user have together, usually 128.
            calls.write_setting("/proc/sys/user/max_inotify_instances", b"16")
        except OSError:
            seccomp.install(seccomp.program([], no_users=True))

    def _become_apart(self):
        """Go on as the child of a first process of a new process namespace.

        For kernels whose Landlock cannot keep signals in.
        """
        first = os.fork()
        if first:
            os.close(self.writer)
            os.close(self.status_writer)
            _, status = os.waitpid(first, 0)
            os._exit(os.WEXITSTATUS(status) if os.WIFEXITED(status) else 1)  # no test ended
        calls.fork_from_first((self.writer,), self._tell_status)

    def _tell_status(self, code):
        os.write(self.status_writer, b"%d" % code)

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
        config.args[:] = self.request["args"]
        self.wire = start.Wire(self.writer)
        self.row.probe.wire = self.wire
        self.row.probe.skip = self.request["skip"]
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
