"""What to do about a shared library that is not found."""

from __future__ import annotations

#: Words of the loaders of glibc and of musl.
_NOT_FOUND = ("cannot open shared object file", "Error loading shared library")


def library_advice(said: str) -> str:
    """Return what to do when a loader says that it does not find a library, "" otherwise."""
    if not any(words in said for words in _NOT_FOUND):
        return ""
    return "if it lies in a folder that tests do not see, add --brt-show DIR"
