"""Looks for a call on which the leading patches differ, where nothing else tells them apart."""

from __future__ import annotations

import time
from collections.abc import Iterator, Mapping, Sequence
from itertools import islice

from pytest_brt.edit.source_text import indented
from pytest_brt.execute.engine import Engine, Observed, Program
from pytest_brt.oracle.patch_values import accepted, is_written
from pytest_brt.pysource.parse import IMPORTS
from pytest_brt.rank.calls import Call, call_of, varied
from pytest_brt.report.match import is_steady
from pytest_brt.types import FileChange, Given, JudgedTest, Telling

#: Calls of one test that are tried, those that run in one process, and patches that are compared.
_CALLS, _BATCH, _PATCHES = 100, 50, 8
#: Share of the time limit that one statement gets: what takes longer is no small call.
_SHARE = 1 / 12
#: Characters of a result.
_LONGEST = 500
#: What a call gives: a text, or an exception.
Outcome = tuple[str, str]


def find_telling(
    tests: Sequence[JudgedTest],
    changes: Mapping[str, tuple[FileChange, ...]],
    engine: Engine,
    seconds: float,
) -> Telling | None:
    """Return the smallest call found that gives different results on patches, None for none.

    `changes` are what each patch changes, by its name. The calls are those of the bug `tests` that
    the patches pass, and calls near them; nothing new is tried after so many wall-clock `seconds`.

    Raises:
        SubjectProblem, SandboxProblem: nothing can be run.
    """
    end = time.monotonic() + seconds
    patches = dict(islice(changes.items(), _PATCHES))
    for judged in tests:
        call = call_of(judged.test) if judged.judgement.candidate else None
        for batch in _batches(call):
            if time.monotonic() >= end:
                return None
            for one in _differing(batch, patches, engine):
                # A second run tells what differs by chance.
                if gives := _differing_again(one, patches, engine):
                    return Telling(
                        issue=judged.test.issue,
                        test=judged.test.id,
                        setup=one.setup,
                        expression=one.expression,
                        prints=one.prints,
                        gives=gives,
                    )
    return None


def _batches(call: Call | None) -> Iterator[list[Call]]:
    calls = varied(call)[:_CALLS] if call else []
    for start in range(0, len(calls), _BATCH):
        yield calls[start : start + _BATCH]


def _differing(
    calls: list[Call], patches: Mapping[str, tuple[FileChange, ...]], engine: Engine
) -> Iterator[Call]:
    """Yield the calls that can be told everywhere, and give different things."""
    every = [outcomes(calls, changes, engine) for changes in patches.values()]
    for call, found in zip(calls, zip(*every, strict=True), strict=True):
        if None not in found and len(set(found)) > 1:
            yield call


def _differing_again(
    call: Call, patches: Mapping[str, tuple[FileChange, ...]], engine: Engine
) -> tuple[Given, ...]:
    """Return what a call gives alone, twice the same; () where that does not differ."""
    names: dict[Outcome, list[str]] = {}
    for name, changes in patches.items():
        first, second = (outcomes([call], changes, engine)[0] for _ in range(2))
        if first is None or first != second:
            return ()
        names.setdefault(first, []).append(name)
    if len(names) < 2:
        return ()
    return tuple(
        Given(patches=tuple(some), text=text, raised=raised)
        for (text, raised), some in names.items()
    )


def outcomes(
    calls: Sequence[Call], changes: tuple[FileChange, ...], engine: Engine
) -> list[Outcome | None]:
    """Return what each call gives on a tree; None where that cannot be told or compared."""
    statements = tuple(line for call in calls for line in call.statements)
    program = Program(statements=statements, changes=changes, statement_share=_SHARE)
    seen = {one.index: one for one in engine.observe(program).observed}
    found, begin = [], 0
    for call in calls:
        end = begin + len(call.statements)
        parts = [seen.get(place) for place in range(begin, end)]
        found.append(_outcome(parts, prints=call.prints))
        begin = end
    return found


def _outcome(parts: Sequence[Observed | None], *, prints: bool) -> Outcome | None:
    """Return what a call gives; None where its set-up fails, as it does for impossible values."""
    *setup, last = parts
    if last is None or any(part is None or part.raised is not None for part in setup):
        return None
    if last.raised is not None:
        return "", last.raised.type
    text = repr(last.stdout) if prints or last.value is None else last.value.repr
    return (text[:_LONGEST], "") if is_steady(text) else None


def saying(judged: JudgedTest, telling: Telling, given: Given) -> JudgedTest:
    """Return the test that wants what a call gives on some patches, which a person calls right.

    `judged` is the bug test whose call was varied.
    """
    imports = [line for line in telling.setup if line.startswith(IMPORTS)]
    inner = [line for line in telling.setup if line not in imports]
    if given.raised:
        module, _, name = given.raised.removeprefix("builtins.").rpartition(".")
        imports += ["import pytest", *([f"import {module}"] if module else [])]
        kind = f"{module}.{name}" if module else name
        inner.append(f"with pytest.raises({kind}):\n{indented(telling.expression)}")
    elif telling.prints:
        inner += [telling.expression, f"assert capsys.readouterr().out == {given.text}"]
    elif is_written(given.text):
        inner.append(f"assert {telling.expression} == {given.text}")
    else:
        inner.append(f"assert repr({telling.expression}) == {given.text!r}")
    fixtures = "capsys" if telling.prints and not given.raised else ""
    name = f"{judged.test.name}_as_you_said"
    body = "\n".join(indented(text) for text in inner)
    source = "\n".join(dict.fromkeys(imports)) + f"\n\n\ndef {name}({fixtures}):\n{body}\n"
    return accepted(judged, name, source.lstrip("\n"), "You said that this is right.")
