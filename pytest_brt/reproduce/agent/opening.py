"""The first messages of the agent: what it is to do, the report, and where the bug may be."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from pytest_brt.dialogue.action import describe
from pytest_brt.model.base import Message, Prompt
from pytest_brt.reproduce.agent.editing import new_test_path
from pytest_brt.reproduce.agent.kit import Kit
from pytest_brt.reproduce.agent.tools import SPECS
from pytest_brt.reproduce.context import Cut, cut_report
from pytest_brt.reproduce.fit import MOST_FILE, PromptTooLong, excerpt, fitted

#: Buggy files that are shown when the user names none.
_FILES = 2
#: Characters of files per token of context.
_CHARACTERS = 0.8
#: Shares of the context that the dialogue is to have, the first that can be had is taken.
_SHARES = (0.5, 0.35, 0.3)


def opening(kit: Kit) -> tuple[tuple[Message, ...], tuple[str, ...]]:
    """Return the messages that come before the first step, and notes on what did not fit.

    Raises:
        PromptTooLong: not even the report fits.
    """
    for share in _SHARES[:-1]:
        try:
            return _opening(kit, share)
        except PromptTooLong:
            continue
    return _opening(kit, _SHARES[-1])


def _opening(kit: Kit, share: float) -> tuple[tuple[Message, ...], tuple[str, ...]]:
    hints, prompts = kit.hints, kit.bench.prompts
    paths = list(dict.fromkeys(kit.bench.buggy or hints.files[:_FILES]))
    parts = {
        "report": cut_report(kit.issue, Cut.WHOLE),
        "examples": prompts.render("agent/examples"),
        "session": "\n".join(hints.session) if kit.facts else "",
        "imports": "\n".join(hints.imports) if kit.facts else "",
        "tests": "\n\n".join(hints.tests[:1]) if kit.facts else "",
    }
    # Better the parts that count than a file that is cut off somewhere.
    most = min(MOST_FILE, max(1000, int(kit.bench.model.context * _CHARACTERS / (len(paths) or 1))))
    for path in paths:
        parts[path] = excerpt(path, kit.index, hints.suspects, most, about=kit.issue.text)
    reserved = int(kit.bench.model.context * share)

    def build(texts: Mapping[str, str]) -> Prompt:
        # Examples that are cut in the middle are none.
        whole = texts["examples"] == parts["examples"]
        values = {
            **{name: text for name, text in texts.items() if name not in paths},
            "examples": texts["examples"] if whole else "",
            "title": kit.issue.title,
            "package": hints.package,
            "files": [(path, texts[path]) for path in paths if texts[path]],
            "actions": describe(SPECS),
            "test_root": kit.bench.engine.subject.test_root,
            "new_test": new_test_path(kit),
        }
        return Prompt(
            messages=prompts.ask("agent", **values),
            sampling=replace(kit.sampling, max_tokens=reserved),
        )

    order = ("tests", *reversed(paths), "imports", "session", "examples", "report")
    prompt, notes = fitted(build, parts, order, kit.bench.model)
    return prompt.messages, notes
