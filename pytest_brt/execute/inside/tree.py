"""The files below one folder, reached without following a link, whoever may have put one there.

Code of the subject can swap a folder for a link at any moment; what is then written or removed
through it would be a file of the user's. So each step of a path is opened by itself. The tool
uses this too. Standard library, Python 3.8+.
"""

import base64
import io
import os
import shutil
import stat
import time
from contextlib import contextmanager
from typing import NamedTuple, Optional

_FOLDER = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC
_FILE = os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC


class Change(NamedTuple):
    """The new content of one file, None to delete it."""

    path: str
    content: Optional[bytes]
    executable: bool


def read_changes(messages):
    """Yield each change from how it came over a connection, its content in base64."""
    for message in messages:
        content = message["content"]
        data = None if content is None else base64.b64decode(content)
        yield Change(message["path"], data, message["executable"])


class Tree:
    """The files below `root`; a name is relative to it, with slashes.

    Every method raises OSError as the system does; a link in the middle of a name is ELOOP
    or ENOTDIR.
    """

    def __init__(self, root, owner=None):
        self.root = root
        #: The user whose files it makes, if not the one that runs this.
        self.owner = owner

    @contextmanager
    def folder(self, name):
        """Open a folder ("" for the root itself)."""
        here = os.open(self.root, _FOLDER)
        try:
            for part in filter(None, name.split("/")):
                there = os.open(part, _FOLDER, dir_fd=here)
                os.close(here)
                here = there
            yield here
        finally:
            os.close(here)

    @contextmanager
    def at(self, name):
        """Give the last part of a name, and the open folder that it is in."""
        parent, _, last = name.rpartition("/")
        with self.folder(parent) as folder:
            yield last, folder

    def stat(self, name):
        """Return what `lstat` says, None where there is nothing."""
        try:
            with self.at(name) as (last, folder):
                return _lstat(last, folder)
        except (FileNotFoundError, NotADirectoryError):
            return None

    def names(self, name):
        """Return the names in a folder, in order; none where there is no folder."""
        try:
            with self.folder(name) as folder:
                return sorted(os.listdir(folder))
        except (FileNotFoundError, NotADirectoryError):
            return []

    def walk(self, name="", mode=0o700):
        """Yield all that is below a folder of that mode, a folder before what it holds.

        Each folder is made one that can be read.
        """
        try:
            if mode & 0o700 != 0o700:
                self._unlock(name)
            with self.folder(name) as here:
                found = [(entry, _lstat(entry, here)) for entry in sorted(os.listdir(here))]
        except (FileNotFoundError, NotADirectoryError):
            return  # it went meanwhile
        for entry, seen in found:
            path = name + "/" + entry if name else entry
            if seen is not None:
                yield path, seen
                if stat.S_ISDIR(seen.st_mode):
                    yield from self.walk(path, seen.st_mode)

    def remove(self, name):
        """Remove a file, a link, or a folder with all in it, whatever permissions it has."""
        seen = self.stat(name)
        if seen is None:
            return
        found = [(name, seen)]
        if stat.S_ISDIR(seen.st_mode):
            found += self.walk(name, seen.st_mode)
        for path, known in reversed(found):
            with self.at(path) as (last, folder):
                if stat.S_ISDIR(known.st_mode):
                    os.rmdir(last, dir_fd=folder)
                else:
                    os.unlink(last, dir_fd=folder)

    def write(self, name, content, mode, times):
        """Make a file that is not there yet, with its times (access, change; in ns)."""
        flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | _FILE
        with self.at(name) as (last, folder):
            made = os.open(last, flags, 0o600, dir_fd=folder)
        with os.fdopen(made, "wb") as stream:
            shutil.copyfileobj(content, stream, 1 << 20)
            stream.flush()
            if self.owner is not None:
                os.fchown(made, self.owner, self.owner)
            os.fchmod(made, mode)
            os.utime(made, ns=times)

    def read(self, name):
        """Open a file; a pipe is not waited for."""
        with self.at(name) as (last, folder):
            return os.fdopen(os.open(last, os.O_RDONLY | _FILE, dir_fd=folder), "rb")

    def link(self, name, target):
        """Make a link that is not there yet."""
        with self.at(name) as (last, folder):
            os.symlink(target, last, dir_fd=folder)
            self._give(last, folder)

    def make_folder(self, name):
        """Make a folder, and those above it, where they are missing."""
        parent, _, last = name.rpartition("/")
        if not name or self.stat(name) is not None:
            return
        self.make_folder(parent)
        with self.folder(parent) as folder:
            os.mkdir(last, 0o755, dir_fd=folder)
            self._give(last, folder)

    def set_mode(self, name, mode):
        """Set the permissions of a folder."""
        with self.folder(name) as folder:
            os.fchmod(folder, mode)

    def apply(self, changes):
        """Make the changes; bytecode of every file changed goes too.

        Stale bytecode would be taken for valid when size and second of change agree, and so
        would pytest's rewritten tests before 9.2.
        """
        for change in changes:
            name = change.path
            parent = name.rpartition("/")[0]
            before = self.stat(name)
            self._drop_bytecode(name)
            if change.content is not None:
                self.make_folder(parent)
                if before is not None:
                    self.remove(name)
                later = max(time.time_ns(), (before.st_mtime_ns if before else 0) + 2000000000)
                mode = 0o755 if change.executable else 0o644
                self.write(name, io.BytesIO(change.content), mode, (later, later))
            elif before is not None and not stat.S_ISDIR(before.st_mode):
                self.remove(name)
                while parent and self._drop_if_empty(parent):
                    parent = parent.rpartition("/")[0]

    def _drop_bytecode(self, name):
        """Remove what Python and pytest compiled from the module of that name."""
        if not name.endswith(".py"):
            return
        folder, _, last = name.rpartition("/")
        cache = folder + "/__pycache__" if folder else "__pycache__"
        stale = [entry for entry in self.names(cache) if entry.startswith(last[:-2])]
        for entry in stale:
            self.remove(cache + "/" + entry)
        self._drop_if_empty(cache)
        self.remove(name + "c")

    def _drop_if_empty(self, name):
        if self.stat(name) is None or self.names(name):
            return False
        self.remove(name)
        return True

    def _give(self, last, folder):
        if self.owner is not None:
            os.chown(last, self.owner, self.owner, dir_fd=folder, follow_symlinks=False)

    def _unlock(self, name):
        """Let the owner into a folder that cannot even be opened."""
        with self.at(name) as (last, folder):
            if not hasattr(os, "O_PATH"):
                os.chmod(last, 0o755, dir_fd=folder, follow_symlinks=False)
                return
            there = os.open(last, os.O_PATH | os.O_NOFOLLOW | os.O_CLOEXEC, dir_fd=folder)
        try:
            if stat.S_ISDIR(os.fstat(there).st_mode):
                os.chmod("/proc/self/fd/%d" % there, 0o755)
        finally:
            os.close(there)


def is_below(path, folder):
    """Return whether a path is that of a folder, or of something in it."""
    return path == folder or path.startswith(folder.rstrip("/") + "/")


def _lstat(last, folder):
    try:
        return os.stat(last, dir_fd=folder, follow_symlinks=False)
    except FileNotFoundError:
        return None  # it went meanwhile
