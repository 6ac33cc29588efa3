"""``pytest-brt review``: a person says which tests, and which values, are right."""

from __future__ import annotations

import argparse
from collections.abc import Iterator
from dataclasses import replace

from pytest_brt.errors import UsageProblem
from pytest_brt.oracle.asked_call import stating
from pytest_brt.oracle.judge import accepted
from pytest_brt.rank.variations import existing_test
from pytest_brt.render.forms import filled
from pytest_brt.render.words import code_words, given_words
from pytest_brt.shown import say
from pytest_brt.store import LastRun, find_last_run, save_last_run
from pytest_brt.types import UNPATCHED, JudgedTest, Review, bug_tests


def set_up(parser: argparse.ArgumentParser, _: str) -> None:
    """Say what the command takes."""
    parser.description = (
        "Show each bug test of the last run, and say which are right. Patches are then ranked by "
        "the tests that you accepted, or, where you accepted none, by those that you did not "
        "reject: 'pytest --rank-fixes PATH'. What the leading patches give in a call that tells "
        "them apart is shown, too: the value that you accept becomes a test. To rank by a test of "
        "your own, give its file: 'pytest --brt-tests FILE --rank-fixes PATH'."
    )
    about = "these are right: bug tests (T1, T2, …), values (V1, …)"
    parser.add_argument("--accept", metavar="TEST", nargs="+", default=[], help=about)
    about = "these are wrong: bug tests (T1, T2, …)"
    parser.add_argument("--reject", metavar="TEST", nargs="+", default=[], help=about)
    parser.set_defaults(command=_review)


def _review(arguments: argparse.Namespace) -> None:
    folder, last = find_last_run(arguments.root)
    known = (*last.tests, *last.brought)
    shown = bug_tests(known)
    # What was rejected is no bug test any more once its report was read again.
    shown += [one for one in known if one.review is Review.REJECTED and one not in shown]
    tests = {f"T{number}": test for number, test in enumerate(shown, 1)}
    values = {f"V{number}": value for number, value in enumerate(_values(last), 1)}
    keys = [*tests, *values]
    if not keys:
        raise UsageProblem("the last run found no bug test: there is nothing to review")
    said = dict.fromkeys(arguments.accept, Review.ACCEPTED)
    said |= dict.fromkeys(arguments.reject, Review.REJECTED)
    for key in said:
        if key not in keys:
            raise UsageProblem(f"review: no test {key!r} (there are {', '.join(keys)})")
    judged = [
        replace(test, review=said.get(key, test.review)) for key, test in tests.items()
    ]
    judged += [
        test for key, (_, test) in values.items() if said.get(key) is Review.ACCEPTED
    ]
    own = tuple(
        one
        for one in judged
        if one.review is Review.ACCEPTED or not one.test.origin.patches
    )
    brought = tuple(one for one in judged if one not in own)
    save_last_run(folder, replace(last, tests=own, brought=brought))
    words = filled(
        "review.txt.jinja", tests=tests, values=values, said=said, judged=judged, keys=keys
    )
    say(words.rstrip())


def _values(last: LastRun) -> Iterator[tuple[str, JudgedTest]]:
    """Yield what leading patches give in calls, in words, and a test that wants it.

    What the unpatched tree gives, too, is none: its test would pass there, and tell nothing.
    """
    tests = {judged.test.id: judged.test for judged in (*last.tests, *last.brought)}
    for telling in last.tellings:
        test = tests.get(telling.test) or existing_test(telling.test)
        code = code_words(telling)
        for given, words in zip(telling.gives, given_words(telling.gives), strict=True):
            if UNPATCHED not in given.patches:
                wanting = stating(test, (*telling.setup, telling.expression), given)
                issue = last.ranked or test.issue
                yield f"`{code}` {words}", accepted(replace(wanting, issue=issue))
