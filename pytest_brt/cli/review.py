"""``pytest-brt review``: a person says which tests, and which values, are right."""

from __future__ import annotations

import argparse
import textwrap
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from functools import partial

from pytest_brt.errors import UsageProblem
from pytest_brt.oracle.asked_call import stating
from pytest_brt.render.answer import bug_tests, how_sure, reviewed
from pytest_brt.render.causes import run_words
from pytest_brt.render.words import call_words, count
from pytest_brt.shown import on_a_line, say
from pytest_brt.store import LastRun, find_last_run, save_last_run
from pytest_brt.types import JudgedTest, Review


def set_up(parser: argparse.ArgumentParser) -> None:
    """Say what the command takes."""
    parser.description = (
        "Show each bug test of the last run, and say which are right. Patches are then ranked by "
        "the tests that you accepted, or, where you accepted none, by those that you did not "
        "reject: 'pytest --rank-fixes PATH'. What the leading patches give in a call that tells "
        "them apart is shown, too: the value that you accept becomes a test. To rank by a test of "
        "your own, give its file: 'pytest --brt-tests FILE --rank-fixes PATH'."
    )
    for option, what in (
        ("--accept", "these are right: bug tests (T1, T2, … or names), values (V1, …)"),
        ("--reject", "these are wrong: bug tests (T1, T2, … or names)"),
    ):
        parser.add_argument(option, metavar="TEST", nargs="+", default=[], help=what)
    parser.set_defaults(command=_review)


def _review(arguments: argparse.Namespace) -> None:
    folder, last = find_last_run(arguments.root)
    tests = [test for some in bug_tests(last.tests) for test in some]
    if not tests:
        raise UsageProblem("the last run found no bug test: there is nothing to review")
    known = {f"T{number}": judged for number, judged in enumerate(tests, 1)}
    results = {f"V{number}": result for number, result in enumerate(_results(last, tests), 1)}
    short = {judged.test.name: key for key, judged in known.items()}
    short |= {key: key for key in (*known, *results)}
    for word in (*arguments.accept, *arguments.reject):
        if word not in short:
            there_are = ", ".join([*known, *results])
            raise UsageProblem(f"review: no test {word!r} (there are {there_are})")
    reviews = {short[word]: Review.ACCEPTED for word in arguments.accept}
    reviews |= {short[word]: Review.REJECTED for word in arguments.reject}
    judged = [replace(one, review=reviews.get(key, one.review)) for key, one in known.items()]
    for key, one in zip(known, judged, strict=True):
        if key not in reviews:
            _show(key, one)
    for key, (words, make) in results.items():
        say(on_a_line(f"{key}  {words}"))
        if reviews.get(key) is Review.ACCEPTED:
            # Another run may have given the short name to another value.
            say(on_a_line(f"accepted: {words}"))
            judged.append(make())
    rest = (test for test in last.tests if not test.judgement.candidate)
    save_last_run(folder, replace(last, tests=(*judged, *rest)))
    of, tally = count(len(judged), "test"), reviewed(judged)
    say(f"{tally} of {of}" if tally else f"{of}, not reviewed yet (--accept T1 --reject T2)")


def _results(
    last: LastRun, tests: Sequence[JudgedTest]
) -> Iterator[tuple[str, Callable[[], JudgedTest]]]:
    """Yield what leading patches give in calls, in words, and what makes a test that wants it."""
    known = {judged.test.id: judged for judged in tests}
    for telling in last.tellings:
        statements = (*telling.setup, telling.expression)
        for given in telling.gives if telling.test in known else ():
            gives = {(given.text, given.raised): given.patches}
            words = call_words(telling.setup, telling.expression, gives)
            yield words, partial(stating, known[telling.test], statements, given)


def _show(key: str, judged: JudgedTest) -> None:
    test, judgement = judged.test, judged.judgement
    state = ", rejected" if judged.review is Review.REJECTED else ""
    say(on_a_line(f"{key}  {test.name}  ({how_sure(judged)}{state})"))
    say(textwrap.indent(textwrap.fill(test.oracle.sentence, 96), "    "))
    if judgement.runs:
        say(f"    now: {run_words(judgement.runs[0])}")
    say(f"\n{textwrap.indent((test.source or '').strip(), '    | ')}\n")
