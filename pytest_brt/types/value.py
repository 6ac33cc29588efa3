"""What every class of this package is."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TypeVar, dataclass_transform

T = TypeVar("T")


@dataclass_transform(frozen_default=True, kw_only_default=True, field_specifiers=(field,))
def value(kind: type[T]) -> type[T]:
    """Make a dataclass of `kind` that is frozen, has slots, and takes its fields by name."""
    return dataclass(frozen=True, slots=True, kw_only=True)(kind)
