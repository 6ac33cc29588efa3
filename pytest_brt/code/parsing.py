"""Python text → `ast`, without the warnings that old code causes when it is compiled."""

from __future__ import annotations

import ast
import io
import threading
import tokenize
import warnings

# `warnings.catch_warnings` swaps the filters of the whole process.
_QUIET = threading.Lock()


def parse(text: str) -> ast.Module:
    """Return the syntax tree of `text`.

    Raises:
        SyntaxError: it is not Python of this interpreter's version; also for null bytes and
            for nesting too deep to be parsed.
    """
    with _QUIET, warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            return ast.parse(text)
        except (ValueError, RecursionError, MemoryError) as error:
            raise SyntaxError(str(error)) from error


def decode(data: bytes) -> str:
    """Return the text of a Python file: PEP 263 encoding, newlines normalised.

    Bytes that are not in the declared encoding are read as Latin-1, so that any file is text.
    """
    try:
        encoding, _ = tokenize.detect_encoding(io.BytesIO(data).readline)
        text = data.decode(encoding)
    except (SyntaxError, UnicodeDecodeError, LookupError):
        text = data.decode("latin-1")
    return text.replace("\r\n", "\n").replace("\r", "\n")
