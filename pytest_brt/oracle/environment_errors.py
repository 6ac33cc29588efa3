"""Exceptions that say that something around a test is missing, and nothing of the project's code.

A test that fails so on the unpatched tree reproduces nothing; on a patch it says nothing of the
patch, which may have come further than without.
"""

from __future__ import annotations

from pytest_brt.types import Raised

#: What a message holds, of an exception of any type. Where each comes from: asyncio
#: (``loop.create_connection``), errno's ECONNREFUSED, ENETUNREACH, EROFS and EPERM,
#: ``socket.getaddrinfo``, urllib3.
_MESSAGES = (
    "Connect call failed", "Connection refused", "Network is unreachable",
    "Name or service not known", "Temporary failure in name resolution",
    "nodename nor servname provided", "Failed to resolve", "getaddrinfo failed",
    "Read-only file system", "Operation not permitted",
)  # fmt: skip
#: The same of exceptions of some types: pytest-django's (its database blocker), and Django's
#: (``SimpleTestCase``).
_DATABASE = (
    ("RuntimeError", "Database access not allowed"),
    ("DatabaseOperationForbidden", "are not allowed in SimpleTestCase subclasses"),
    ("AssertionError", "are not allowed in SimpleTestCase subclasses"),
)
#: Types that say what this machine lacks, unless the report names them.
_TYPES = frozenset(
    {"ImproperlyConfigured", "AppRegistryNotReady", "OperationalError", "ModuleNotFoundError"}
    | {"ConnectionRefusedError", "PackageNotFoundError", "FileNotFoundError"}
)


def missing_here(raised: Raised | None) -> str:
    """Return which words of an exception say that something around a test is missing, or ""."""
    if raised is None:
        return ""
    for frame in raised.frames[-1:] if raised.type == "KeyError" else ():
        if frame.function == "__getitem__" and frame.path.endswith(("/os.py", "<frozen os>")):
            return f"environment variable {raised.message} is not set (--brt-env NAME=VALUE)"
    known = [text for type_, text in _DATABASE if type_ == raised.name]
    return next((text for text in (*known, *_MESSAGES) if text in raised.message), "")


def not_set_up(raised: Raised, report: str) -> str:
    """Return what is missing, by the type of an exception that the report does not name, too."""
    if raised.name in _TYPES and raised.name not in report:
        return f"{raised.name}: {raised.message.strip()[:200]}".split("\n")[0]
    return missing_here(raised)
