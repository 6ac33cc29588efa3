"""Changes the files of a tree. Runs in rows and cells: Python 3.8+."""

import base64
import os
import time


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
        if os.path.islink(path) or (before and not os.access(path, os.W_OK)):
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
