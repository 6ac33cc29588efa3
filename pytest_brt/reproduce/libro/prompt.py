"""LIBRO's prompts: the report with examples, or the report with the files that it is about."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from enum import StrEnum

from pytest_brt.code.index import Index
from pytest_brt.dialogue.prompts import Prompts
from pytest_brt.model.base import Model, Prompt, Role, Sampling
from pytest_brt.reproduce.asking import PREFILL, STOP, answer_room
from pytest_brt.reproduce.prompting.context import Hints
from pytest_brt.reproduce.prompting.cuts import Cut, cut_report
from pytest_brt.reproduce.prompting.fit import bug_values, fitted, listings_of, with_listings
from pytest_brt.types import Issue

#: Tokens of a prompt; long reports take more.
_TOKENS = 2_600


class Form(StrEnum):
    """What stands in the prompt beside the report."""

    #: Two examples of a report and its test: LIBRO as it was published first.
    EXAMPLES = "examples"
    #: The buggy file and the test file it goes with: as paper 001 adapted it.
    FILES = "files"


def sampling_prompt(
    issue: Issue,
    *,
    form: Form,
    hints: Hints,
    index: Index,
    prompts: Prompts,
    model: Model,
    sampling: Sampling,
    samples: int,
    cut: Cut = Cut.WHOLE,
    facts: bool = False,
) -> tuple[Prompt, tuple[str, ...]]:
    """Return the prompt for `samples` tests of `issue`, and notes on what did not fit into it.

    Args:
        issue: the report.
        form: what stands beside it.
        hints: which files; with `facts`, what else was found out goes in as well.
        index: the project, for the files.
        prompts: the texts.
        model: says how much there is room for.
        sampling: how tokens are chosen.
        samples: how many answers.
        cut: how much of the report.
        facts: whether the model is told what replay found out, which LIBRO does not know.

    Raises:
        PromptTooLong: it fits in no way.
    """
    parts = {
        "report": cut_report(issue, cut),
        "session": "\n".join(hints.session) if facts else "",
        "imports": "\n".join(hints.imports) if facts else "",
        "tests": "\n\n".join(hints.tests[:1]) if facts else "",
        "fixtures": hints.fixtures if facts else "",
        "examples": "both" if form is Form.EXAMPLES else "",
    }
    longest = answer_room(model, sampling.max_tokens)

    def build(texts: Mapping[str, str]) -> Prompt:
        values = bug_values(issue, hints, texts)
        examples = prompts.turns("libro/examples") if texts["examples"] else ()
        return Prompt(
            messages=(
                prompts.message(Role.SYSTEM, "libro/system", **values),
                *examples,
                prompts.message(Role.USER, "libro/user", **values),
            ),
            sampling=replace(sampling, max_tokens=longest, stop=STOP),
            samples=samples,
            prefill=PREFILL,
            purpose="libro",
        )

    listings = listings_of(hints, index) if form is Form.FILES else {}
    parts = with_listings(build, parts, listings, model, _TOKENS)
    # What LIBRO does not have goes first, the report last.
    order = ("tests", "host", "suspected", "examples", "fixtures", "imports", "session", "report")
    return fitted(build, parts, order, model, issue=issue, listings=listings)


def repair_prompt(
    code: str,
    error: str,
    *,
    problems: tuple[str, ...],
    imports: tuple[str, ...],
    prompts: Prompts,
    model: Model,
    sampling: Sampling,
) -> Prompt:
    """Return the prompt for another version of a test that does not run.

    Raises:
        PromptTooLong: the test is too long for the model.
    """
    parts = {"code": code, "error": error, "imports": "\n".join(imports)}
    longest = answer_room(model, sampling.max_tokens)

    def build(texts: Mapping[str, str]) -> Prompt:
        return Prompt(
            messages=prompts.ask("libro/repair", problems=problems, **texts),
            sampling=replace(sampling, max_tokens=longest, stop=STOP),
            prefill=PREFILL,
            purpose="repair",
        )

    return fitted(build, parts, ("imports", "error"), model)[0]
