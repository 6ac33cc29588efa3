"""What a report complains of, and what it does not."""

from __future__ import annotations

import pytest

from pytest_brt.execute.engine import Engine
from pytest_brt.types import COUNTS, OracleKind
from tests.reproduce.replay.project import attempt, candidates


def found(engine: Engine, report: str) -> list[tuple[str, str, float]]:
    """Return kind, last line and confidence of each candidate."""
    made = attempt(engine, f"Something is off\n\n{report}")
    return [
        (
            item.test.oracle.kind.value,
            (item.test.source or "").rstrip().split("\n")[-1].strip(),
            item.judgement.confidence,
        )
        for item in candidates(made)
    ]


def code(lines: str) -> str:
    return f"```python\nfrom pkg.more import *\n{lines}\n```\n\n"


TRACEBACK = (
    "```\nTraceback (most recent call last):\n"
    '  File "x.py", line 2, in <module>\n    match("1")\n'
    "pkg.more.Mismatch: expected identifier, found 1\n```\n"
)


def test_words_of_a_message_are_not_the_reporters(engine: Engine) -> None:
    said = "It raises `Mismatch: expected identifier`:\n\n"
    ((kind, last, confidence),) = found(engine, code('match("1")') + said + TRACEBACK)
    assert (kind, last) == ("no-raise", 'match("1")')
    assert confidence > 0.7


@pytest.mark.parametrize(
    ("words", "counts"),
    [
        ("It raises Mismatch.\n", False),
        ("I get `Mismatch: expected identifier, found 1`.\n", True),
        ("The class Mismatch is in another module.\n", False),
    ],
)
def test_an_exception_need_not_be_called_error(engine: Engine, words: str, counts: bool) -> None:
    ((kind, _, confidence),) = found(engine, code('match("1")') + words)
    assert kind == "no-raise"
    assert (confidence >= COUNTS) is counts


@pytest.mark.parametrize(
    ("call", "words"),
    [
        ('read("app.cfg")', "This should give the content.\n"),
        ("mapping()", "It gives strange errors.\n"),
    ],
)
def test_what_is_not_the_bug_makes_no_test(engine: Engine, call: str, words: str) -> None:
    assert found(engine, code(call) + words) == []


@pytest.mark.parametrize(
    ("call", "words"),
    [
        ('read("app.cfg")', "It raises FileNotFoundError, but should return an empty string.\n"),
        ("mapping()", "AttributeError: module 'collections' has no attribute 'Mapping'\n"),
    ],
)
def test_it_is_where_the_report_says_so(engine: Engine, call: str, words: str) -> None:
    assert [kind for kind, _, _ in found(engine, code(call) + words)] == ["no-raise"]


def test_code_that_behaves_is_not_forbidden_to_raise(engine: Engine) -> None:
    report = code('match("1")') + TRACEBACK + "\nHowever the following code behaves correctly:\n\n"
    lasts = [last for _, last, _ in found(engine, report + code('match("x")'))]
    assert lasts == ['match("1")']


def test_a_result_that_should_be_an_exception_is_not_forbidden_too(engine: Engine) -> None:
    report = "```python\n>>> from pkg.core import check\n>>> check(-1)\n-1\n```\n\n"
    kinds = [kind for kind, _, _ in found(engine, f"{report}It should raise `ValueError`.\n")]
    assert kinds == ["must-raise"]


@pytest.mark.parametrize(
    ("report", "last"),
    [
        # What shows nothing now should give something.
        (code("nothing(3)") + "It should return `3`.\n", "assert nothing(3) == 3"),
        # An object that looks like a list is none.
        ("`pair(1)` should be `[1]`.\n", 'assert repr(pair(1)) == "[1]"'),
        # The same numbers in another order are another date, and another list.
        (
            "`date(2, 1, 2020)` returns `'2020-02-01'`, it should return `'2020-01-02'`.\n",
            "assert date(2, 1, 2020) == '2020-01-02'",
        ),
        # A literal with commas and words in it is whole.
        ("`date(2, 1, 2020)` should return '1, 2 and 2020' now.\n",
         "assert date(2, 1, 2020) == '1, 2 and 2020'"),
    ],
)  # fmt: skip
def test_what_should_come_out(engine: Engine, report: str, last: str) -> None:
    assert last in [line for _, line, _ in found(engine, report)]


def test_what_is_set_for_all_belongs_to_the_set_up(engine: Engine) -> None:
    """On this tree the result is the same without it, and with the right fix it is not."""
    made = attempt(
        engine,
        "scaled() is off\n\n"
        + code("Scale.set_by(3)\nbox = Pair(1)\nbox.value = 2\nscaled(2)  # gives 3, should be 7"),
    )
    (wanted,) = [it for it in candidates(made) if it.test.oracle.kind is OracleKind.EQUALS]
    source = wanted.test.source or ""
    assert "    Scale.set_by(3)\n    assert scaled(2) == 7\n" in source
    assert "Pair" not in source


def test_a_value_that_is_expected_on_a_condition_is_not_that_of_what_is_shown(
    engine: Engine,
) -> None:
    session = (
        "```python\n>>> from pkg.core import double\n>>> double(1)\n2\n>>> double(2)\n5\n```\n\n"
    )
    report = "Not sure if it is wanted. `double` returns 5 for small numbers.\n\n" + session
    shown = [last for _, last, _ in found(engine, report + "I would expect 5 after 3.\n")]
    assert shown == ["assert double(2) != 5"]


def test_a_crash_where_the_report_shows_a_value_is_another_matter(engine: Engine) -> None:
    session = "```python\n>>> from pkg.more import match\n>>> match('a')\n'a'\n```\n\n"
    assert found(engine, session + "I would expect something else.\n") == []


def test_set_up_of_a_wrong_value_is_kept_whole(engine: Engine) -> None:
    """What is without effect may be what the report is about."""
    fills = "\n".join(f"box.fill({number})" for number in range(12))
    shown = f"from pkg.core import Box, render\nbox = Box(3)\n{fills}\nrender(box)"
    report = f"fill() is off\n\n```python\n{shown}\n```\n\ngives `[[11]]`.\n"
    (best, *_) = candidates(attempt(engine, report))
    assert (best.test.source or "").count("box.fill(") == 12


def test_a_stated_value_above_the_session_is_asked_for_second(
    engine: Engine,
) -> None:
    session = (
        "`double(2)` should be `4`:\n\n```\n>>> from pkg import double\n>>> double(2)\n5\n```\n"
    )
    assert [(last, number >= COUNTS) for _, last, number in found(engine, session)] == [
        ("assert double(2) != 5", False),
        ("assert double(2) == 4", False),
    ]
