"""Bytes of a Python file → text."""

from __future__ import annotations

import io
import tokenize


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
