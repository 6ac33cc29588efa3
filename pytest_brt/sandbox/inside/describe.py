"""Says in plain data what an exception was. Runs in the project: standard library, Python 3.8+."""

import errno
import re
import reprlib
import sys
from traceback import walk_tb

MESSAGE_LIMIT = 4000
FRAME_LIMIT = 60
VALUE_LIMIT = 60
VALUES = 6

#: What an operating system says no with when it is the sandbox that forbids.
DENIED = frozenset(
    ("EROFS", "EACCES", "EPERM", "ENETUNREACH", "ENETDOWN", "EADDRNOTAVAIL", "EFBIG", "ENOSPC")
    + ("EDQUOT", "ENOMEM", "EAGAIN", "EMFILE", "ENFILE", "ETOOMANYREFS")
)
#: How glibc and musl say that a shared library is not found.
NO_LIBRARY = ("cannot open shared object file", "Error loading shared library")
#: How Python speaks of what a name or a call does not fit.
NAMED = re.compile(
    r"(?:partially initialized )?module '(?P<module>[\w.]+)'"
    r"|(?:type object )?'(\w+)'|([\w.]+)\(\)|Can't instantiate.* (\w+)"
)


def type_name(kind):
    """Return the qualified name of a class, bare for built-in ones."""
    module = getattr(kind, "__module__", "") or ""
    name = getattr(kind, "__qualname__", "") or getattr(kind, "__name__", "?")
    return str(name) if module in ("builtins", "__main__", "") else "%s.%s" % (module, name)


def text_of(value, convert, limit):
    """Return `convert(value)` cut at `limit` characters; what went wrong if it raises."""
    try:
        return convert(value)[:limit]
    except Exception as error:
        raised = "recursion" if isinstance(error, RecursionError) else type(error).__name__
        return "<%s of %s object: %s>" % (convert.__name__, type(value).__name__, raised)


def denial_of(error):
    """Return the name of the limit that an exception, or what it came from, speaks of, or ""."""
    for _ in range(20):
        if isinstance(error, MemoryError) or type(error).__name__ == "gaierror":
            return type(error).__name__
        if isinstance(error, RuntimeError) and "can't start new thread" in str(error):
            return "EAGAIN"
        if isinstance(error, (ImportError, OSError)):
            if any(words in text_of(error, str, MESSAGE_LIMIT) for words in NO_LIBRARY):
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
    if isinstance(owner, type(sys)):
        return belongs(owner.__name__, packages)
    if owner is not None:
        kind = owner if isinstance(owner, type) else type(owner)
        return belongs(getattr(kind, "__module__", None), packages)
    named = NAMED.match(text_of(error, str, MESSAGE_LIMIT))
    if not named:
        return False
    if named.group("module"):
        return belongs(named.group("module"), packages)
    wanted = next(filter(None, named.groups())).split(".")[0]
    modules = [module for name, module in list(sys.modules.items()) if belongs(name, packages)]
    spaces = [dict(getattr(module, "__dict__", {})) for module in modules]
    kinds = [kind for space in spaces for kind in space.values() if isinstance(kind, type)]
    values = [space.get(wanted) for space in spaces] + [k for k in kinds if wanted in vars(k)]
    return any(belongs(getattr(value, "__module__", None), packages) for value in values)


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


def describe(error, packages, skip=()):
    """Return an exception as plain data; frames in files named in `skip` are left out."""
    every = walk_tb(error.__traceback__)
    levels = [(frame, line) for frame, line in every if frame.f_code.co_filename not in skip]
    values = values_of([frame for frame, _ in levels], packages)
    frames = [[f.f_code.co_filename, line, f.f_code.co_name] for f, line in levels]
    if len(frames) > FRAME_LIMIT:  # the middle is cut out
        frames = frames[: FRAME_LIMIT // 2] + frames[-FRAME_LIMIT // 2 :]
    if isinstance(error, SyntaxError) and error.filename:
        frames.append([str(error.filename), error.lineno or 0, "<module>"])
        values = []
    message = text_of(error, str, MESSAGE_LIMIT)
    if type(error).__name__ == "FixtureLookupError":  # pytest's own says it elsewhere
        message = "fixture %r not found" % getattr(error, "argname", "")
    is_misuse = isinstance(error, (TypeError, AttributeError))
    return {
        "type": type_name(type(error)),
        "message": message,
        "bases": [type_name(kind) for kind in type(error).__mro__[1:] if kind is not object],
        "frames": frames,
        "values": values,
        "denied": denial_of(error),
        "about_project": is_misuse and is_about_project(error, packages),
    }
