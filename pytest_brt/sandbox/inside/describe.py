"""Says in plain data what an exception was. Runs in the project: standard library, Python 3.8+."""

import errno
import re
import reprlib
import sys
from traceback import walk_tb

start = sys.modules["_brt_start"]

MESSAGE_LIMIT = 4000
FRAME_LIMIT = 30
VALUE_LIMIT = 60
VALUES = 6

#: What an operating system says no with when it is the sandbox that forbids.
DENIED = {
    "EROFS", "EACCES", "EPERM", "ENETUNREACH", "ENETDOWN", "EADDRNOTAVAIL", "EFBIG", "ENOSPC",
    "EDQUOT", "ENOMEM", "EAGAIN", "EMFILE", "ENFILE", "ETOOMANYREFS",
}  # fmt: skip
#: How glibc and musl say that a shared library is not found.
NO_LIBRARY = ("cannot open shared object file", "Error loading shared library")
#: How Python speaks of what a name or a call does not fit.
NAMED = re.compile(
    r"(?:partially initialized )?module '(?P<module>\w+)[\w.]*'"
    r"|(?:type object )?'(\w+)'|(\w+)[\w.]*\(\)|Can't instantiate.* (\w+)"
)


def type_name(kind):
    """Return the qualified name of a class, bare for built-in ones."""
    module = getattr(kind, "__module__", "") or ""
    name = getattr(kind, "__qualname__", "") or getattr(kind, "__name__", "?")
    return str(name) if module in ("builtins", "__main__", "") else "%s.%s" % (module, name)


def message_of(error):
    """Return the message of an exception; what went wrong if that raises."""
    try:
        return str(error)[:MESSAGE_LIMIT]
    except Exception as raised:
        kind = "recursion" if isinstance(raised, RecursionError) else type(raised).__name__
        return "<str of %s object: %s>" % (type(error).__name__, kind)


def denial_of(error):
    """Return the name of the limit that an exception, or what it came from, speaks of, or ""."""
    for _ in range(20):
        message = message_of(error)
        if isinstance(error, MemoryError) or type(error).__name__ == "gaierror":
            return type(error).__name__
        if isinstance(error, RuntimeError) and "can't start new thread" in message:
            return "EAGAIN"
        if isinstance(error, (ImportError, OSError)):
            if any(words in message for words in NO_LIBRARY):
                return "ELIBACC"
            name = errno.errorcode.get(getattr(error, "errno", None))
            if name in DENIED:
                return name
        hidden = getattr(error, "__suppress_context__", True)
        error = getattr(error, "__cause__", None) or (None if hidden else error.__context__)
    return ""


def belongs(module, packages):
    """Return whether a module name lies in one of the packages."""
    return isinstance(module, str) and module.split(".")[0] in packages


def is_about_project(error, packages):
    """Return whether a TypeError or AttributeError speaks of a name of the project."""
    owner = getattr(error, "obj", None)
    if owner is not None:
        kind = owner if isinstance(owner, type) else type(owner)
        name = owner.__name__ if isinstance(owner, type(sys)) else kind.__module__
        return belongs(name, packages)
    named = NAMED.match(message_of(error))
    if not named or named.group("module"):
        return bool(named) and named.group("module") in packages
    wanted = named.group(named.lastindex)
    for name, module in list(sys.modules.items()):
        for value in list(vars(module).values()) if belongs(name, packages) else ():
            is_own = belongs(getattr(value, "__module__", None), packages)
            names = (getattr(value, "__name__", None), *getattr(value, "__dict__", ()))
            if is_own and wanted in names:
                return True
    return False


class Plain(reprlib.Repr):
    """Values in a few words.

    The representation of what is not built in could do anything: it is named by its type.
    """

    def repr_instance(self, value, level):
        """Return a value that is no container, text or whole number."""
        is_simple = type(value) in (float, complex, bool, bytes, type(None))
        return repr(value)[:VALUE_LIMIT] if is_simple else "<%s>" % type(value).__name__


def values_of(frames, packages):
    """Return the variables of the last frame of the project, arguments first."""
    for frame in reversed(frames):
        if belongs(frame.f_globals.get("__name__"), packages):
            names = [name for name in frame.f_code.co_varnames if name in frame.f_locals]
            plain = Plain()
            plain.maxlevel, plain.maxstring, plain.maxlong = 2, VALUE_LIMIT, VALUE_LIMIT
            return [[n, plain.repr(frame.f_locals[n])[:VALUE_LIMIT]] for n in names[:VALUES]]
    return []


def describe(error, packages):
    """Return an exception as plain data; frames of our own files are left out."""
    levels = [
        (frame, line)
        for frame, line in walk_tb(error.__traceback__)
        if not frame.f_code.co_filename.startswith(start.HERE)
    ]
    frames = [[f.f_code.co_filename, line, f.f_code.co_name] for f, line in levels]
    if isinstance(error, SyntaxError) and error.filename:
        frames.append([str(error.filename), error.lineno or 0, "<module>"])
        levels = []
    message = message_of(error)
    if type(error).__name__ == "FixtureLookupError":  # pytest's own says it elsewhere
        message = "fixture %r not found" % getattr(error, "argname", "")
    is_misuse = isinstance(error, (TypeError, AttributeError))
    return {
        "type": type_name(type(error)),
        "message": message,
        "bases": [type_name(kind) for kind in type(error).__mro__[1:-1]],
        # The middle is cut out.
        "frames": frames[:FRAME_LIMIT] + frames[FRAME_LIMIT:][-FRAME_LIMIT:],
        "values": values_of([frame for frame, _ in levels], packages),
        "denied": denial_of(error),
        "about_project": is_misuse and is_about_project(error, packages),
    }
