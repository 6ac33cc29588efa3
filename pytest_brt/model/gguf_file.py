"""Writes GGUF files: keys and tensors (`gguf` reads them).

Format: https://github.com/ggml-org/ggml/blob/master/docs/gguf.md.
"""

from __future__ import annotations

import struct
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

Scalar = str | int | float | bool
Value = Scalar | Sequence[str] | Sequence[int]


@dataclass(frozen=True, slots=True, kw_only=True)
class Tensor:
    """One tensor of a file; `fill` makes its bytes when they are written."""

    name: str
    #: Columns first, as GGUF stores them.
    shape: tuple[int, ...]
    kind: int
    size: int
    fill: Callable[[], bytes]


def _pack_string(text: str) -> bytes:
    raw = text.encode()
    return struct.pack("<Q", len(raw)) + raw


def _pack(value: Value) -> bytes:
    if isinstance(value, bool):
        return struct.pack("<I?", 7, value)
    if isinstance(value, int):
        return struct.pack("<II", 4, value)
    if isinstance(value, float):
        return struct.pack("<If", 6, value)
    if isinstance(value, str):
        return struct.pack("<I", 8) + _pack_string(value)
    if all(isinstance(item, str) for item in value):
        body = b"".join(_pack_string(str(item)) for item in value)
        return struct.pack("<IIQ", 9, 8, len(value)) + body
    body = struct.pack(f"<{len(value)}i", *(int(item) for item in value))
    return struct.pack("<IIQ", 9, 5, len(value)) + body


def write_gguf(
    path: Path, keys: Mapping[str, Value], tensors: Sequence[Tensor], *, version: int = 3
) -> Path:
    """Write a GGUF file of `keys` and `tensors` to `path` and return it."""
    with path.open("wb") as file:
        file.write(b"GGUF" + struct.pack("<IQQ", version, len(tensors), len(keys)))
        for key, value in keys.items():
            file.write(_pack_string(key) + _pack(value))
        offset = 0
        for tensor in tensors:
            shape = struct.pack(f"<I{len(tensor.shape)}Q", len(tensor.shape), *tensor.shape)
            place = struct.pack("<IQ", tensor.kind, offset)
            file.write(_pack_string(tensor.name) + shape + place)
            offset += -(-tensor.size // 32) * 32
        file.write(bytes(-file.tell() % 32))
        for tensor in tensors:
            file.write(tensor.fill())
            file.write(bytes(-file.tell() % 32))
    return path
