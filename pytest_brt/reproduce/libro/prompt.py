"""LIBRO's prompts: the report with examples, or the report with the files that it is about."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from enum import StrEnum
from functools import partial

from pytest_brt.code.index import Index
from pytest_brt.dialogue.prompts import Prompts
from pytest_brt.model.base import Message, Model, Prompt, Role, Sampling
from pytest_brt.reproduce.asking import PREFILL, STOP, answer_room
from pytest_brt.reproduce.context import Hints
from pytest_brt.reproduce.cuts import Cut, cut_report
from pytest_brt.reproduce.fit import MOST_FILE, excerpt, fitted
from pytest_brt.types import Issue

#: Characters of the files: of the test file its imports and the tests most like the report.
_MOST = {"buggy": MOST_FILE, "host": 6_000}
#: Examples of a report and its test, in the order in which they are shown.
_EXAMPLES = (1, 2)


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
        "examples": "both" if form is Form.EXAMPLES else "",
        "buggy": "",
        "host": "",
    }
    files = _files(issue, hints, index) if form is Form.FILES else {}
    parts |= {name: make(_MOST[name]) for name, make in files.items()}
    longest = answer_room(model, sampling.max_tokens)

    def build(texts: Mapping[str, str]) -> Prompt:
        values = {
            **texts,
            "title": issue.title,
            "package": hints.package,
            "buggy_path": hints.files[0] if hints.files else "",
            "host_path": hints.host,
            "facts": facts,
            "stance": hints.stance,
        }
        last = "libro/report.user" if form is Form.EXAMPLES else "libro/files.user"
        messages = [prompts.message(Role.SYSTEM, "libro/system", **values)]
        messages += _examples(prompts, values) if texts["examples"] else []
        messages.append(prompts.message(Role.USER, last, **values))
        return Prompt(
            messages=tuple(messages),
            sampling=replace(sampling, max_tokens=longest, stop=STOP),
            samples=samples,
            prefill=PREFILL,
            purpose="libro",
        )

    # What LIBRO does not have goes first, the report last.
    order = ("tests", "host", "buggy", "examples", "imports", "session", "report")
    return fitted(build, parts, order, model, again=files)


def _files(issue: Issue, hints: Hints, index: Index) -> dict[str, Callable[[int], str]]:
    """Return what makes the buggy file and the test file in at most so many characters.

    Of long files those are the parts that count.
    """
    paths = {"buggy": hints.files[0] if hints.files else "", "host": hints.host}

    def part(path: str, most: int) -> str:
        return excerpt(path, index, hints.suspects, most, about=issue.text, literals=hints.literals)

    return {name: partial(part, path) for name, path in paths.items() if path}


def _examples(prompts: Prompts, values: Mapping[str, object]) -> list[Message]:
    return [
        prompts.message(role, f"libro/example-{number}.{role}", **values)
        for number in _EXAMPLES
        for role in (Role.USER, Role.ASSISTANT)
    ]


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
