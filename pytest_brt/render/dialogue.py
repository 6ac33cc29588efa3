"""What a model found and cost, in lines of text."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from pytest_brt.render.report import AttemptEntry, TestEntry
from pytest_brt.render.words import count
from pytest_brt.types import Cost

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
