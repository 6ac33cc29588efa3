"""The questions of pass-then-invert: plan, write, refine, flip; the same beginning for all."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace

from pytest_brt.code.index import Index
from pytest_brt.dialogue.prompts import Prompts
from pytest_brt.model.base import Message, Model, Prompt, Role, Sampling
from pytest_brt.reproduce.asking import PREFILL, STOP, answer_room
from pytest_brt.reproduce.context import Hints
from pytest_brt.reproduce.cuts import Cut, cut_report
from pytest_brt.reproduce.fit import excerpt, fitted
from pytest_brt.reproduce.siblings import siblings
from pytest_brt.types import Issue

#: Longest plan, in tokens.
_PLAN = 160
#: Its characters, as the model is told.
LONGEST_PLAN = 300
#: Characters of the buggy file, and of methods that override what is suspected in it.
_FILE, _SIBLINGS = 6000, 1500


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

    def _file(self, path: str) -> str:
        return excerpt(
            path,
            self.index,
            self.hints.suspects,
            _FILE,
            about=self.issue.text,
            literals=self.hints.literals,
        )

    def _prompt(self, kind: str, texts: Mapping[str, str], *, seed: int, **more: object) -> Prompt:
        hints = self.hints
        buggy = hints.files[0] if hints.files else ""
        parts = {
            **texts,
            "report": cut_report(self.issue, Cut.WHOLE),
            "session": "\n".join(hints.session),
            "imports": "\n".join(hints.imports),
            "buggy": self._file(buggy) if buggy else "",
            "siblings": siblings(hints.suspects, self.index, _SIBLINGS),
        }
        fixed = {
            "title": self.issue.title,
            "package": hints.package,
            "buggy_path": buggy,
            "stance": hints.stance,
            "longest_plan": LONGEST_PLAN,
        }
        is_plan = kind == "plan"
        wanted = _PLAN if is_plan else self.sampling.max_tokens
        sampling = replace(
            self.sampling,
            seed=seed,
            max_tokens=answer_room(self.model, wanted),
            stop=() if is_plan else STOP,
        )

        def build(found: Mapping[str, str]) -> Prompt:
            values = {**fixed, **found, "tests": "", **more}
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

        order = ("siblings", "buggy", "imports", "session", "report", *reversed(tuple(texts)))
        return fitted(build, parts, order, self.model)[0]
