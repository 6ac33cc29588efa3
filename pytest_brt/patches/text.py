"""Bytes as text and back, with no byte lost."""

from __future__ import annotations


def encode(text: str) -> bytes:
    """Return the bytes that `text` was decoded from."""
    return text.encode("utf-8", "surrogateescape")


def decode(data: bytes) -> str:
    """Return `data` as text from which `encode` makes the same bytes again."""
    return data.decode("utf-8", "surrogateescape")
