"""Variations: the call of a bug test with one literal changed, and what it gives on each patch.

They tell apart patches that pass the same tests, and show a patch that handles the reported input
alone: such a one still raises on other inputs of its kind.
"""

from __future__ import annotations

import ast
import time
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import islice
from pathlib import Path

from pytest_brt.edit.source_text import indented
from pytest_brt.oracle.patch_values import accepted, is_written
from pytest_brt.pysource.parse import IMPORTS, tree_of
from pytest_brt.rank.calls import Call, call_of, variations
from pytest_brt.report.match import is_steady
from pytest_brt.sandbox.events import StatementResult
from pytest_brt.sandbox.run_tests import Runner
from pytest_brt.sandbox.statements import Script, run_statements
from pytest_brt.types import FileChange, Given, JudgedTest, Telling

#: Patches that are compared.
_PATCHES = 8
#: Share of the time limit that one statement gets: what takes longer is no small call.
_SHARE = 1 / 12
#: Characters of a result.
_LONGEST = 500
#: What patches change, by their names.
Changes = Mapping[str, tuple[FileChange, ...]]


@dataclass(frozen=True, slots=True, kw_only=True)
class Outcome:
    """What a call gives: a text, or an exception."""

    text: str = ""
    #: Type of the exception, "" without one, and its message.
    raised: str = ""
    message: str = ""


def find_difference(
    tests: Sequence[JudgedTest], changes: Changes, engine: Runner, seconds: float
) -> Telling | None:
    """Return the smallest call found that gives different results on patches, None for none.

    The calls are those of the bug `tests` that the patches pass, and variations of them; nothing
    new is tried after so many wall-clock `seconds`.

    Raises:
        SubjectProblem, SandboxProblem: nothing can be run.
    """
    end = time.monotonic() + seconds
    patches = dict(islice(changes.items(), _PATCHES))
    for judged, calls in _varied(tests, end):
        every = [outcomes(calls, change, engine) for change in patches.values()]
        for call, given in zip(calls, zip(*every, strict=True), strict=True):
            if None in given or len({(one.text, one.raised) for one in given if one}) == 1:
                continue
            # A second run tells what differs by chance.
            if gives := _gives_again(call, patches, engine):
                return Telling(
                    issue=judged.test.issue,
                    test=judged.test.id,
                    setup=call.setup,
                    expression=call.expression,
                    prints=call.prints,
                    gives=gives,
                )
    return None


def find_special_cases(
    tests: Sequence[JudgedTest], changes: Changes, sound: Collection[str], engine: Runner,
    seconds: float,
) -> dict[str, str]:  # fmt: skip
    """Return the patches that handle the reported input alone, each with a call that shows it.

    `changes` are those of patches that pass all `tests`, at which the unpatched code stumbles: see
    `stumbles`. Such a patch raises the very same exception for a variation as the unpatched code,
    and one of the patches `sound`, which break nothing, gives a value; nor is that the same one for
    all variations of which that is so.

    Raises:
        SubjectProblem, SandboxProblem: nothing can be run.
    """
    special: dict[str, str] = {}
    for _, calls in _varied(tests, time.monotonic() + seconds):
        before = outcomes(calls, (), engine)
        failing = [at for at, one in enumerate(before) if at and one is not None and one.raised]
        given = {name: outcomes(calls, change, engine) for name, change in changes.items()}
        mended = {
            name: {at for at in failing if (one := given[name][at]) and not one.raised}
            for name in sound
        }
        general = [
            name for name, places in mended.items() if len({given[name][at] for at in places}) > 1
        ]
        for name, results in given.items():
            same = (at for at in failing if results[at] == before[at])
            shown = (at for at in same if any(at in mended[other] for other in general))
            for at in islice(shown, 1):
                raised = results[at]
                assert raised is not None, "it equals an exception"
                special.setdefault(name, f"{calls[at].expression} still raises {raised.raised}")
    return special


def stumbles(judged: JudgedTest, root: Path) -> bool:
    """Say whether the project's code raises what a test fails with, and not by saying so.

    What it does on purpose, with ``raise`` or ``assert``, may be right for other inputs.
    """
    raised = judged.judgement.runs[0].raised if judged.judgement.runs else None
    last = raised.frames[-1] if raised and raised.frames else None
    # Of what is no module of the tree, as code that is made of another language, nothing is known.
    if last is None or not last.project or not last.path.endswith(".py"):
        return False
    if not (root / last.path).is_file():
        return False
    tree = tree_of((root / last.path).read_bytes())
    meant = [node for node in ast.walk(tree) if isinstance(node, ast.Raise | ast.Assert)]
    return not any(node.lineno <= last.line <= (node.end_lineno or 0) for node in meant)


def _varied(
    tests: Sequence[JudgedTest], end: float
) -> Iterator[tuple[JudgedTest, tuple[Call, ...]]]:
    """Yield the bug tests that make a call, each with it and its variations, until a time."""
    for judged in tests:
        call = call_of(judged.test) if judged.judgement.candidate else None
        if call is not None and time.monotonic() < end:
            yield judged, variations(call)


def _gives_again(call: Call, patches: Changes, engine: Runner) -> tuple[Given, ...]:
    """Return what a call gives alone, twice the same; () where that does not differ."""
    names: dict[tuple[str, str], list[str]] = {}
    for name, changes in patches.items():
        first, second = (outcomes([call], changes, engine)[0] for _ in range(2))
        if first is None or first != second:
            return ()
        names.setdefault((first.text, first.raised), []).append(name)
    if len(names) < 2:
        return ()
    return tuple(
        Given(patches=tuple(some), text=text, raised=raised)
        for (text, raised), some in names.items()
    )


def outcomes(
    calls: Sequence[Call], changes: tuple[FileChange, ...], engine: Runner
) -> list[Outcome | None]:
    """Return what each call gives on a tree; None where that cannot be told or compared."""
    statements = tuple(line for call in calls for line in call.statements)
    program = Script(statements=statements, changes=changes, statement_share=_SHARE)
    seen = {one.index: one for one in run_statements(engine, program).observed}
    results, begin = [], 0
    for call in calls:
        end = begin + len(call.statements)
        parts = [seen.get(place) for place in range(begin, end)]
        results.append(_outcome(parts, prints=call.prints))
        begin = end
    return results


def _outcome(parts: Sequence[StatementResult | None], *, prints: bool) -> Outcome | None:
    """Return what a call gives; None where its set-up fails, as it does for impossible values."""
    *setup, last = parts
    if last is None or any(part is None or part.raised is not None for part in setup):
        return None
    if last.raised is not None:
        return Outcome(raised=last.raised.type, message=last.raised.message)
    text = repr(last.stdout) if prints or last.value is None else last.value.repr
    return Outcome(text=text[:_LONGEST]) if is_steady(text) else None


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
