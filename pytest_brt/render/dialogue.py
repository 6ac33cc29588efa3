"""What a model said, as text and as a page, and what it found and cost, in lines of text."""

from __future__ import annotations

import textwrap
from collections.abc import Iterator, Sequence
from pathlib import Path

from pytest_brt.render.report import AttemptEntry, TestEntry
from pytest_brt.render.words import count
from pytest_brt.types import Cost, KeptDialogue, Step

#: Lines of an observation that are shown as text, unless all are wanted.
_LINES = 8
_TEMPLATE = Path(__file__).parent / "dialogues.html.jinja"


def as_text(told: KeptDialogue, *, whole: bool = False) -> Iterator[str]:
    """Yield the lines of a dialogue; `whole` leaves nothing out."""
    yield f"{told.name}: {told.title or told.issue}"
    yield f"{count(len(told.steps), 'step')}, ended by: {told.ended}; {cost(told.cost)}"
    for step in told.steps:
        yield ""
        yield f"{step.number}. {heading(step)}"
        if step.thought:
            yield from textwrap.wrap(
                step.thought, 96, initial_indent="   ", subsequent_indent="   "
            )
        if whole and not step.action:
            yield from (f"   > {line}" for line in step.reply.split("\n"))
        lines = step.observation.split("\n")
        shown = lines if whole or len(lines) <= _LINES else lines[: _LINES - 1]
        yield from (f"   | {line}" for line in shown)
        if len(shown) < len(lines):
            yield f"   | … {len(lines) - len(shown)} more lines (-v shows them)"


def heading(step: Step) -> str:
    """Return a step in one line: its action, its arguments, the verdict of a test.

    >>> call = Call(action="cat", arguments=(("path", "a.py"),))
    >>> heading(Step(number=1, reply="", call=call))
    "cat path='a.py'"
    """
    arguments = " ".join(f"{name}={value!r}" for name, value in step.arguments)
    what = f"{step.action or 'no action'} {arguments}".strip()
    refused = "" if step.is_done else "refused"
    came = step.verdict or refused
    return f"{what} → {came}" if came else what


def as_page(dialogues: Sequence[KeptDialogue]) -> str:
    """Return one HTML page with all of them: no script, and nothing loaded from elsewhere."""
    from pytest_brt.render.template import filled  # jinja2 takes a while to import

    return filled(_TEMPLATE, parts=dialogues, cost=cost, heading=heading)


#: Widest name of a strategy in the table.
_WIDTH = 12
#: The line above the tests of a run that asked a model.
HEADING = f"{'sure':>6}  {'found by':<{_WIDTH}} {'alike':>5}  test"


def columns(test: TestEntry) -> str:
    """Return who found a test, and how many samples or runs fail like it."""
    alike = f"{test.agree}/{test.samples}" if test.samples > 1 else "–"
    return f"{test.strategy:<{_WIDTH}} {alike:>5}"


def account(attempts: Sequence[AttemptEntry]) -> Iterator[str]:
    """Yield a line for each attempt that asked a model: what it took, and what came of it."""
    for attempt in attempts:
        if attempt.cost.calls:
            yield (
                f"{attempt.name}: {cost(attempt.cost)}; {attempt.seconds:.0f} s in all; "
                f"{attempt.candidates} of {count(attempt.tests, 'test')} failing as reported"
            )


def total(attempts: Sequence[AttemptEntry]) -> str:
    """Return what all attempts cost together, "" when no model was asked."""
    spent = sum((attempt.cost for attempt in attempts), Cost())
    return f"the model: {cost(spent)}" if spent.calls else ""


def cost(spent: Cost) -> str:
    """Return a cost in words.

    >>> cost(Cost(calls=2, prompt_tokens=3000, evaluated=1200, tokens=90, seconds=4.2))
    '2 questions, 3,000 tokens read (1,200 of them new), 90 written, 4 s'
    """
    asked = "question" if spent.calls == 1 else "questions"
    return (
        f"{spent.calls:,} {asked}, {spent.prompt_tokens:,} tokens read ({spent.evaluated:,} of "
        f"them new), {spent.tokens:,} written, {spent.seconds:.0f} s"
    )


def prospect(budget: float, spent: Cost) -> str:
    """Return how far the time goes, by what earlier runs with the same model took here.

    >>> prospect(900, Cost(calls=10, tokens=800, evaluated=4000, seconds=45))
    'the model gets at most 15 minutes, enough for about 200 answers by earlier runs here'
    """
    time = f"{budget / 60:g} minutes" if budget >= 120 else f"{budget:g} seconds"
    most = f"the model gets at most {time}"
    if not spent.calls or spent.seconds <= 0:
        return most
    answers = max(1, round(budget / (spent.seconds / spent.calls)))
    return f"{most}, enough for about {count(answers, 'answer')} by earlier runs here"
