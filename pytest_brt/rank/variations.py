"""Variations: the call of a test with one literal changed, and what it gives on each patch.

They tell apart patches that pass the same tests, and show a patch that handles the reported input
alone: such a one still does on other inputs of its kind what the unpatched code does. Where there
is no bug test, the calls are those of existing tests.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from itertools import chain, islice, repeat, zip_longest
from linecache import getline

from pytest_brt.guard import TestFiles
from pytest_brt.oracle.asked_call import call_of
from pytest_brt.patches.changes import Touched
from pytest_brt.pysource.names import undefined_names
from pytest_brt.pysource.parse import code_of, find_tests, parse, parse_or_empty
from pytest_brt.rank.remarks import special_note
from pytest_brt.report.match import ADDRESS, is_steady
from pytest_brt.sandbox.process import StatementResult
from pytest_brt.sandbox.run_tests import Runner
from pytest_brt.sandbox.statements import run_statements
from pytest_brt.types import (
    UNPATCHED,
    CandidateTest,
    FileChange,
    Given,
    JudgedTest,
    Note,
    OracleKind,
    Origin,
    Outcome,
    Rank,
    Telling,
    Variation,
)

#: Test files that are read for existing calls, the nearest first.
_FILES = 8
#: Tests whose calls are varied, and variations of each call.
_TESTS, _VARIATIONS = 6, 12
#: What a digit of a text becomes.
_DIGITS = str.maketrans("0123456789", "1234567890")
#: What a line of code has that raises on purpose, which may be right.
_MEANT = re.compile(r"\b(?:raise|assert)\b")
#: Kinds of tests that only say what is wrong.
WEAK = (OracleKind.GONE, OracleKind.NO_RAISE)
_AS_UNPATCHED = Note(
    code="as-unpatched",
    text="on all variations of the bug tests' calls it gives what the unpatched code gives",
)


# -- the calls, and what they give -------------------------------------------------------------


def find_existing_calls(
    files: TestFiles, pool: Sequence[Touched]
) -> tuple[CandidateTest, ...]:
    """Return the existing tests that stand alone, first those that name what patches change.

    Each has its body and the imports of its module.
    """
    names = {name for touched in pool for name in touched.names}
    tests: dict[CandidateTest, bool] = {}
    for path in files.nearest(pool)[:_FILES]:
        module = parse_or_empty(files.texts[path]).body
        imports = [node for node in module if isinstance(node, ast.Import | ast.ImportFrom)]
        for name, node in find_tests(module):
            source = code_of(ast.Module([*imports, node], []))
            if not undefined_names(source):
                test = existing_test(f"{path}::{name}", source)
                tests[test] = names.isdisjoint(re.findall(r"\w+", code_of(node)))
    return tuple(sorted(tests, key=tests.__getitem__))


def existing_test(name: str, source: str = "") -> CandidateTest:
    """Return an existing test, called as in "tests/test_a.py::test_x", as one of its own.

    It has a file of its own beside that of the test.
    """
    path, _, node = name.partition("::")
    return CandidateTest(
        id=name,
        name=node,
        origin=Origin(strategy="given"),
        path=f"{path.removesuffix('.py')}_brt.py",
        source=source,
    )


def find_variations(
    tests: Iterable[CandidateTest], runner: Runner
) -> tuple[Variation, ...]:
    """Return what tests ask about, each call with variations, and what they give without a patch.

    The smallest come first, and before all of them those that were not varied. What gives nothing
    that could be compared is left out.

    Raises:
        SubjectProblem, SandboxProblem: nothing can be run.
    """
    own = [*filter(None, map(call_of, tests))]
    calls = sorted(
        chain.from_iterable(map(vary, own[:_TESTS])),
        key=lambda call: (bool(call.change), len("".join(call.statements))),
    )
    return tuple(
        replace(
            call,
            before=before,
            stumbles=_crashes_by_accident(before, runner.subject.root),
        )
        for call, before in zip(calls, run_calls(calls, (), runner), strict=True)
        if before != Outcome()
    )


def vary(call: Variation) -> tuple[Variation, ...]:
    """Return a call, and the same with a value near its own in the place of one literal.

    Literals take turns. Those of the call itself come before those of its set-up.
    """
    tree = parse("\n".join(call.statements))
    literals = sorted(
        (node for node in ast.walk(tree) if isinstance(node, ast.expr) and _near(node)),
        key=lambda node: -node.lineno,
    )
    variations = {call.statements: call}
    for turn in zip_longest(*map(_near, literals)):
        for node, near in zip(literals, turn, strict=True):
            if near is not None and len(variations) <= _VARIATIONS:
                # The first field of a literal is its value, or its elements.
                (field, before), *_ = ast.iter_fields(node)
                old = code_of(node)
                setattr(node, field, near)
                new = tuple(map(code_of, tree.body))
                change = f"{code_of(node)} instead of {old}"
                variations.setdefault(new, replace(call, statements=new, change=change))
                setattr(node, field, before)
    return tuple(variations.values())


def _near(node: ast.expr) -> list[object]:
    """Return what a literal may have instead: a value of its type, or fewer elements."""
    elements, value = getattr(node, "elts", ()), getattr(node, "value", None)
    near: list[object] = [*filter(None, (elements[:-1], elements[1:]))]
    if isinstance(value, int | float):
        near = [type(value)(n) for n in (value + 1, 0, -value, 10 * value, value - 1)]
    if isinstance(value, str | bytes):
        near = [value[1:], value[:-1], value * 2]
    if isinstance(value, str):
        near = [value.translate(_DIGITS), *near, value.swapcase(), f" {value}"]
    return near


def run_calls(
    calls: Sequence[Variation], changes: tuple[FileChange, ...], runner: Runner
) -> tuple[Outcome, ...]:
    """Return what each call gives on a tree, if it is the same twice.

    Raises:
        SubjectProblem, SandboxProblem: nothing can be run.
    """
    statements = [line for call in calls for line in 2 * call.statements]
    observed = run_statements(runner, statements, changes).observed if calls else ()
    # Of what comes after the end of the process nothing is known.
    results = chain(observed, repeat(StatementResult()))
    outcomes = []
    for call in calls:
        size = len(call.statements)
        first, second = (_outcome([*islice(results, size)]) for _ in range(2))
        outcomes.append(first if first == second else Outcome())
    return tuple(outcomes)


def _outcome(results: Sequence[StatementResult]) -> Outcome:
    """Return what a call gives; nothing where its set-up fails, as with impossible values."""
    *setup, last = results
    if any(result.raised for result in setup):
        return Outcome()
    if raised := last.raised:
        frame = next(reversed(raised.frames), None)
        return Outcome(
            raised=raised.type, message=ADDRESS.sub("0x", raised.message), frame=frame
        )
    text = last.value.repr if last.value else ""
    return Outcome(text=text if is_steady(text) else "")


def _crashes_by_accident(before: Outcome, root: str) -> bool:
    """Say whether the project's code raised by accident: at a line without raise or assert."""
    frame = before.frame
    if not (frame and frame.project):
        return False
    line = getline(f"{root}/{frame.path}", frame.line)
    return bool(line) and not _MEANT.search(line)


# -- what they show ----------------------------------------------------------------------------


def find_remarks(compared: Sequence[Rank], calls: Sequence[Variation]) -> dict[str, Note]:
    """Return what variations show of patches, by the name of each.

    One that does on all of them what the unpatched code does, unlike another patch, may handle the
    reported input alone. It does where it raises the very same exception for a variation at which
    that code crashes by accident, and a patch that breaks nothing gives a value, not the same one
    everywhere.
    """
    rows = [row for row in _rows(compared, calls) if row[0].change]
    remarks = {
        one.name: _AS_UNPATCHED
        for one in compared
        if all(given[one.name] == call.before for call, given in rows)
    }
    if len(remarks) == len(compared):
        remarks = {}
    stumbling = [row for row in rows if row[0].stumbles]
    right = [
        one.name
        for one in compared
        if not one.result.regressions
        and len({given[one.name].text for _, given in stumbling} - {""}) > 1
    ]
    for call, given in reversed(stumbling):  # of several calls the first is shown
        if any(given[name].text for name in right):
            note = special_note(f"{call.statements[-1]} still raises {call.before.raised}")
            remarks |= {name: note for name in given if given[name] == call.before}
    return remarks


def find_difference(ranks: Sequence[Rank], calls: Sequence[Variation]) -> Telling | None:
    """Return the call that gives the most different results on patches, None for none.

    Of several it is the smallest.
    """
    tellings = (
        _telling(call, given)
        for call, given in _rows(ranks, calls)
        if len(_gives(given)) > 1 and Outcome() not in given.values()
    )
    # Of as many results, one without a patch and on one, too, is one more on patches.
    return max(
        tellings, key=lambda it: (len(it.gives), len(it.gives[0].patches)), default=None
    )


def find_values(
    ranks: Sequence[Rank], calls: Sequence[Variation], tests: Iterable[JudgedTest]
) -> tuple[Telling, ...]:
    """Return what the calls of tests give that only say what is wrong; it decides nothing."""
    weak = {judged.test.id for judged in tests if judged.test.oracle.kind in WEAK}
    return tuple(
        _telling(call, given)
        for call, given in _rows(ranks, calls)
        if call.test in weak and not call.change and _gives(given)
    )


def _telling(call: Variation, given: Mapping[str, Outcome]) -> Telling:
    """Return what a call gives without a patch and on patches."""
    *setup, expression = call.statements
    return Telling(
        test=call.test,
        setup=tuple(setup),
        expression=expression,
        gives=_gives({UNPATCHED: call.before, **given}),
        change=call.change,
    )


def _gives(given: Mapping[str, Outcome]) -> tuple[Given, ...]:
    """Return the different results, each with the names of the patches that give it."""
    names: dict[tuple[str, str], list[str]] = {}
    for name, outcome in given.items():
        if outcome != Outcome():
            names.setdefault((outcome.text, outcome.raised), []).append(name)
    return tuple(
        Given(patches=tuple(alike), text=text, raised=raised)
        for (text, raised), alike in names.items()
    )


def _rows(
    ranks: Sequence[Rank], calls: Iterable[Variation]
) -> list[tuple[Variation, dict[str, Outcome]]]:
    """Return each call with what it gives on the patches where it was run, by their names."""
    tried = [one for one in ranks if one.result.outcomes]
    return [
        (call, {one.name: one.result.outcomes[number] for one in tried})
        for number, call in enumerate(calls)
    ]
