"""Which bug tests an existing test contradicts, when a patch makes it fail.

A suite may assert the very bug; then what mends it breaks existing tests, and nothing that runs
says which of the tests are wrong. The reporter may have said it.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Protocol

from pytest_brt.code.assertions import Assertion, Claim, Relation, contradict, read_assertion
from pytest_brt.types import (
    Author,
    Contradiction,
    JudgedTest,
    OracleKind,
    Raised,
    Regression,
    TestRun,
)

#: What the reporter says of such tests is what should happen, and not only what should not.
_STATED = frozenset({OracleKind.EQUALS, OracleKind.MUST_RAISE, OracleKind.EXIT_STATUS})
#: It is what should not happen, of the very call, where words of the report are quoted for it.
_COMPLAINTS = frozenset({OracleKind.NO_RAISE, OracleKind.GONE})
#: Bases of every exception.
_ANY = frozenset({"Exception", "BaseException", "object"})
#: Folders of a project in which its packages usually lie.
_HOMES = ("", "src", "lib")


class _Test(Protocol):
    """An existing test, as far as its place is asked for."""

    @property
    def path(self) -> str:
        """The file."""
        ...

    @property
    def ran(self) -> Mapping[str, int]:
        """By path, the lines of files that it executes."""
        ...


def with_contradictions(
    regression: Regression,
    test: _Test,
    runs: Sequence[TestRun],
    source: str,
    tests: Sequence[JudgedTest],
    root: Path,
) -> Regression:
    """Return a regression with what it asserts, and which of the candidates it contradicts.

    `runs` are those of the existing `test` that fail, one for each of its cases, and `source` is
    its file. A bug test is contradicted where every one of them does it.
    """
    found = [_failing(test, run, source, root) for run in runs]
    failing = [one for one in found if one is not None]
    if not failing:
        return regression
    asserts = failing[0].text
    if len(failing) < len(runs):
        return replace(regression, asserts=asserts)
    demands = {
        judged: demand.text
        for judged in tests
        if (demand := _demand(judged, root)) is not None
        and all(
            contradict(one, demand) or _is_same_raise(one, test, demand, judged) for one in failing
        )
    }
    is_settled = any(one.judgement.counts for one in demands) and any(map(_is_stated, demands))
    contradicted = [
        Contradiction(bug_test=judged.test.id, demands=text, is_settled=is_settled)
        for judged, text in demands.items()
    ]
    return replace(regression, asserts=asserts, contradicts=tuple(contradicted))


def _failing(test: _Test, run: TestRun, source: str, root: Path) -> Assertion | None:
    """Return which assertion a run of an existing test ended with; None where that is not known."""
    line = _line_in(test.path, run.raised)
    if not line:
        return None
    case = run.node.partition("[")[2].removesuffix("]")
    return _read(source, line, root, case)


def _demand(judged: JudgedTest, root: Path) -> Assertion | None:
    """Return the assertion with which a bug test fails on the unpatched tree."""
    runs = judged.judgement.runs if judged.judgement.candidate else ()
    line = _line_in(judged.test.path, runs[0].raised) if runs else 0
    source = judged.test.source
    if source is None:
        file = root / judged.test.path
        source = file.read_text("utf-8", "replace") if file.is_file() else ""
    return _read(source, line, root) if line else None


def _is_stated(judged: JudgedTest) -> bool:
    """Say whether a person, or the reporter in words, says what a test demands."""
    oracle = judged.test.oracle
    is_given = judged.test.origin.author is Author.PERSON
    is_quoted = oracle.kind in _COMPLAINTS and bool(oracle.quote)
    return is_given or oracle.kind in _STATED or is_quoted


def _line_in(path: str, raised: Raised | None) -> int:
    """Return the innermost line of a file that an exception came through; 0 for none."""
    frames = raised.frames if raised is not None else ()
    return next((frame.line for frame in reversed(frames) if frame.path == path), 0)


def _read(source: str, line: int, root: Path, case: str = "") -> Assertion | None:
    return read_assertion(source, line, case, lambda dotted: _is_module(root, dotted))


def _is_module(root: Path, dotted: str) -> bool:
    place = dotted.replace(".", "/")
    homes = [root / home / place for home in _HOMES]
    return any(home.is_dir() or home.with_suffix(".py").is_file() for home in homes)


def _is_same_raise(failing: Assertion, test: _Test, demand: Assertion, judged: JudgedTest) -> bool:
    """Say whether a test wants an exception that the bug test calls wrong: of the same statement.

    Their calls may differ in what they pass, if only both come to the line that raises.
    """
    raised = judged.judgement.runs[0].raised if judged.judgement.runs else None
    frame = raised.in_project if raised is not None else None
    if raised is None or frame is None or judged.test.oracle.kind is not OracleKind.NO_RAISE:
        return False
    kinds = {name.rpartition(".")[2] for name in (raised.type, *raised.bases)} - _ANY
    wanted = [c for c in failing.claims if c.relation is Relation.RAISES]
    called = {_called(claim) for claim in demand.claims}
    is_alike = any(claim.other in kinds and _called(claim) in called for claim in wanted)
    # Where the whole suite is run, lines are not watched.
    comes_there = not test.ran or bool(test.ran.get(frame.path, 0) >> frame.line & 1)
    return is_alike and comes_there


def _called(claim: Claim) -> str:
    return claim.subject.partition("(")[0]
