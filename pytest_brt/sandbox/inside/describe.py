"""Says in plain data what an exception was. Runs in the project: standard library, Python 3.8+."""

import errno
import re
import sys
from traceback import walk_tb

MESSAGE_LIMIT = 4000
FRAME_LIMIT = 60
VALUE_LIMIT = 60
VALUES = 6

#: What an operating system says no with when it is the sandbox that forbids.
DENIED = {
    getattr(errno, name): name
    for name in (
        "EROFS", "EACCES", "EPERM", "ENETUNREACH", "ENETDOWN", "EADDRNOTAVAIL", "EFBIG", "ENOSPC",
        "EDQUOT", "ENOMEM", "EAGAIN", "EMFILE", "ENFILE", "ETOOMANYREFS",
    )
}  # fmt: skip


def type_name(kind):
    """Return the qualified name of a class, bare for built-in ones."""
    module = getattr(kind, "__module__", "") or ""
    name = getattr(kind, "__qualname__", "") or getattr(kind, "__name__", "?")
    if module in ("builtins", "exceptions", "__main__", ""):
        return str(name)
    return "%s.%s" % (module, name)


def text_of(value, convert, limit):
    """Return `convert(value)` cut at `limit` characters; what went wrong if it raises."""
    try:
        text = convert(value)
    except RecursionError:
        return "<%s of %s object: recursion>" % (convert.__name__, type(value).__name__)
    except Exception as error:
        kind = type(value).__name__
        return "<%s of %s raised %s>" % (convert.__name__, kind, type(error).__name__)
    return text if len(text) <= limit else text[:limit]


def frames_of(traceback):
    """Return [file, line, function] for each level, outermost first, the middle cut out."""
    levels = [(frame.f_code, line) for frame, line in walk_tb(traceback)]
    found = [[code.co_filename, line, code.co_name] for code, line in levels]
    if len(found) > FRAME_LIMIT:
        half = FRAME_LIMIT // 2
        found = found[:half] + found[-half:]
    return found


def chain_of(error):
    """Return the exception and what it came from, nearest first."""
    seen = []
    while error is not None and len(seen) < 20 and not any(error is other for other in seen):
        seen.append(error)
        hidden = getattr(error, "__suppress_context__", False)
        error = error.__cause__ or (None if hidden else error.__context__)
    return seen


def denial_of(error):
    """Return the name of the limit that an exception speaks of, or ""."""
    for link in chain_of(error):
        if isinstance(link, MemoryError):
            return "MemoryError"
        if type(link).__name__ == "gaierror":
            return "gaierror"
        if isinstance(link, RuntimeError) and "can't start new thread" in str(link):
            return "EAGAIN"
        if isinstance(link, OSError) and link.errno in DENIED:
            return DENIED[link.errno]
        if isinstance(link, (ImportError, OSError)) and is_about_library(link):
            return "ELIBACC"
    return ""


def is_about_library(error):
    """Return whether an exception says that a shared library is not found, by glibc or musl."""
    said = text_of(error, str, MESSAGE_LIMIT)
    return "cannot open shared object file" in said or "Error loading shared library" in said


def belongs(module, packages):
    """Return whether a module name lies in one of the packages."""
    return isinstance(module, str) and module.split(".")[0] in packages


def is_about_project(error, packages):
    """Return whether a TypeError or AttributeError speaks of a name of the project."""
    owner = getattr(error, "obj", None)
    if owner is not None and isinstance(error, AttributeError):
        if isinstance(owner, type(sys)):
            return belongs(owner.__name__, packages)
        kind = owner if isinstance(owner, type) else type(owner)
        return belongs(getattr(kind, "__module__", None), packages)
    message = text_of(error, str, MESSAGE_LIMIT)
    module = re.match(r"(?:partially initialized )?module '([\w.]+)'", message)
    if module:
        return belongs(module.group(1), packages)
    named = re.match(r"(?:type object )?'(\w+)'|([\w.]+)\(\)|Can't instantiate.* (\w+)", message)
    if not named:
        return False
    wanted = next(group for group in named.groups() if group).split(".")
    return _defined_in(wanted, packages)


def _defined_in(wanted, packages):
    """Return whether a loaded module of the packages defines a thing of this name."""
    for name in [name for name in list(sys.modules) if belongs(name, packages)]:
        space = getattr(sys.modules.get(name), "__dict__", {})
        found = space.get(wanted[0])
        if found is not None and belongs(getattr(found, "__module__", None), packages):
            return True
        if len(wanted) == 1 and any(
            isinstance(value, type)
            and wanted[0] in getattr(value, "__dict__", ())
            and belongs(getattr(value, "__module__", None), packages)
            for value in list(space.values())
        ):
            return True
    return False


def plain(value, depth=2):
    """Return a value in a few words without running any code of the project.

    The representation of a value that is not built in could do anything: it is named by type.
    """
    kind = type(value)
    if kind in (int, float, complex, bool, str, bytes, type(None)):
        return text_of(value, repr, VALUE_LIMIT)
    if kind in (list, tuple, set, frozenset, dict) and depth:
        pairs = list(value.items())[:4] if kind is dict else [(item,) for item in list(value)[:4]]
        shown = [": ".join(plain(part, depth - 1) for part in pair) for pair in pairs]
        more = ["..."] if len(value) > len(shown) else []
        start, end = {list: "[]", tuple: "()", dict: "{}"}.get(kind, (kind.__name__ + "(", ")"))
        return (start + ", ".join(shown + more) + end)[:VALUE_LIMIT]
    return "<%s>" % kind.__name__


def values_of(traceback, packages, skip):
    """Return how far from the innermost the last frame of the project is, and its variables.

    Arguments come first, in their order.
    """
    every = [frame for frame, _ in walk_tb(traceback)]
    frames = [frame for frame in every if frame.f_code.co_filename not in skip]
    for distance, frame in enumerate(reversed(frames)):
        if belongs(frame.f_globals.get("__name__"), packages):
            local = frame.f_locals
            names = [name for name in frame.f_code.co_varnames if name in local][:VALUES]
            return distance, [[name, plain(local[name])] for name in names]
    return -1, []


def describe(error, packages, skip=()):
    """Return an exception as plain data; frames in files named in `skip` are left out."""
    distance, values = values_of(error.__traceback__, packages, skip)
    frames = [frame for frame in frames_of(error.__traceback__) if frame[0] not in skip]
    if isinstance(error, SyntaxError) and error.filename:
        frames.append([str(error.filename), error.lineno or 0, "<module>"])
        distance, values = -1, []
    return {
        "type": type_name(type(error)),
        "message": message_of(error),
        "bases": [type_name(kind) for kind in type(error).__mro__[1:] if kind is not object],
        "frames": frames,
        "values_at": distance,
        "values": values,
        "denied": denial_of(error),
        "about_project": isinstance(error, (TypeError, AttributeError))
        and is_about_project(error, packages),
    }


def message_of(error):
    """Return what an exception says; pytest's own lookup error says it elsewhere."""
    if type(error).__name__ == "FixtureLookupError" and getattr(error, "argname", None):
        return "fixture %r not found" % error.argname
    return text_of(error, str, MESSAGE_LIMIT)
