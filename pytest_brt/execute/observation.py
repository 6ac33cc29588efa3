"""Statements that are run one by one: what their process is to do, and what came of it."""

from __future__ import annotations

import os
from collections.abc import Iterator
from dataclasses import replace

from pytest_brt.execute.engine import Observation, Observed, Program
from pytest_brt.execute.process import Deadlines, Ended, Places, ToldException
from pytest_brt.execute.protocol import CellOrder
from pytest_brt.render.causes import status_words
from pytest_brt.types import FileChange
from pytest_brt.types.subject import Subject

#: Seconds for starting Python and importing the project, at least.
STARTUP = 60.0
#: Wall-clock seconds that a statement of a program gets in any case: it may be a large import.
_STATEMENT = 5.0


def order_for(program: Program, subject: Subject, limit: float) -> CellOrder:
    """Return what the process of a program is to do, where a test has `limit` seconds."""
    seconds = max(limit * program.statement_share, _STATEMENT)
    total = max(limit, seconds)
    return CellOrder(
        deadlines=Deadlines(
            start=STARTUP,
            total=total,
            events={"statement": seconds, "observed": seconds, "evaluable": seconds},
        ),
        work=tuple(_files_beside(program)),
        script="observe",
        spec={
            "statements": program.statements,
            "packages": subject.packages,
            "warnings": subject.warnings,
            "calls_from": program.calls_from,
        },
        in_work=True,
    )


def _files_beside(program: Program) -> Iterator[FileChange]:
    """Yield the files of a program by their paths from the parent of its working directory."""
    for file in program.files:
        path = os.path.normpath(f"work/{file.path}")
        # What is left out would take the place of that folder, of its parent, or lie beyond.
        if path not in (".", "..", "work") and not path.startswith("../"):
            yield replace(file, path=path)


def observation_of(
    program: Program, ended: Ended, places: Places, deadlines: Deadlines
) -> Observation:
    """Return what the statements of a program did, from what its process told."""
    evaluable = {event.index for event in ended.events if event.event == "evaluable"}
    observed = [
        _observed(told, event.raised, places, evaluable=told.index in evaluable)
        for event in ended.events
        if (told := event.observed)
    ]
    if len(observed) == len(program.statements):
        how = ""
    elif ended.timed_out:
        over = ended.seconds >= deadlines.total
        spent = deadlines.total if over else deadlines.events["statement"]
        how = f"timed out after {spent:g} s"
    else:
        how = status_words(ended.status)
    finish = ended.first("finish")
    called = ((places.relative(path), line) for path, line in finish.called) if finish else ()
    ours = frozenset((path, line) for path, line in called if path is not None)
    timed_out = bool(how) and ended.timed_out
    return Observation(observed=tuple(observed), ended=how, timed_out=timed_out, called=ours)


def _observed(
    told: Observed, raised: ToldException | None, places: Places, *, evaluable: bool
) -> Observed:
    value = told.value
    if value is not None:
        text, shown = places.text(value.repr), places.text(value.text)
        value = replace(value, repr=text, text=shown, evaluable=evaluable)
    return replace(
        told,
        value=value,
        stdout=places.text(told.stdout),
        stderr=places.text(told.stderr),
        raised=None if raised is None else places.raised(raised),
    )
