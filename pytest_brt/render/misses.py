"""Why a report gave no bug test, and what to add to it, in words."""

from __future__ import annotations

from collections.abc import Sequence
from typing import assert_never

from pytest_brt.render.causes import cause_words
from pytest_brt.types import Miss
from pytest_brt.types.miss import (
    AlreadyRight,
    CodeLeftOut,
    CodeRead,
    CommandCrashes,
    ComplaintUnclear,
    NeedsMore,
    NoCode,
    NotComparable,
    NothingWrong,
    OwnTestPasses,
    OwnTestUnused,
    PassingTests,
    StatedValue,
    StatementEnded,
    StatementRaised,
    TooManyStatements,
    UndefinedNames,
)

#: Names and values that are told.
_NAMES, _VALUES = 8, 4


def miss_sentence(miss: Miss) -> str:
    """Return why a report gave no bug test, as far as this says it."""
    match miss:
        case NoCode():
            return (
                "the report has no Python code that could be read (in code fences, indented "
                "blocks, '>>>' and 'In [1]:' sessions, and inline code)"
            )
        case CodeLeftOut():
            return _left_out_words(miss)
        case TooManyStatements(most=most, most_inline=most_inline):
            return f"only the first {most} statements, and {most_inline} in sentences, are run"
        case CommandCrashes(command=command, exception=exception):
            return (
                f"`{command}` ends in {exception} on this tree, which the report does not mention"
            )
        case CodeRead(statements=statements, blocks=blocks):
            places = f"in {blocks} code block{'s' * (blocks != 1)} and inline"
            found = f"found {statements} statement{'s' * (statements != 1)}"
            return f"{found} {places if blocks else 'in the text'}"
        case UndefinedNames(names=names):
            return (
                "the report's code uses names that neither it nor the project defines: "
                f"{', '.join(names[:_NAMES])} (add their imports or definitions to the report)"
            )
        case StatementEnded(line=line, source=source, said=said, timed_out=timed_out):
            share = ", a third of --brt-timeout" if timed_out else ""
            return f"line {line}: {said}{share}: {source!r}"
        case StatementRaised():
            return _raised_words(miss)
        case PassingTests(tests=tests):
            made = "1 test" if tests == 1 else f"{tests} tests"
            return (
                f"passing on this tree: {made} made from the report (is this the version that the "
                "report is about?)"
            )
        case OwnTestPasses(name=name):
            return f"the report's own test {name} passes on this tree"
        case OwnTestUnused(name=name, cause=cause):
            return f"the report's own test {name} was of no use: {cause_words(cause, None)}"
        case _:
            return _unused_words(miss)


def _left_out_words(miss: CodeLeftOut) -> str:
    why = "of no use without the lines left out above" if miss.orphaned else "not Python"
    if miss.end_line > miss.line:
        lines = f"lines {miss.line} to {miss.end_line} of the report are {why} and were"
    else:
        lines = f"line {miss.line} of the report is {why} and was"
    return f"{lines} left out: {miss.code!r}"


def _raised_words(miss: StatementRaised) -> str:
    advice = ""
    if miss.exception == "ModuleNotFoundError":
        advice = (
            " (install it where the project's tests run, or choose another interpreter: "
            "--brt-python)"
        )
    error = f"{miss.exception}: {miss.message}"
    return f"line {miss.line}: {miss.source!r} raises {error}{advice}"


def _unused_words(miss: NothingWrong | ComplaintUnclear | AlreadyRight | NotComparable) -> str:
    match miss:
        case NothingWrong():
            return "the code does what the report shows, but the report does not say what is wrong"
        case ComplaintUnclear():
            return (
                "it is unclear which result of the report's code is wrong, and what the right one "
                "is"
            )
        case AlreadyRight(values=values):
            return f"the code already gives what the report expects: {_listed(values)}"
        case NotComparable(values=values):
            return (
                "could not compare what the code gives with what the report expects: "
                f"{_listed(values)}"
            )
        case _:
            assert_never(miss)


def _listed(values: Sequence[StatedValue]) -> str:
    return ", ".join(f"{value.text!r} (line {value.line})" for value in values[:_VALUES])


def miss_advice(miss: NeedsMore) -> str:
    """Return what to add to a report."""
    match miss:
        case NoCode():
            what = (
                "a few lines of Python that show the bug, what they give (or the traceback), and "
                "what they should give"
            )
        case NothingWrong():
            what = "the right value, as in 'should return 3' or 'Expected: 3'"
        case ComplaintUnclear():
            what = (
                "the exact wrong output or exception, below the code, or 'Expected:' and the "
                "right value"
            )
        case AlreadyRight():
            what = "what is wrong, or check that this is the version it is about"
        case NotComparable():
            what = (
                "a call and the value it should return, written as Python shows it: '`f(1)` "
                "should return `2`'"
            )
        case _:
            assert_never(miss)
    return f"add to the report {what}"
