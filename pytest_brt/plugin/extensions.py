"""What other plugins add to what is built in, by our hooks."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, TypeVar

from pytest_brt.errors import UsageProblem

if TYPE_CHECKING:
    import pytest


T = TypeVar("T")


def collect_extensions(
    config: pytest.Config, hook: str, built_in: Mapping[str, T], kind: type[T]
) -> dict[str, T]:
    """Return `built_in` together with what of this kind the implementations of `hook` add.

    Raises:
        UsageProblem: a name is given twice; it names both plugins.
    """
    found = dict(built_in)
    owners = dict.fromkeys(built_in, "pytest-brt")
    for implementation in getattr(config.hook, hook).get_hookimpls():
        added: Any = implementation.function(*(config for _ in implementation.argnames))
        for name, thing in (added or {}).items():
            if not isinstance(thing, kind):
                continue
            if name in found:
                raise UsageProblem(
                    f"{hook}: {name!r} is given by both {owners[name]} and "
                    f"{implementation.plugin_name} (block one with -p no:NAME)"
                )
            found[name] = thing
            owners[name] = implementation.plugin_name
    return found


def lookup(option: str, name: str, known: Mapping[str, T]) -> T:
    """Return the thing called `name`.

    Raises:
        UsageProblem: nobody gives it; it lists the known names.
    """
    if name not in known:
        raise UsageProblem(f"{option}: unknown name {name!r} (known: {', '.join(sorted(known))})")
    return known[name]
