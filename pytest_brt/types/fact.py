"""What one room tells another: a closed union of facts, each a tagged value."""

from __future__ import annotations

import msgspec


class Fact(msgspec.Struct, frozen=True, kw_only=True, tag=True, tag_field="kind"):
    """Member of a union of facts; its class name travels as ``kind``.

    msgspec refuses unions of dataclasses, so members of a union are Structs. Whoever reads a
    union does it by ``match`` and closes it with ``assert_never``; sentences are made in
    `render` alone.
    """
