"""What there is to say of an attempt besides its tests, in words."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import assert_never

from pytest_brt.render.words import count
from pytest_brt.types import Attempt, AttemptNote, Ending, IssueAnswer, Repair
from pytest_brt.types.answer import Mend, NotReproduced
from pytest_brt.types.attempt import (
    DialogueEnded,
    Interrupted,
    ModelFailed,
    ModelGaveNothing,
    NotTried,
    PlansFailed,
    PutAtTop,
    SamplesDrawn,
    Shortened,
    WithoutModel,
)

_ENDED = {
    Ending.FINISH: "the model ended it",
    Ending.STEPS: "its steps ran out",
    Ending.TOKENS: "the context is full",
    Ending.TIME: "time limit reached",
    Ending.LOOP: "it went round in circles",
    Ending.ERROR: "the model failed",
}
#: Notes that are shown beside the answer about a report.
_BESIDE = (Interrupted, NotTried, PutAtTop, WithoutModel)


def attempt_words(attempt: Attempt, answer: IssueAnswer | None = None) -> Iterator[str]:
    """Yield what an attempt has to say besides its tests, a line each.

    Where the `answer` about its report is shown too, what stands in or beside that is left out.
    What to do is said of the weightiest miss alone.
    """
    missed = answer if isinstance(answer, NotReproduced) else None
    why, advice = (missed.why, missed.advice) if missed else (None, None)
    by = "" if attempt.strategy == "replay" else "replay: "
    hinting = [reason for reason in attempt.misses if reason.hint][:1]
    for reason in attempt.misses:
        if reason != why:
            yield f"{by}{reason.text}"
        if reason in hinting and advice != Mend(hint=reason.hint):
            yield f"{by}{reason.hint}"
    for note in attempt.notes:
        if answer is None or (note != why and not isinstance(note, _BESIDE)):
            yield note_sentence(note)


def notes_beside(attempts: Sequence[Attempt], answer: IssueAnswer | None) -> Iterator[str]:
    """Yield what the attempts at a report have to say that its answer does not."""
    for attempt in attempts:
        by = f"{name_of(attempt, attempts)}: " if len(attempts) > 1 else ""
        for words in attempt_words(attempt, answer):
            yield f"{by}{words}"


def warnings(attempts: Sequence[Attempt], answer: IssueAnswer | None) -> Iterator[str]:
    """Yield what has to be known of the answer about a report and is not in it, once each."""
    why = answer.why if isinstance(answer, NotReproduced) else None
    for note in dict.fromkeys(note for attempt in attempts for note in attempt.notes):
        if isinstance(note, Interrupted | NotTried | PutAtTop):
            yield note_sentence(note)
        elif isinstance(note, WithoutModel) and note != why:
            yield f"without the model: {note_sentence(note)}"


def name_of(attempt: Attempt | Repair, attempts: Sequence[Attempt | Repair]) -> str:
    """Return what a run of a strategy is called: "agent-03", or "libro" where there is one."""
    several = sum(other.strategy == attempt.strategy for other in attempts) > 1
    return f"{attempt.strategy}-{attempt.index:02}" if several else attempt.strategy


def note_sentence(note: AttemptNote) -> str:
    """Return a note on one line, after the strategy whose note it is."""
    return f"{note.by}: {_words(note)}" if note.by else _words(note)


def _words(note: AttemptNote) -> str:
    match note:
        case Shortened(part=part, left_out=left_out):
            return f"{part} {'left out' if left_out else 'shortened'} to fit the context"
        case SamplesDrawn():
            return _drawn_words(note)
        case DialogueEnded(ending=ending, steps=steps, said=said, wrote=wrote):
            more = f" ({said})" if said else ""
            missing = "" if wrote else "; no test was written"
            return f"{count(steps, 'step')}: {_ENDED[ending]}{more}{missing}"
        case NotTried(what=what):
            return f"more time (--brt-budget) would add: {', '.join(what)}"
        case PlansFailed(said=said) | ModelFailed(said=said) | WithoutModel(said=said):
            return said
        case ModelGaveNothing(wrote=wrote):
            return _NONE_STANDS if wrote else _NONE_WRITTEN
        case PutAtTop(reason=reason):
            return f"placed in the project root, because {reason}"
        case Interrupted():
            return "interrupted: this is what had been found by then"
        case _:
            assert_never(note)


_NONE_WRITTEN = (
    "the model wrote no test that can be run: try a larger one ('pytest-brt models' names "
    "some), and read its replies beside the report of --brt-report FILE.json"
)
_NONE_STANDS = (
    "no test by the model holds up: give the exact input and the right result in the report, say "
    "where the bug is with --brt-buggy-file, or try a larger model ('pytest-brt models')"
)


def _drawn_words(note: SamplesDrawn) -> str:
    drawn = count(note.samples, "sample")
    if not note.tests:
        return f"{drawn}: no test that parses"
    did = ", ".join(f"{count.tests} {count.verdict}" for count in note.verdicts) or "not run"
    words = f"{drawn}: {count(note.tests, 'different test')} ({did})"
    if note.unreadable:
        return f"{words}; {note.unreadable} of them had no test that parses"
    return words
