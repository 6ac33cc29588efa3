"""``pytest-brt review``: a person says which tests, and which values, are right."""

from __future__ import annotations

import argparse
import textwrap
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace

from pytest_brt.errors import UsageProblem
from pytest_brt.oracle.asked_call import call_of, stating
from pytest_brt.pipeline.keeping import find_last_run
from pytest_brt.render.answer import bug_tests, how_sure, reviewed
from pytest_brt.render.causes import run_words
from pytest_brt.render.ranking import given_sentence
from pytest_brt.render.words import count, listed
from pytest_brt.shown import on_a_line, say
from pytest_brt.store import RANKED, WRITTEN, LastRun, load_last_run, save_last_run
from pytest_brt.types import Given, JudgedTest, Review, Telling, Value

#: A result that patches give, which a person may call right: of a bug test that only says what
#: is wrong, or of a call on which the leading patches differ.
_Result = Value | tuple[Telling, Given]


def set_up(parser: argparse.ArgumentParser) -> None:
    """Say what the command takes."""
    parser.description = (
        "Show each bug test of the last run, and say which are right. Patches are then ranked by "
        "the tests that you accepted, or, where you accepted none, by those that you did not "
        "reject: 'pytest --rank-fixes PATH'. The values that patches give where a bug test only "
        "says what is wrong, or where a call tells the leading patches apart, are shown, too: the "
        "one that you accept becomes a test. To rank by a test of your own, give its file: "
        "'pytest --brt-tests FILE --rank-fixes PATH'."
    )
    for option, what in (
        ("--accept", "these are right: bug tests (T1, T2, … or names), values (V1, …)"),
        ("--reject", "these are wrong: bug tests (T1, T2, … or names)"),
    ):
        parser.add_argument(option, metavar="TEST", nargs="+", default=[], help=what)
    parser.set_defaults(command=_review)


def _review(arguments: argparse.Namespace) -> None:
    _, folder, last = find_last_run(arguments.root, WRITTEN, RANKED)
    ranking = load_last_run(folder, RANKED)
    tests = [test for some in bug_tests(last.tests) for test in some]
    if not tests:
        raise UsageProblem("the last run found no bug test: there is nothing to review")
    results = dict(_results(ranking, tests))
    names = {f"T{number}": judged.test.name for number, judged in enumerate(tests, 1)}
    accepted = _chosen(arguments.accept, names, results)
    rejected = _chosen(arguments.reject, names, results)
    reviews = dict.fromkeys(accepted, Review.ACCEPTED) | dict.fromkeys(rejected, Review.REJECTED)
    if not results.keys().isdisjoint(rejected):
        raise UsageProblem("review: a value can be accepted, not rejected (accept another)")
    judged = {
        key: replace(test, review=reviews.get(key, test.review))
        for key, test in zip(names, tests, strict=True)
    }
    for key, test in judged.items():
        if key not in reviews:
            _show(key, test)
    for key, result in results.items():
        say(on_a_line(f"{key}  {_sentence(result, ranking)}"))
    values = [results[key] for key in accepted if key in results]
    for value in values:
        # Another run may have given the short name to another value.
        say(on_a_line(f"accepted: {_sentence(value, ranking)}"))
    made = [_as_test(tests, value) for value in values]
    tests = [*judged.values(), *made]
    rest = (test for test in last.tests if not test.judgement.candidate)
    save_last_run(folder, replace(last, tests=(*tests, *rest)))
    of, tally = count(len(tests), "test"), reviewed(tests)
    say(f"{tally} of {of}" if tally else f"{of}, not reviewed yet (--accept T1 --reject T2)")


def _results(ranking: LastRun, tests: Sequence[JudgedTest]) -> Iterator[tuple[str, _Result]]:
    """Yield the results that patches give in calls of known tests, with their short names.

    Those on which the leading patches differ come first.
    """
    known = {judged.test.id for judged in tests}
    results: dict[object, _Result] = {}
    for telling in ranking.tellings:
        if telling.test in known:
            for given in telling.gives:
                key = (telling.expression, given.text or given.raised)
                results[key] = (telling, given)
    for value in (value for rank in ranking.ranks for value in rank.result.values):
        if value.test in known and not value.raised and value.text != value.before:
            results.setdefault((value.expression, value.text), value)
    for number, result in enumerate(results.values(), 1):
        yield f"V{number}", result


def _chosen(
    wanted: Sequence[str], names: Mapping[str, str], results: Mapping[str, _Result]
) -> list[str]:
    """Return the short names of what was named.

    Raises:
        UsageProblem: there is no such test or value.
    """
    short = {name: key for key, name in names.items()} | {key: key for key in (*names, *results)}
    for name in wanted:
        if name not in short:
            there_are = ", ".join([*names, *results])
            raise UsageProblem(f"review: no test {name!r} (there are {there_are})")
    return [short[name] for name in wanted]


def _show(key: str, judged: JudgedTest) -> None:
    test, judgement = judged.test, judged.judgement
    state = ", rejected" if judged.review is Review.REJECTED else ""
    say(on_a_line(f"{key}  {test.name}  ({how_sure(judged)}{state})"))
    say(textwrap.indent(textwrap.fill(test.oracle.sentence, 96), "    "))
    if judgement.runs:
        say(f"    now: {run_words(judgement.runs[0])}")
    say(f"\n{textwrap.indent((test.source or '').strip(), '    | ')}\n")


def _sentence(result: _Result, ranking: LastRun) -> str:
    if isinstance(result, Value):
        patches = [rank.name for rank in ranking.ranks if result in rank.result.values]
        return f"{result.expression} gives {result.text} ({listed(patches)})"
    return given_sentence(*result)


def _as_test(tests: Sequence[JudgedTest], result: _Result) -> JudgedTest:
    """Return the test that wants what the user calls right."""
    by_id = {judged.test.id: judged for judged in tests}
    if isinstance(result, Value):
        call = call_of(by_id[result.test].test)
        assert call is not None, "what a value is of has a call"
        given = Given(patches=(), text=result.text)
        return stating(by_id[result.test], call.statements, given)
    telling, given = result
    return stating(by_id[telling.test], (*telling.setup, telling.expression), given)
