"""The questions of pass-then-invert: plan, write, refine, flip; the same beginning for all."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace

from pytest_brt.code.index import Index
from pytest_brt.dialogue.prompts import Prompts
from pytest_brt.model.base import Message, Model, Prompt, Role, Sampling
from pytest_brt.reproduce.asking import PREFILL, STOP, answer_room
from pytest_brt.reproduce.prompting.context import Hints
from pytest_brt.reproduce.prompting.cuts import Cut, cut_report
from pytest_brt.reproduce.prompting.fit import bug_values, fitted, listings_of, with_listings
from pytest_brt.types import Issue

#: Longest plan, in tokens.
_PLAN = 160
#: Its characters, as the model is told.
LONGEST_PLAN = 300
#: Tokens of what all questions begin with; long reports take more.
_TOKENS = 1_150


@dataclass(frozen=True, slots=True, kw_only=True)
class Questions:
    """Makes the prompts of one issue."""

    issue: Issue
    hints: Hints
    index: Index
    prompts: Prompts
    model: Model
    sampling: Sampling

    def plan(self, earlier: tuple[str, ...], seed: int) -> Prompt:
        """Return the question for a plan that is none of `earlier`.

        Raises:
            PromptTooLong: it does not fit the model.
        """
        return self._prompt("plan", {}, seed=seed, earlier=earlier)

    def write(self, plan: str, seed: int) -> Prompt:
        """Return the question for a test that passes; raises as `plan` does."""
        return self._prompt("write", {"plan": plan}, seed=seed)

    def refine(self, code: str, happened: str, problems: tuple[str, ...], seed: int) -> Prompt:
        """Return the question for another version of a test that does not pass; raises so too."""
        texts = {"code": code, "happened": happened}
        return self._prompt("refine", texts, seed=seed, problems=problems)

    def flip(self, code: str, tried: str, happened: str, seed: int) -> Prompt:
        """Return the question for the test turned round; raises as `plan` does."""
        texts = {"code": code, "tried": tried, "happened": happened}
        return self._prompt("flip", texts, seed=seed)

    def _prompt(self, kind: str, texts: Mapping[str, str], *, seed: int, **more: object) -> Prompt:
        hints = self.hints
        parts = {
            **texts,
            "report": cut_report(self.issue, Cut.WHOLE),
            "session": "\n".join(hints.session),
            "imports": "\n".join(hints.imports),
            "fixtures": hints.fixtures,
        }
        is_plan = kind == "plan"
        sampling = replace(
            self.sampling,
            seed=seed,
            max_tokens=answer_room(self.model, _PLAN if is_plan else self.sampling.max_tokens),
            stop=() if is_plan else STOP,
        )

        def build(found: Mapping[str, str]) -> Prompt:
            values = bug_values(self.issue, hints, found)
            values |= {"longest_plan": LONGEST_PLAN, **more}
            messages: tuple[Message, ...] = (
                self.prompts.message(Role.SYSTEM, "invert/system", **values),
                self.prompts.message(Role.USER, f"invert/{kind}.user", **values),
            )
            return Prompt(
                messages=messages,
                sampling=sampling,
                prefill="" if is_plan else PREFILL,
                weighty=kind != "write",
                purpose=kind,
            )

        def beginning(found: Mapping[str, str]) -> Prompt:
            # Without what is asked, so that all questions begin with the same code.
            values = bug_values(self.issue, hints, found)
            return Prompt(messages=(self.prompts.message(Role.USER, "shared/bug", **values),))

        listings = listings_of(replace(hints, host=""), self.index)
        listed = with_listings(beginning, parts, listings, self.model, _TOKENS)
        known = ("suspected", "fixtures", "imports", "session", "report")
        order = (*known, *reversed(tuple(texts)))
        return fitted(build, listed, order, self.model, issue=self.issue, listings=listings)[0]
