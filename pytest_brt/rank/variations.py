"""Variations: the call of a bug test with one literal changed, and what it gives on each patch.

They tell apart patches that pass the same tests, and show a patch that handles the reported input
alone: such a one still does on other inputs of its kind what the unpatched code does.
"""

from __future__ import annotations

import ast
import re
import time
from collections.abc import Collection, Iterable, Mapping, Sequence
from copy import deepcopy
from dataclasses import dataclass, field, replace
from itertools import chain, groupby, islice
from pathlib import Path

from pytest_brt.pysource.parse import covers, is_constant, parse_or_empty
from pytest_brt.rank.remarks import SPECIAL, special_note
from pytest_brt.report.match import is_steady
from pytest_brt.sandbox.events import StatementResult
from pytest_brt.sandbox.run_tests import Runner
from pytest_brt.sandbox.statements import Script, run_statements
from pytest_brt.types import (
    CandidateTest,
    FileChange,
    Frame,
    Given,
    JudgedTest,
    Note,
    PatchResult,
    Rank,
    Telling,
    tied,
)

#: Patches that are compared, bug tests whose calls are varied, variations of each call, and calls
#: that are run again before it is said that patches differ on one.
_PATCHES, _TESTS, _VARIATIONS, _AGAIN = 8, 6, 12, 3
#: Share of the time limit that one statement gets: what takes longer is no small call.
_SHARE = 1 / 12
#: Characters of a result.
_LONGEST = 500
#: What patches change, by their names.
Changes = Mapping[str, tuple[FileChange, ...]]


@dataclass(frozen=True, slots=True, kw_only=True)
class Call:
    """An expression, with the statements that must run before it."""

    setup: tuple[str, ...]
    expression: str

    @property
    def statements(self) -> tuple[str, ...]:
        """All of it, in order."""
        return (*self.setup, self.expression)


@dataclass(frozen=True, slots=True, kw_only=True)
class Outcome:
    """What a call gives: a value as Python shows it, or a message and the exception's type."""

    text: str
    raised: str = ""
    #: Where it was raised, if in the project.
    frame: Frame | None = field(default=None, compare=False)


@dataclass(frozen=True, slots=True, kw_only=True)
class TriedCall:
    """A call, and what it gives on trees; None where that cannot be told or compared."""

    judged: JudgedTest
    call: Call
    #: It is a variation, and not the call of the test itself.
    is_varied: bool
    #: By the name of the patch; "" is the unpatched tree.
    given: Mapping[str, Outcome | None]

    @property
    def before(self) -> Outcome | None:
        """What it gives on the unpatched tree."""
        return self.given[""]

    def values(self, name: str) -> list[Outcome]:
        """Return the value that it gives on a patch, nothing where it gives none."""
        outcome = self.given.get(name)
        return [outcome] if outcome and not outcome.raised else []


# -- the calls ---------------------------------------------------------------------------------


def call_of(test: CandidateTest) -> Call | None:
    """Return what a test asks about: its set-up, and the expression that its last line looks at.

    None for methods, for tests with fixtures or marks, and for those that end in something else.
    """
    tree = parse_or_empty(test.source or "")
    functions = (node for node in tree.body if isinstance(node, ast.FunctionDef))
    function = next((node for node in functions if node.name == test.name), None)
    if function is None or function.decorator_list or ast.unparse(function.args):
        return None
    above = [n for n in tree.body if not getattr(n, "name", "").lower().startswith("test")]
    body = [node for node in function.body if not is_constant(node)] or function.body
    last = body[-1]
    while isinstance(last, ast.With | ast.Try):
        last = last.body[-1]
    if not isinstance(last, ast.Assert | ast.Expr) or is_constant(last):
        return None
    asked = last.test if isinstance(last, ast.Assert) else last.value
    if isinstance(asked, ast.Compare):
        asked = asked.left
    setup = tuple(map(ast.unparse, [*above, *body[:-1]]))
    return Call(setup=setup, expression=ast.unparse(asked))


def variations(call: Call) -> tuple[Call, ...]:
    """Return calls in which one literal has a value near its own, each literal in its turn.

    Those of the call itself come before those of its set-up.
    """
    tree = parse_or_empty("\n".join(call.statements))
    changes = [
        (turn, -getattr(node, "lineno", 0), place, value)
        for place, node in enumerate(ast.walk(tree))
        for turn, value in enumerate(_near(node))
    ]
    calls: dict[Call, None] = {}
    for *_, place, value in sorted(changes, key=lambda change: change[:3]):
        copied = deepcopy(tree)
        node = list(ast.walk(copied))[place]
        setattr(node, "value" if isinstance(node, ast.Constant) else "elts", value)
        *setup, expression = map(ast.unparse, copied.body)
        calls[Call(setup=tuple(setup), expression=expression)] = None
    calls.pop(call, None)
    return tuple(islice(calls, _VARIATIONS))


def _near(node: ast.AST) -> Sequence[object]:
    """Return what may stand in the place of a literal: values of its type, fewer elements."""
    if isinstance(node, ast.List | ast.Tuple | ast.Set):
        shorter = [[one for one in node.elts if one is not left] for left in node.elts]
        return [elements for elements in shorter if elements]
    value = node.value if isinstance(node, ast.Constant) else None
    if isinstance(value, bool):
        return [not value]
    if isinstance(value, int | float):
        near = (value + 1, 0, -value, 10 * value, value / 2, value - 1)
        return [type(value)(other) for other in near]
    if isinstance(value, bytes):
        return [text.encode("latin-1", "replace") for text in _texts_near(value.decode("latin-1"))]
    return _texts_near(value) if isinstance(value, str) else []


def _texts_near(text: str) -> list[str]:
    """Return texts made of one: with other digits, without a part, doubled, in other letters."""
    digits = re.sub("[0-9]", lambda match: str((int(match[0]) + 1) % 10), text)
    fewer = [text.partition(" ")[2], text.rpartition(" ")[0], text[1:], text[:-1]]
    return [digits, *fewer, text * 2, text.upper(), f" {text}", text[::-1]]


# -- what they give ----------------------------------------------------------------------------


def comparable(ranks: Sequence[Rank]) -> tuple[Rank, ...]:
    """Return the leading patches, and those that fail no more bug tests than the first one.

    Of those that make the same program only one is there.
    """
    programs: dict[str, Rank] = {}
    for one in ranks:
        is_near = one.total - one.passed <= ranks[0].total - ranks[0].passed
        if one.passed and one.score is not None and (is_near or one in tied(ranks)):
            programs.setdefault(one.result.program, one)
    return tuple(islice(programs.values(), _PATCHES))


def try_calls(
    tests: Iterable[JudgedTest], changes: Changes, runner: Runner, seconds: float
) -> list[TriedCall]:
    """Return what the calls of bug tests and variations of them give without a patch, and on each.

    No patch is begun after so many wall-clock `seconds`; what it gives is not there then.

    Raises:
        SubjectProblem, SandboxProblem: nothing can be run.
    """
    end = time.monotonic() + seconds
    bug_tests = [judged for judged in tests if judged.judgement.candidate]
    bug_tests.sort(key=lambda judged: -judged.judgement.confidence)
    own = islice(((one, call) for one in bug_tests if (call := call_of(one.test))), _TESTS)
    every = [(one, it, it is not call) for one, call in own for it in (call, *variations(call))]
    calls = [call for _, call, _ in every]
    results: dict[str, list[Outcome | None]] = {}
    for name, change in {"": (), **changes}.items():
        if calls and (not name or time.monotonic() < end):
            results[name] = outcomes(calls, change, runner)
    return [
        TriedCall(
            judged=judged,
            call=call,
            is_varied=is_varied,
            given={name: some[place] for name, some in results.items()},
        )
        for place, (judged, call, is_varied) in enumerate(every)
    ]


def outcomes(
    calls: Sequence[Call], changes: tuple[FileChange, ...], runner: Runner
) -> list[Outcome | None]:
    """Return what each call gives on a tree, in a process of their own."""
    statements = tuple(chain.from_iterable(call.statements for call in calls))
    script = Script(statements=statements, changes=changes, statement_share=_SHARE)
    seen = {one.index: one for one in run_statements(runner, script).observed}
    places = iter(range(len(statements)))
    return [_outcome([seen.get(next(places)) for _ in call.statements]) for call in calls]


def _outcome(parts: Sequence[StatementResult | None]) -> Outcome | None:
    """Return what a call gives; None where its set-up fails, as it does for impossible values."""
    *setup, last = parts
    if last is None or any(part is None or part.raised is not None for part in setup):
        return None
    if raised := last.raised:
        frame = raised.frames[-1] if raised.frames and raised.frames[-1].project else None
        return Outcome(text=raised.message, raised=raised.type, frame=frame)
    text = last.value.repr[:_LONGEST] if last.value else ""
    return Outcome(text=text) if is_steady(text) else None


# -- what they show ----------------------------------------------------------------------------


def find_difference(tried: Iterable[TriedCall], changes: Changes, runner: Runner) -> Telling | None:
    """Return the smallest call that gives different results on patches, None for none.

    It is run again, alone: what differs by chance tells nothing.

    Raises:
        SubjectProblem, SandboxProblem: nothing can be run.
    """

    def size(one: TriedCall) -> tuple[object, ...]:
        text = "".join(one.call.statements)
        return (one.is_varied, len(text), text)

    order = sorted(tried, key=size)
    differing = [(one, gives) for one in order if len(gives := _gives(one.given, changes)) > 1]
    for one, gives in differing[:_AGAIN]:
        names = [name for name in changes if name in one.given]
        alone = {name: outcomes([one.call], changes[name], runner)[0] for name in names}
        if _gives(alone, changes) == gives:
            return Telling(
                test=one.judged.test.id,
                setup=one.call.setup,
                expression=one.call.expression,
                gives=gives,
            )
    return None


def _gives(given: Mapping[str, Outcome | None], names: Iterable[str]) -> tuple[Given, ...]:
    """Return what a call gives on patches; nothing where that is not known of one."""
    results: dict[tuple[str, str], list[str]] = {}
    for name in (name for name in names if name in given):
        outcome = given[name]
        if outcome is None:
            return ()
        text = "" if outcome.raised else outcome.text
        results.setdefault((text, outcome.raised), []).append(name)
    return tuple(
        Given(patches=tuple(some), text=text, raised=raised)
        for (text, raised), some in results.items()
    )


def find_remarks(tried: Sequence[TriedCall], sound: Collection[str], root: Path) -> dict[str, Note]:
    """Return what variations show of patches; those that are `sound` break nothing.

    One that does on all of them what the unpatched code does, unlike another patch, may handle the
    reported input alone. It does where it raises the very same exception for a variation at which
    that code stumbles, and a sound patch gives a value, and not the same one for all of them.
    """
    varied = [one for one in tried if one.is_varied and one.before]
    names = [name for name in tried[0].given if name] if tried else []
    changed = [n for n in names if any(one.given[n] not in (None, one.before) for one in varied)]
    remarks: dict[str, Note] = {}
    for name in names if changed else ():
        same = sum(one.given[name] is not None for one in varied)
        if same and name not in changed:
            text = (
                f"it gives what the unpatched code gives on all {same} variations of the bug "
                f"test's call, and {changed[0]} does not"
            )
            remarks[name] = Note(code="as-unpatched", text=text)
    stumbling = [one for one in varied if one.before and _stumbles(one.before.frame, root)]
    for _, some in groupby(stumbling, key=lambda one: one.judged.test.id):
        calls = list(some)
        general = [n for n in sound if len({*chain(*(one.values(n) for one in calls))}) > 1]
        for one in reversed(calls):  # of several calls the first is shown
            if one.before and any(map(one.values, general)):
                note = special_note(f"{one.call.expression} still raises {one.before.raised}")
                remarks |= {name: note for name in names if one.given[name] == one.before}
    return remarks


def _stumbles(frame: Frame | None, root: Path) -> bool:
    """Say whether the project's code raised something at a place, and not by saying so.

    What it does on purpose, with ``raise`` or ``assert``, may be right. Of what is no module of the
    tree, as code that is made of another language, nothing is known.
    """
    path = root / frame.path if frame else root
    if frame is None or path.suffix != ".py" or not path.is_file():
        return False
    nodes = ast.walk(parse_or_empty(path.read_bytes()))
    meant = (node for node in nodes if isinstance(node, ast.Raise | ast.Assert))
    return not any(covers(node, frame.line) for node in meant)


def with_remark(result: PatchResult, note: Note | None) -> PatchResult:
    """Return the result of a patch with what variations show of it."""
    if note is None or (result.special and note.code == SPECIAL):
        return result
    special = result.special or ((note.text,) if note.code == SPECIAL else ())
    return replace(result, special=special, remarks=(*result.remarks, note))
