"""Dataclass ↔ JSON, in this one place.

Decoding checks every field and names the path of the first one that is wrong.
"""

from __future__ import annotations

import hashlib
import json
from threading import Lock
from typing import TypeVar

import msgspec

from pytest_brt.errors import StoreProblem

T = TypeVar("T")
#: Held while msgspec learns what a type is made of: a thread that decodes with what another one has
#: half learned ends the process.
_LEARNING = Lock()


def to_json(value: object, *, indent: int = 0) -> str:
    """Return `value` (a dataclass, or plain data) as JSON text.

    With `indent` above 0 the text is laid out for people. Text that no UTF-8 can hold (bytes
    kept as lone surrogates) is escaped, and comes back by `from_json`.
    """
    try:
        raw = msgspec.json.encode(value, order="deterministic")
    except UnicodeEncodeError:
        plain = msgspec.to_builtins(value, order="deterministic")
        return json.dumps(plain, indent=indent or None)
    if indent:
        raw = msgspec.json.format(raw, indent=indent)
    return raw.decode()


def from_json(text: str | bytes, kind: type[T]) -> T:
    """Return the `kind` that `text` holds.

    Raises:
        StoreProblem: the text is not JSON, or a field has another shape than `kind`'s.
    """
    try:
        with _LEARNING:
            try:
                return msgspec.json.decode(text, type=kind)
            except msgspec.DecodeError:
                # It refuses escapes of lone surrogates, which are JSON.
                return msgspec.convert(json.loads(text), type=kind)
    except (ValueError, RecursionError, msgspec.ValidationError) as error:
        raise StoreProblem(f"not a {kind.__name__}: {error}") from error


def content_id(*parts: str | bytes) -> str:
    """Return a name for the content of `parts`: 32 hex digits of SHA-256.

    So many that nobody finds two contents with the same.

    >>> content_id("a", "b") == content_id("ab")
    False
    """
    return hashlib.sha256(repr(parts).encode()).hexdigest()[:32]
