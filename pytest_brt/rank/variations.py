"""Variations: the call of a bug test with one literal changed, and what it gives on each patch.

They tell apart patches that pass the same tests, and show a patch that handles the reported input
alone: such a one still does on other inputs of its kind what the unpatched code does.
"""

from __future__ import annotations

import ast
import re
import time
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from copy import deepcopy
from dataclasses import dataclass, replace
from itertools import chain, groupby, islice, zip_longest
from pathlib import Path

from pytest_brt.edit.source_text import indented
from pytest_brt.oracle.patch_values import accepted, is_written
from pytest_brt.pysource.parse import (
    IMPORTS,
    Function,
    covers,
    is_constant,
    is_test_class,
    parse_or_empty,
)
from pytest_brt.rank.remarks import SPECIAL, special_note
from pytest_brt.report.match import is_steady
from pytest_brt.sandbox.events import StatementResult
from pytest_brt.sandbox.run_tests import Runner
from pytest_brt.sandbox.statements import Script, run_statements
from pytest_brt.types import (
    CandidateTest,
    FileChange,
    Given,
    JudgedTest,
    Note,
    PatchResult,
    Rank,
    Telling,
    Verdict,
    tied,
)

#: Patches that are compared, bug tests whose calls are varied, variations of each call, and calls
#: that are run again before it is said that patches differ on one.
_PATCHES, _TESTS, _VARIATIONS, _AGAIN = 8, 6, 12, 3
#: Share of the time limit that one statement gets: what takes longer is no small call.
_SHARE = 1 / 12
#: Characters of a result.
_LONGEST = 500
#: The fixture of tests that look at what is printed.
_PRINTED = "capsys"
#: What patches change, by their names.
Changes = Mapping[str, tuple[FileChange, ...]]


@dataclass(frozen=True, slots=True, kw_only=True)
class Call:
    """An expression, or a statement that prints, with the statements that must run before it."""

    setup: tuple[str, ...]
    expression: str
    #: What it prints counts, and not its value.
    prints: bool = False

    @property
    def statements(self) -> tuple[str, ...]:
        """All of it, in order."""
        return (*self.setup, self.expression)


@dataclass(frozen=True, slots=True, kw_only=True)
class Outcome:
    """What a call gives: a text, or an exception."""

    text: str = ""
    #: Type of the exception, "" without one, and its message.
    raised: str = ""
    message: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class TriedCall:
    """A call, and what it gives without a patch and on each; None where that cannot be compared."""

    judged: JudgedTest
    call: Call
    #: It is a variation, and not the call of the test itself.
    is_varied: bool
    before: Outcome | None
    given: Mapping[str, Outcome | None]


# -- the calls ---------------------------------------------------------------------------------


def call_of(test: CandidateTest) -> Call | None:
    """Return what a test asks about: its set-up, and the expression that its last line looks at.

    None for methods, for tests with fixtures or marks, and for those that end in something else.
    """
    tree = parse_or_empty(test.source or "")
    functions = (node for node in tree.body if isinstance(node, ast.FunctionDef))
    function = next((node for node in functions if node.name == test.name), None)
    fixtures = ast.unparse(function.args) if function else ""
    if function is None or function.decorator_list or fixtures not in ("", _PRINTED):
        return None
    body = [node for node in function.body if not is_constant(node)]
    if fixtures:
        # What looks at the output is left out, and so is what throws some of it away.
        body = [node for node in body if _PRINTED not in ast.unparse(node)]
    asked = body[-1] if body and fixtures else _asked(body[-1]) if body else None
    if asked is None:
        return None
    setup = [node for node in tree.body if not _is_test(node)] + body[:-1]
    return Call(
        setup=tuple(map(ast.unparse, setup)),
        expression=ast.unparse(asked),
        prints=bool(fixtures),
    )


def _is_test(node: ast.stmt) -> bool:
    """Say whether a statement is a test, or a class of tests: nothing that others build on."""
    if isinstance(node, ast.ClassDef):
        return is_test_class(node)
    return isinstance(node, Function) and node.name.startswith("test")


def _asked(node: ast.stmt) -> ast.expr | None:
    """Return the expression that a statement compares or runs."""
    if isinstance(node, ast.Assert):
        return node.test.left if isinstance(node.test, ast.Compare) else node.test
    if isinstance(node, ast.With | ast.Try):
        return _asked(node.body[-1])
    return node.value if isinstance(node, ast.Expr) else None


def variations(call: Call) -> tuple[Call, ...]:
    """Return calls in which one literal has a value near its own, each literal in its turn."""
    last = len(call.setup)
    near = [
        [(place, text) for text in texts]
        for place in (last, *range(last))  # the literals of the call itself come first
        for texts in _with_one_changed(call.statements[place])
    ]
    calls: dict[Call, None] = {}
    for place, text in filter(None, chain.from_iterable(zip_longest(*near))):
        lines = [*call.statements]
        lines[place] = text
        calls[replace(call, setup=tuple(lines[:-1]), expression=lines[-1])] = None
    calls.pop(call, None)
    return tuple(islice(calls, _VARIATIONS))


def _with_one_changed(statement: str) -> Iterator[list[str]]:
    """Yield, for each literal of a statement, the statement with others in its place."""
    tree = parse_or_empty(statement)
    if statement.startswith(IMPORTS):
        return
    for place, node in enumerate(ast.walk(tree)):
        texts = []
        for field, value in _near(node):
            copied = deepcopy(tree)
            setattr(list(ast.walk(copied))[place], field, value)
            texts.append(ast.unparse(copied))
        yield texts


def _near(node: ast.AST) -> Iterator[tuple[str, object]]:
    """Yield what may stand in the place of a literal: a field of it, and another value for that."""
    if isinstance(node, ast.Constant):
        yield from (("value", value) for value in _values_near(node.value))
    elif isinstance(node, ast.List | ast.Tuple | ast.Set) and len(node.elts) > 1:
        for place in range(len(node.elts)):
            yield "elts", node.elts[:place] + node.elts[place + 1 :]


def _values_near(value: object) -> Sequence[object]:
    """Return values of the type of a literal that a program may take for another case."""
    if value is None or isinstance(value, bool):
        return [other for other in (True, False, None) if other is not value]
    if isinstance(value, int):
        return [value + 1, 0, -value, 10 * value, 1, -1, value - 1]
    if isinstance(value, float):
        return [value * 10, 0.0, -value, value / 2, value // 1]
    if isinstance(value, bytes):
        return [text.encode("latin-1", "replace") for text in _texts_near(value.decode("latin-1"))]
    return _texts_near(value) if isinstance(value, str) else []


def _texts_near(text: str) -> list[str]:
    """Return texts made of one: with other digits, without a part, doubled, in other letters."""
    digits = re.sub(r"\d", lambda match: str((int(match[0]) + 1) % 10), text)
    words = text.split(" ")
    fewer = [" ".join(words[1:]), " ".join(words[:-1]), text[1:], text[:-1]]
    return [digits, *fewer, "", text * 2, text.upper(), f" {text}", text[::-1]]


# -- what they give ----------------------------------------------------------------------------


def comparable(ranks: Sequence[Rank]) -> tuple[Rank, ...]:
    """Return the leading patches, and those that pass all bug tests which the first one passes.

    Of those that make the same program only one is there.
    """
    passed = [test for test, v in ranks[0].result.verdicts.items() if v is Verdict.PASS]
    leaders = tied(ranks)
    compared: list[Rank] = []
    for one in ranks if passed else ():
        verdicts = one.result.verdicts
        passes = all(verdicts.get(test, Verdict.PASS) is Verdict.PASS for test in passed)
        is_copy = any(other.name in one.copies for other in compared)
        if one.score is not None and not is_copy and (one in leaders or (verdicts and passes)):
            compared.append(one)
    return tuple(compared[:_PATCHES])


def try_calls(
    tests: Iterable[JudgedTest], changes: Changes, runner: Runner, seconds: float
) -> tuple[TriedCall, ...]:
    """Return what the calls of bug tests and variations of them give without a patch, and on each.

    No patch is begun after so many wall-clock `seconds`; what it gives is not there then.

    Raises:
        SubjectProblem, SandboxProblem: nothing can be run.
    """
    end = time.monotonic() + seconds
    bug_tests = sorted(
        (judged for judged in tests if judged.judgement.candidate),
        key=lambda judged: -judged.judgement.confidence,
    )
    own = islice(((one, call) for one in bug_tests if (call := call_of(one.test))), _TESTS)
    every = [(one, it, it is not call) for one, call in own for it in (call, *variations(call))]
    calls = [call for _, call, _ in every]
    before = outcomes(calls, (), runner) if calls else []
    given = {
        name: outcomes(calls, change, runner)
        for name, change in changes.items()
        if calls and time.monotonic() < end
    }
    return tuple(
        TriedCall(
            judged=judged,
            call=call,
            is_varied=is_varied,
            before=before[place],
            given={name: results[place] for name, results in given.items()},
        )
        for place, (judged, call, is_varied) in enumerate(every)
    )


def outcomes(
    calls: Sequence[Call], changes: tuple[FileChange, ...], runner: Runner
) -> list[Outcome | None]:
    """Return what each call gives on a tree; None where that cannot be told or compared."""
    statements = tuple(line for call in calls for line in call.statements)
    script = Script(statements=statements, changes=changes, statement_share=_SHARE)
    seen = {one.index: one for one in run_statements(runner, script).observed}
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


# -- what they show ----------------------------------------------------------------------------


def find_difference(tried: Iterable[TriedCall], changes: Changes, runner: Runner) -> Telling | None:
    """Return the smallest call that gives different results on patches, None for none.

    It is run again, alone: what differs by chance tells nothing.

    Raises:
        SubjectProblem, SandboxProblem: nothing can be run.
    """
    order = sorted(tried, key=lambda one: (one.is_varied, len("".join(one.call.statements))))
    differing = (one for one in order if len(_results(one, changes)) > 1)
    for one in islice(differing, _AGAIN):
        names = [name for name in changes if name in one.given]
        alone = {name: outcomes([one.call], changes[name], runner)[0] for name in names}
        results = _results(replace(one, given=alone), changes)
        if results == _results(one, changes):
            return Telling(
                issue=one.judged.test.issue,
                test=one.judged.test.id,
                setup=one.call.setup,
                expression=one.call.expression,
                prints=one.call.prints,
                gives=tuple(
                    Given(patches=tuple(some), text=text, raised=raised)
                    for (text, raised), some in results.items()
                ),
            )
    return None


def _results(one: TriedCall, names: Iterable[str]) -> dict[tuple[str, str], list[str]]:
    """Return what a call gives, and on which patches; nothing where that is not known of all."""
    results: dict[tuple[str, str], list[str]] = {}
    for name in (name for name in names if name in one.given):
        given = one.given[name]
        if given is None:
            return {}
        results.setdefault((given.text, given.raised), []).append(name)
    return results


def find_remarks(tried: Sequence[TriedCall], sound: Collection[str], root: Path) -> dict[str, Note]:
    """Return what variations show of patches; those that are `sound` break nothing.

    One that does on all of them what the unpatched code does, unlike another patch, may handle the
    reported input alone. That is as good as shown where that code stumbles: see `_special`.
    """
    varied = [one for one in tried if one.is_varied and one.before]
    names = list(tried[0].given) if tried else []
    changed = [n for n in names if any(one.given[n] not in (None, one.before) for one in varied)]
    remarks: dict[str, Note] = {}
    for name in names:
        same = sum(one.given[name] is not None for one in varied)
        if changed and same and name not in changed:
            text = (
                f"it gives what the unpatched code gives on all {same} variations of the bug "
                f"test's call, and {changed[0]} does not"
            )
            remarks[name] = Note(code="as-unpatched", text=text)
    for _, some in groupby(varied, key=lambda one: one.judged.test.id):
        calls = list(some)
        if _stumbles(calls[0].judged, root):
            remarks |= {name: special_note(shown) for name, shown in _special(calls, sound)}
    return remarks


def _special(calls: Sequence[TriedCall], sound: Collection[str]) -> Iterator[tuple[str, str]]:
    """Yield patches that handle the reported input alone, each with a call that shows it.

    Such a one raises the very same exception for a variation as the unpatched code, and a patch
    that is sound gives a value; nor is that the same one for all variations of which that is so.
    """
    failing = [one for one in calls if one.before and one.before.raised]

    def mends(one: TriedCall, name: str) -> bool:
        given = one.given.get(name)
        return given is not None and not given.raised

    general = [
        name for name in sound if len({one.given[name] for one in failing if mends(one, name)}) > 1
    ]
    for name in failing[0].given if failing else ():
        for one in failing:
            if one.given[name] == one.before and any(mends(one, other) for other in general):
                assert one.before is not None, "only such calls are failing ones"
                yield name, f"{one.call.expression} still raises {one.before.raised}"
                break


def _stumbles(judged: JudgedTest, root: Path) -> bool:
    """Say whether the project's code raises what a test fails with, and not by saying so.

    What it does on purpose, with ``raise`` or ``assert``, may be right for other inputs.
    """
    raised = judged.judgement.runs[0].raised if judged.judgement.runs else None
    last = raised.frames[-1] if raised and raised.frames else None
    # Of what is no module of the tree, as code that is made of another language, nothing is known.
    if last is None or not last.project or not (root / last.path).is_file():
        return False
    nodes = ast.walk(parse_or_empty((root / last.path).read_bytes()))
    meant = (node for node in nodes if isinstance(node, ast.Raise | ast.Assert))
    return last.path.endswith(".py") and not any(covers(node, last.line) for node in meant)


def with_remark(result: PatchResult, note: Note | None) -> PatchResult:
    """Return the result of a patch with what variations show of it."""
    if note is None or (result.special and note.code == SPECIAL):
        return result
    special = result.special or ((note.text,) if note.code == SPECIAL else ())
    return replace(result, special=special, remarks=(*result.remarks, note))


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
