"""The first messages of the agent: what it is to do, the report, and where the bug may be."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace

from pytest_brt.dialogue.action import LONGEST_THOUGHT, describe
from pytest_brt.model.base import Message, Prompt
from pytest_brt.reproduce.agent.editing import new_test_path
from pytest_brt.reproduce.agent.kit import Kit
from pytest_brt.reproduce.agent.tools import SPECS
from pytest_brt.reproduce.prompting.context import Hints
from pytest_brt.reproduce.prompting.cuts import Cut, cut_report
from pytest_brt.reproduce.prompting.fit import (
    PromptTooLong,
    bug_values,
    fitted,
    listings_of,
    with_listings,
)

#: Tokens of the first prompt; long reports take more.
_TOKENS = 3_650
#: Shares of the context that the dialogue is to have, the first that can be had is taken.
_SHARES = (0.4, 0.35, 0.3)


@dataclass(frozen=True, slots=True, kw_only=True)
class Opening:
    """The messages that come before the first step."""

    messages: tuple[Message, ...]
    #: The same without listings of files, for when the dialogue has become long.
    short: tuple[Message, ...]
    #: What did not fit.
    notes: tuple[str, ...]


def opening(kit: Kit) -> Opening:
    """Return the messages that come before the first step.

    Raises:
        PromptTooLong: not even the report fits.
    """
    for share in _SHARES[:-1]:
        try:
            return _opening(kit, share)
        except PromptTooLong:
            continue
    return _opening(kit, _SHARES[-1])


def _opening(kit: Kit, share: float) -> Opening:
    hints, prompts = _meant(kit), kit.bench.prompts
    parts = {
        "report": cut_report(kit.issue, Cut.WHOLE),
        "examples": "all",
        "session": "\n".join(hints.session),
        "imports": "\n".join(hints.imports) if kit.facts else "",
        "tests": "" if kit.best or not kit.facts else "\n\n".join(hints.tests[:1]),
        "fixtures": hints.fixtures,
        "best": kit.best,
        "refused": "\n".join(kit.refused),
    }
    reserved = int(kit.bench.model.context * share)

    def build(texts: Mapping[str, str], *, is_first: bool = True) -> Prompt:
        values = {
            **bug_values(kit.issue, hints, texts),
            "refused": texts["refused"].split("\n") if texts["refused"] else (),
            "is_first": is_first,
            "actions": describe(SPECS),
            "longest_thought": LONGEST_THOUGHT,
            "new_test": new_test_path(kit),
        }
        system, user = prompts.ask("agent", **values)
        examples = prompts.turns("agent/examples", **values) if texts["examples"] else ()
        return Prompt(
            messages=(system, *examples, user),
            sampling=replace(kit.sampling, max_tokens=reserved),
        )

    listings = listings_of(hints, kit.index)
    room = min(_TOKENS, kit.bench.model.context - reserved)
    parts = with_listings(build, parts, listings, kit.bench.model, room)
    order = ("tests", "host", "suspected", "fixtures", "imports", "session")
    built: dict[str, str] = {}

    def remembering(texts: Mapping[str, str]) -> Prompt:
        built.update(texts)
        return build(texts)

    last = ("examples", "refused", "best", "report")
    prompt, notes = fitted(
        remembering,
        parts,
        (*order, *last),
        kit.bench.model,
        issue=kit.issue,
        listings=listings,
    )
    without = {name: "" if name in listings else text for name, text in built.items()}
    short = build(without, is_first=False)
    return Opening(messages=prompt.messages, short=short.messages, notes=notes)


def _meant(kit: Kit) -> Hints:
    """Return what is known; where the user names files, only those are suspected."""
    named = kit.bench.buggy
    suspects = tuple(s for s in kit.hints.suspects if not named or s.path in named)
    return replace(kit.hints, suspects=suspects)
