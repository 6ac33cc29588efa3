"""The first messages of the agent: what it is to do, the report, and where the bug may be."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import partial

from pytest_brt.dialogue.action import LONGEST_THOUGHT, describe
from pytest_brt.model.base import Message, Prompt
from pytest_brt.reproduce.agent.editing import new_test_path
from pytest_brt.reproduce.agent.kit import Kit
from pytest_brt.reproduce.agent.tools import SPECS
from pytest_brt.reproduce.cuts import Cut, cut_report
from pytest_brt.reproduce.fit import MOST_FILE, PromptTooLong, excerpt, fitted

#: Buggy files that are shown when the user names none.
_FILES = 2
#: Characters of the test file at most: a test or two that are like the report, with fixtures.
_HOST = 2_000
#: Characters of code per token, rather too few.
_CHARACTERS = 3.0
#: How the room is shared: the first file, the others, the test file.
_FIRST, _OTHER, _TESTS = 3.0, 2.0, 1.0
#: Characters of a file below which it says nothing.
_LEAST = 400
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
    hints, prompts = kit.hints, kit.bench.prompts
    paths = list(dict.fromkeys(kit.bench.buggy or hints.shown[:_FILES]))
    about = kit.issue.text
    parts = {
        "report": cut_report(kit.issue, Cut.WHOLE),
        "examples": prompts.render("agent/examples"),
        "session": "\n".join(hints.session),
        "imports": "\n".join(hints.imports) if kit.facts else "",
        "tests": "\n\n".join(hints.tests[:1]) if kit.facts else "",
        **dict.fromkeys((*paths, "host"), ""),
    }
    listings = (*paths, "host")
    reserved = int(kit.bench.model.context * share)

    def build(texts: Mapping[str, str], *, is_first: bool = True) -> Prompt:
        # Examples that are cut in the middle are none.
        whole = texts["examples"] == parts["examples"]
        values = {
            **{name: text for name, text in texts.items() if name not in paths},
            "examples": texts["examples"] if whole else "",
            "title": kit.issue.title,
            "package": hints.package,
            "files": [(path, texts[path]) for path in paths if texts[path]],
            "host_path": hints.host,
            "stance": hints.stance,
            "is_first": is_first,
            "actions": describe(SPECS),
            "longest_thought": LONGEST_THOUGHT,
            "test_root": kit.bench.engine.subject.test_root,
            "new_test": new_test_path(kit),
        }
        return Prompt(
            messages=prompts.ask("agent", **values),
            sampling=replace(kit.sampling, max_tokens=reserved),
        )

    left = kit.bench.model.context - reserved - kit.bench.model.measure(build(parts))
    weights = dict(zip(paths, (_FIRST, *[_OTHER] * len(paths)), strict=False))
    weights |= {"host": _TESTS} if hints.host else {}

    def listing(name: str, most: int) -> str:
        path, most = (hints.host, min(most, _HOST)) if name == "host" else (name, most)
        if most < _LEAST:
            return ""
        return excerpt(path, kit.index, hints.suspects, most, about=about, literals=hints.literals)

    for name, weight in weights.items():
        # Better the parts that count than a file that is cut off somewhere.
        room = left * _CHARACTERS * weight / sum(weights.values())
        parts[name] = listing(name, min(MOST_FILE, int(room)))
    order = ("tests", *reversed(paths[1:]), "host", *paths[:1], "imports", "session", "examples")
    built: dict[str, str] = {}

    def remembering(texts: Mapping[str, str]) -> Prompt:
        built.update(texts)
        return build(texts)

    prompt, notes = fitted(
        remembering,
        parts,
        (*order, "report"),
        kit.bench.model,
        again={name: partial(listing, name) for name in weights},
    )
    without = {name: "" if name in listings else text for name, text in built.items()}
    short = build(without, is_first=False)
    return Opening(messages=prompt.messages, short=short.messages, notes=notes)
