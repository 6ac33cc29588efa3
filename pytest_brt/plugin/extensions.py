"""What other plugins add to what is built in, by our hooks."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any, TypeVar

from pytest_brt.errors import UsageProblem

if TYPE_CHECKING:
    import pytest

    from pytest_brt.agent.action import Action

T = TypeVar("T")


def collect_extensions(config: pytest.Config, hook: str, built_in: Mapping[str, T]) -> dict[str, T]:
    """Return `built_in` together with what the implementations of `hook` add.

    Raises:
        UsageProblem: a name is given twice; it names both plugins.
    """
    found = dict(built_in)
    owners = dict.fromkeys(built_in, "pytest-brt")
    for implementation in getattr(config.hook, hook).get_hookimpls():
        added: Any = implementation.function(*(config for _ in implementation.argnames))
        for name, thing in (added or {}).items():
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


def added_tools(config: pytest.Config, root: str) -> dict[str, Action]:
    """Return the actions that plugins give to the repair agent, by name."""
    added: dict[str, Callable[[str, str], str]] = collect_extensions(config, "pytest_brt_tools", {})
    return {name: _action(name, answer, root) for name, answer in added.items()}


def _action(name: str, answer: Callable[[str, str], str], root: str) -> Action:
    from pytest_brt.agent.action import Action, Argument, Form, Outcome

    def run(_turn: object, question: str) -> Outcome:
        return Outcome(observation=str(answer(question, root)))

    about = (answer.__doc__ or "Ask a plugin.").strip().splitlines()[0]
    form = Form(arguments=(Argument(name="question", about="what to look for"),))
    return Action(name=name, about=about, run=run, form=form)
