"""``pytest-brt review``: a person says which tests, and which values, are right."""

from __future__ import annotations

import argparse
import os
import shlex
import subprocess
import sys
import textwrap
from collections.abc import Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass, field, replace

from pytest_brt.answers import bug_tests
from pytest_brt.codec import content_id
from pytest_brt.errors import UsageProblem
from pytest_brt.oracle.values import stating, weak_assertion
from pytest_brt.rank.telling import saying
from pytest_brt.render.answer import how_sure, reviewed
from pytest_brt.render.causes import run_words
from pytest_brt.render.values import given_sentence
from pytest_brt.render.words import count, listed
from pytest_brt.run.keeping import find_last_run
from pytest_brt.sandbox.workspace import HeldFolder
from pytest_brt.shown import on_a_line, say
from pytest_brt.store import RANKED, WRITTEN, load_last_run, save_last_run
from pytest_brt.syntax.parse import Function, parse
from pytest_brt.types import Given, JudgedTest, Rank, Review, Telling, Value

_ASKED = "accept, reject, edit, skip or quit? [a/r/e/s/q] "
_RIGHT = "which of these values is right? [V1, V2, …, or nothing] "
#: What a call gives that tells patches apart.
_Given = tuple[Telling, Given]
#: What can be said of: a bug test by its place, or a value.
_Named = int | Value | _Given


@dataclass(slots=True)
class _Said:
    """What the user says."""

    reviews: dict[int, Review] = field(default_factory=dict)
    #: Values that are right, of bug tests and of calls that tell patches apart.
    values: list[Value | _Given] = field(default_factory=list)


def set_up(parser: argparse.ArgumentParser) -> None:
    """Say what the command takes."""
    parser.description = (
        "Show each bug test of the last run, and ask whether it is right. Patches are "
        "then ranked by the tests that you accepted, or, where you accepted none, by those that "
        "you did not reject: 'pytest --rank-fixes PATH'. The values that patches give where a bug "
        "test only says what is wrong, or where a call tells the leading patches apart, are "
        "shown, too: the one that you accept becomes a test."
    )
    for option, what in (("--accept", "these are right"), ("--reject", "these are wrong")):
        parser.add_argument(
            option,
            metavar="TEST",
            nargs="+",
            default=[],
            help=f"{what}: bug tests (T1, T2, … or names), values (V1, …)",
        )
    parser.set_defaults(command=_review)


def _review(arguments: argparse.Namespace) -> None:
    _, folder, last = find_last_run(arguments.root, WRITTEN, RANKED)
    ranking = load_last_run(folder, RANKED)
    tests = [test for some in bug_tests(last.tests) for test in some]
    values: list[Value | _Given] = [
        *_values(ranking.ranks, tests),
        *_givens(ranking.tellings, tests),
    ]
    if not tests:
        raise UsageProblem("the last run found no bug test: there is nothing to review")
    known = _known(tests, values)
    said = _said(_chosen(arguments.accept, known), _chosen(arguments.reject, known))
    asked = not (said.reviews or said.values) and sys.stdin.isatty()
    _ask_tests(tests, said, asked=asked)
    _ask_values(values, ranking.ranks, said, asked=asked)
    by_id = {judged.test.id: judged for judged in tests}
    tests += [_as_test(by_id, value) for value in said.values]
    rest = (test for test in last.tests if not test.judgement.candidate)
    save_last_run(folder, replace(last, tests=(*tests, *rest)))
    of, reviews = count(len(tests), "test"), reviewed(tests)
    say(f"{reviews} of {of}" if reviews else f"{of}, not reviewed yet")


def _known(tests: Sequence[JudgedTest], values: Sequence[Value | _Given]) -> dict[str, _Named]:
    """Return what can be named."""
    known: dict[str, _Named] = {judged.test.name: n for n, judged in enumerate(tests)}
    known |= {f"T{number + 1}": number for number in range(len(tests))}
    return known | {f"V{number + 1}": value for number, value in enumerate(values)}


def _chosen(names: Sequence[str], known: Mapping[str, _Named]) -> list[_Named]:
    """Return what was named."""
    unknown = [name for name in names if name not in known]
    if unknown:
        short = [name for name in known if name[:1] in "TV" and name[1:].isdigit()]
        raise UsageProblem(f"review: no test {unknown[0]!r} (there are {', '.join(sorted(short))})")
    return [known[name] for name in names]


def _said(accepted: Sequence[_Named], rejected: Sequence[_Named]) -> _Said:
    """Return what was said on the command line.

    Raises:
        UsageProblem: a value is rejected, which says nothing.
    """
    said = _Said()
    for named, is_right in [(n, True) for n in accepted] + [(n, False) for n in rejected]:
        if isinstance(named, int):
            said.reviews[named] = Review.ACCEPTED if is_right else Review.REJECTED
        elif is_right:
            said.values.append(named)
        else:
            raise UsageProblem("review: a value can be accepted, not rejected (accept another)")
    return said


def _ask_tests(tests: list[JudgedTest], said: _Said, *, asked: bool) -> None:
    """Show the bug tests of which nothing was said, and put in their places what is said now."""
    for number, judged in enumerate(tests):
        if number in said.reviews:
            tests[number] = replace(judged, review=said.reviews[number])
        else:
            _show(judged, number, whole=asked)
        if asked:
            answer = _ask(judged)
            if answer is None:
                break
            tests[number] = answer


def _ask_values(
    values: Sequence[Value | _Given], ranks: Sequence[Rank], said: _Said, *, asked: bool
) -> None:
    """Show the values that patches give, and take the one that the user calls right."""
    for number, value in enumerate(values):
        if isinstance(value, Value):
            names = [rank.name for rank in ranks if value in rank.result.values]
            shown = f"{value.expression} gives {value.text} ({listed(names)})"
        else:
            shown = given_sentence(*value)
        say(on_a_line(f"V{number + 1}  {shown}"))
    if not asked or not values:
        return
    try:
        answer = input(_RIGHT).strip().upper()
    except EOFError:
        return
    said.values += [value for n, value in enumerate(values) if answer == f"V{n + 1}"]


def _values(ranks: Sequence[Rank], tests: Sequence[JudgedTest]) -> list[Value]:
    """Return the different values that patches give where a bug test only says what is wrong."""
    known = {judged.test.id for judged in tests if weak_assertion(judged.test) is not None}
    found: dict[tuple[str, str], Value] = {}
    for rank in ranks:
        for value in rank.result.values:
            if value.test in known and not value.raised and value.text != value.before:
                found.setdefault((value.test, value.text), value)
    return list(found.values())


def _givens(tellings: Sequence[Telling], tests: Sequence[JudgedTest]) -> list[_Given]:
    """Return what calls give that tell patches apart, of those that were made from known tests."""
    known = {judged.test.id for judged in tests}
    return [(found, given) for found in tellings if found.test in known for given in found.gives]


def _as_test(by_id: Mapping[str, JudgedTest], value: Value | _Given) -> JudgedTest:
    """Return the test that wants what the user calls right."""
    if isinstance(value, Value):
        return stating(by_id[value.test], value)
    telling, given = value
    return saying(by_id[telling.test], telling, given)


def _answer(question: str) -> str:
    """Return the first letter of what the user answers; "q" at the end of the input."""
    try:
        return input(question).strip().lower()[:1]
    except EOFError:
        return "q"


def _show(judged: JudgedTest, number: int, *, whole: bool) -> None:
    test, judgement = judged.test, judged.judgement
    state = "" if judged.review is Review.OPEN else f", {judged.review}"
    sure = how_sure(judgement.confidence, judgement.measured)
    say(on_a_line(f"T{number + 1}  {test.name}  ({sure}{state})"))
    say(textwrap.indent(textwrap.fill(test.oracle.sentence, 96), "    "))
    if judgement.runs:
        say(f"    now: {run_words(judgement.runs[0])}")
    if whole:
        say(f"\n{textwrap.indent(test.source or '', '    | ')}")


def _ask(judged: JudgedTest) -> JudgedTest | None:
    """Return the test with what the user says about it; None to stop."""
    while True:
        answer = _answer(_ASKED)
        if answer == "q":
            return None
        if answer == "s":
            return judged
        if answer in ("a", "r"):
            return replace(judged, review=Review.ACCEPTED if answer == "a" else Review.REJECTED)
        if answer == "e":
            try:
                return _edited(judged)
            except UsageProblem as problem:
                say(str(problem), error=True)


def _edited(judged: JudgedTest) -> JudgedTest:
    """Return the test as the user's editor left it, accepted."""
    editor = os.environ.get("VISUAL") or os.environ.get("EDITOR") or "vi"
    with closing(HeldFolder()) as folder:
        file = folder.path / "test_edited.py"
        # Half of a character that a text may hold, and no file, is escaped as in Python.
        file.write_text(judged.test.source or "", encoding="utf-8", errors="backslashreplace")
        try:
            subprocess.run([*shlex.split(editor), str(file)], check=True)
            source = file.read_text(encoding="utf-8")
            body = parse(source).body
        except (OSError, subprocess.CalledProcessError) as error:
            raise UsageProblem(f"review: {editor!r} did not work: {error} (set EDITOR)") from error
        except (SyntaxError, UnicodeDecodeError) as error:
            raise UsageProblem(f"review: not Python: {error} (edit it again)") from error
    names = [node.name for node in body if isinstance(node, Function) and node.name[:4] == "test"]
    if "::" not in judged.test.name and judged.test.name not in names:
        if not names:
            raise UsageProblem("review: no function is called test_… (edit it again)")
        judged = replace(judged, test=replace(judged.test, name=names[0]))
    test = replace(judged.test, source=source, id=content_id(judged.test.path, source))
    return replace(judged, test=test, review=Review.ACCEPTED)
