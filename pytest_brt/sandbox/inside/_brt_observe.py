"""Says in plain data what code did: exceptions, calls, lines. Standard library, Python 3.8+."""

import errno
import os
import re
import sys
import threading
from traceback import walk_tb

HERE = os.path.dirname(os.path.abspath(__file__))
MESSAGE_LIMIT = 4000
FRAME_LIMIT = 60

#: What an operating system says no with when it is the sandbox that forbids.
DENIED = {
    "EROFS", "EACCES", "EPERM", "ENETUNREACH", "ENETDOWN", "EADDRNOTAVAIL", "EFBIG", "ENOSPC",
    "EDQUOT", "ENOMEM", "EAGAIN", "EMFILE", "ENFILE", "ETOOMANYREFS", "gaierror",
}  # fmt: skip
#: How Python begins to say what a name or a call does not fit.
NAMED = re.compile(r"(?:module |type object )?'(\w+)|(\w+)[\w.]*\(\)")


def belongs(module, packages):
    """Return whether a module name lies in one of the packages."""
    return isinstance(module, str) and module.split(".")[0] in packages


# -- exceptions --------------------------------------------------------------------------------


def describe(error, packages):
    """Return fields of an event that tell of an exception; frames of our own files are left out."""
    if type(error).__name__ == "CollectError":  # what was raised in a module is why
        error = error.__cause__ or error.__context__ or error
    frames = [
        (frame.f_code.co_filename, line, frame.f_code.co_name)
        for frame, line in walk_tb(error.__traceback__)
        if not frame.f_code.co_filename.startswith(HERE)
    ]
    if isinstance(error, SyntaxError) and error.filename:
        frames.append((str(error.filename), error.lineno or 0, "<module>"))
    # Where it calls itself without end, the last round is enough.
    frames = [*dict.fromkeys(reversed(frames))][:FRAME_LIMIT][::-1]
    message = message_of(error)
    if type(error).__name__ == "FixtureLookupError":  # pytest's own says it elsewhere
        message = "fixture %r not found" % getattr(error, "argname", "")
    is_misuse = isinstance(error, (TypeError, AttributeError))
    raised = {
        "type": type_name(type(error)),
        "message": message,
        "bases": [type_name(kind) for kind in type(error).__mro__[1:-1]],
        "frames": [dict(zip(("path", "line", "function"), frame)) for frame in frames],
    }
    return {
        "raised": raised,
        "denied": denial_of(error),
        "about_project": is_misuse and names_project(message, packages),
    }


def type_name(kind):
    """Return the qualified name of a class, bare for built-in ones."""
    is_plain = kind.__module__ in ("builtins", "__main__")
    return kind.__qualname__ if is_plain else "%s.%s" % (kind.__module__, kind.__qualname__)


def message_of(error):
    """Return the message of an exception, of which the project may have made anything."""
    try:
        return str(error)[:MESSAGE_LIMIT]
    except Exception as raised:
        return "<its message raises %s>" % type(raised).__name__


def denial_of(error):
    """Return the name of the limit that an exception, or what it came from, speaks of, or ""."""
    while error is not None:
        name = ""
        if isinstance(error, MemoryError):
            return "MemoryError"
        if isinstance(error, RuntimeError) and "can't start new thread" in message_of(
            error
        ):
            return "EAGAIN"
        if isinstance(error, OSError):
            name = errno.errorcode.get(error.errno, type(error).__name__)
        if name in DENIED:
            return name
        error = error.__cause__ or (
            None if error.__suppress_context__ else error.__context__
        )
    return ""


def names_project(message, packages):
    """Return whether a TypeError or AttributeError speaks of a name of the project."""
    named = NAMED.match(message)
    name = named.group(named.lastindex) if named else ""
    modules = [module for key, module in [*sys.modules.items()] if belongs(key, packages)]
    return name in packages or any(name in vars(module) for module in modules)


# -- calls and lines ---------------------------------------------------------------------------


class Calls:
    """Whether a function is called from here on that is of `packages` and no test.

    With `keeps_all` also all that are called; else it costs nothing more after the first.
    """

    def __init__(self, packages, keeps_all=False):
        self.packages = packages
        self.keeps_all = keeps_all
        self.codes = {}
        #: None when that cannot be told: the project's packages are not known, or a process was
        #: started, in which it may have run.
        self.seen = False if packages else None
        threading.setprofile(self.note)
        sys.setprofile(self.note)

    def note(self, frame, event, argument):
        """Keep the code of each call, once, and the module of what is written in C."""
        module = ""
        if event == "call":
            module = frame.f_globals.get("__name__")
            self.codes[id(frame.f_code)] = frame.f_code
        elif event == "c_call":
            module = argument.__module__ or type(argument.__self__).__module__
        is_test = str(module).rpartition(".")[2].startswith(("test_", "conftest"))
        if belongs(module, self.packages) and not is_test:
            self.seen = True
            if not self.keeps_all:
                sys.setprofile(None)
        elif module == "subprocess" and not self.seen:
            self.seen = None

    def end(self):
        """Stop, and return the file and first line of each function."""
        sys.setprofile(None)
        threading.setprofile(None)
        return sorted(
            {(code.co_filename, code.co_firstlineno) for code in self.codes.values()}
        )


class LineMonitor:
    """The lines of the files at `paths` that were executed since it was last asked.

    Tests that execute much of them take several times as long.
    """

    def __init__(self, paths):
        self.paths = paths
        self.lines = {os.path.abspath(path): set() for path in paths}
        if paths:
            threading.settrace(self.trace)
            sys.settrace(self.trace)

    def trace(self, frame, event, argument):
        """Keep a line; calls in other files end here."""
        lines = self.lines.get(frame.f_code.co_filename)
        if lines is not None and event == "line":
            lines.add(frame.f_lineno)
        return None if lines is None else self.trace

    def take(self):
        """Return the lines executed since the last call, by path, as the bits of a number."""
        taken = []
        for path, lines in zip(self.paths, self.lines.values()):
            if lines:
                taken.append([path, "%x" % sum(1 << line for line in lines)])
            lines.clear()
        return taken
