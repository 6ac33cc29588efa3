"""Why a report gave no bug test, and what to add to it, in words."""

from __future__ import annotations

from collections.abc import Sequence
from typing import assert_never

from pytest_brt.render.words import count
from pytest_brt.types import Miss
from pytest_brt.types.miss import (
    AlreadyRight,
    CodeInShell,
    CodeLeftOut,
    CodeRead,
    ComplaintUnclear,
    Incomplete,
    Mendable,
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


_NO_CALL = "the report has a traceback, but no Python code that leads to it"
_NO_CODE = (
    "the report has no Python code that could be run (in code fences, indented blocks, '>>>' and "
    "'In [1]:' sessions, and calls in sentences)"
)


def miss_sentence(miss: Miss) -> str:
    """Return why a report gave no bug test, as far as this says it."""
    match miss:
        case NoCode(has_traceback=has_traceback):
            return _NO_CALL if has_traceback else _NO_CODE
        case CodeInShell(line=line):
            return f"the report's code is given to Python by a shell (line {line})"
        case CodeLeftOut():
            return _left_out_words(miss)
        case TooManyStatements(most=most, most_inline=most_inline):
            return f"only the first {most} statements, and {most_inline} in sentences, are run"
        case CodeRead(statements=statements, blocks=blocks):
            places = f"in {count(blocks, 'code block')} and inline" if blocks else "in the text"
            return f"found {count(statements, 'statement')} {places}"
        case UndefinedNames(names=names, of_python_2=of_python_2):
            whose = "only Python 2" if of_python_2 else "neither it nor the project"
            named = ", ".join(names[:_NAMES])
            return f"the report's code uses names that {whose} defines: {named}"
        case StatementEnded(line=line, source=source, said=said, timed_out=timed_out):
            share = ", a third of --brt-timeout" if timed_out else ""
            return f"line {line}: {said}{share}: {source!r}"
        case StatementRaised():
            return _raised_words(miss)
        case PassingTests(tests=tests):
            return (
                f"passing on this tree: {count(tests, 'test')} made from the report (is this the "
                "version that the report is about?)"
            )
        case OwnTestPasses() | OwnTestUnused():
            return _own_test_words(miss)
        case _:
            return _unused_words(miss)


def _left_out_words(miss: CodeLeftOut) -> str:
    if miss.end_line > miss.line:
        lines = f"lines {miss.line} to {miss.end_line} of the report are not Python 3 and were"
    else:
        lines = f"line {miss.line} of the report is not Python 3 and was"
    return f"{lines} left out: {miss.code!r}"


def _own_test_words(miss: OwnTestPasses | OwnTestUnused) -> str:
    if isinstance(miss, OwnTestPasses):
        return f"the report's own test {miss.name} passes on this tree"
    why = miss.cause.text
    return f"the report's own test {miss.name} was of no use: {why}"


def _raised_words(miss: StatementRaised) -> str:
    error = f"{miss.exception}: {miss.message}"
    return f"line {miss.line}: {miss.source!r} raises {error}"


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


def miss_advice(miss: Mendable) -> str:
    """Return what to do about a miss."""
    match miss:
        case StatementRaised():
            return _advice_on_exception(miss)
        case UndefinedNames(of_python_2=True):
            return "write the report's code for Python 3"
        case _:
            return f"add to the report {_lacking(miss)}"


def _advice_on_exception(miss: StatementRaised) -> str:
    match miss.exception:
        case "ModuleNotFoundError":
            return (
                "install it for the Python that runs the project's tests, or choose another one: "
                "--brt-python"
            )
        case "ImportError" | "NameError":
            return "check the name, and that this is the version the report is about"
        case _:
            return "add to the report that this is wrong, or what the statement needs to run"


def _lacking(miss: Incomplete) -> str:
    """Return what a report lacks."""
    match miss:
        case NoCode(has_traceback=has_traceback):
            gives = "" if has_traceback else " what they give (or the traceback),"
            return f"a few lines of Python that show the bug,{gives} and what they should give"
        case CodeInShell():
            return "the code in a block of its own, without the command around it"
        case CodeLeftOut():
            return "what these lines are in Python 3"
        case UndefinedNames():
            return "their imports or definitions"
        case NothingWrong():
            return "the right value, as in 'should return 3' or 'Expected: 3'"
        case ComplaintUnclear():
            return (
                "the exact wrong output or exception, below the code, or 'Expected:' and the "
                "right value"
            )
        case AlreadyRight():
            return "what is wrong, or check that this is the version it is about"
        case NotComparable():
            return (
                "a call and the value it should return, written as Python shows it: '`f(1)` "
                "should return `2`'"
            )
        case _:
            assert_never(miss)
