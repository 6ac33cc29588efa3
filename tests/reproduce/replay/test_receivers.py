"""Methods that a report names without their object, and objects that it does not make."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from pytest_brt.execute.engine import Engine
from pytest_brt.execute.launch import open_engine
from pytest_brt.execute.row import Limits
from pytest_brt.execute.subject import find_subject
from pytest_brt.issue import read_issue
from pytest_brt.observe.constructions import find_objects, is_construction
from pytest_brt.reading.names import only_called
from pytest_brt.reproduce.replay.run import ReplaySettings, replay
from pytest_brt.types import Attempt, JudgedTest
from tests.reproduce.replay.project import make_project

WORDS = """\
class Speller:
    def __init__(self, ending="es"):
        self.ending = ending

    def plural(self, word):
        return word + self.ending

    @property
    def size(self):
        return len(self.ending)

    @staticmethod
    def upper(word):
        return word.upper()


class Counter:
    def __init__(self, start):
        self.start = start

    def count_up(self, by):
        return self.start - by


class Left:
    def turn(self, degrees):
        return -degrees


class Right:
    def turn(self, degrees):
        return degrees + 1


def speller():
    return Speller(ending="s")
"""

WORD_TESTS = """\
from pkg import words
from pkg.words import Counter


def test_plural():
    sp = words.speller()
    assert sp.plural("key") == "keys"
    sp.plural("")


def test_up():
    counter = Counter(3)
    assert counter.count_up(0) == 3


def test_either(either):
    odd = words.speller()
    odd = either
    odd = either.plural
"""


@pytest.fixture(scope="module")
def engine(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Engine]:
    root = make_project(tmp_path_factory.mktemp("receivers") / "project")
    (root / "pkg" / "words.py").write_text(WORDS, encoding="utf-8")
    (root / "tests" / "test_words.py").write_text(WORD_TESTS, encoding="utf-8")
    subject = find_subject(root, python=None, env={})
    opened = open_engine(subject, limits=Limits(seconds=20))
    yield opened
    opened.close()


def attempt(engine: Engine, text: str) -> Attempt:
    issue = read_issue(f"It is wrong\n\n{text}\n", "issue.md")
    return replay(issue, engine=engine, settings=ReplaySettings(repeat=1))


def found(engine: Engine, text: str) -> list[JudgedTest]:
    return [item for item in attempt(engine, text).tests if item.judgement.candidate]


@pytest.mark.parametrize(
    ("report", "lines"),
    [
        (
            "`plural(\"box\")` is `'boxs'`, should be `'boxes'`.",
            ["from pkg import words", "plural = words.speller().plural"],
        ),
        (
            "`sp.plural(\"box\")` is `'boxs'`, should be `'boxes'`.",
            ["from pkg import words", "sp = words.speller()"],
        ),
        (
            "`Speller.plural(\"cash\")` is `'cashes'`, should be `'cash'`.",
            ["from pkg.words import Speller", "Speller().plural('cash')"],
        ),
        (
            "`count_up(2)` is `1`, should be `5`.",
            ["from pkg.words import Counter", "count_up = Counter(3).count_up"],
        ),
    ],
    ids=["method", "variable", "class", "literal"],
)
def test_the_object_is_made_as_the_project_makes_it(
    engine: Engine, report: str, lines: list[str]
) -> None:
    source = found(engine, report)[0].test.source or ""
    assert all(line in source for line in lines), source


def test_a_guessed_object_counts_less(engine: Engine) -> None:
    guessed = found(engine, "`count_up(2)` is `1`, should be `5`.")[0]
    told = found(engine, "`double(2)` is `5`, should be `4`.")[0]
    assert guessed.judgement.confidence < told.judgement.confidence


@pytest.mark.parametrize(
    "report",
    [
        "`turn(2)` is `3`, should be `2`.",  # two classes have it
        "`size(2)` is `3`, should be `2`.",  # a property
        "`odd.plural('a')` is `'as'`, should be `'a'`.",  # the tests bind it otherwise, mostly
        "`upper.lower('a')` fails, `plural` too.",  # no call of the method
        "`Counter.count_up(2)` is `1`, should be `5`.",  # not made without arguments
    ],
    ids=["two classes", "property", "unsettled", "not called", "needs arguments"],
)
def test_what_is_not_sure_is_not_guessed(engine: Engine, report: str) -> None:
    assert found(engine, report) == []


def test_a_call_that_needs_no_object_stays(engine: Engine) -> None:
    source = found(engine, "`Speller.upper('a')` is `'A'`, should be `'AA'`.")[0].test.source or ""
    assert "Speller.upper('a')" in source


def test_code_in_a_block_stays_as_it_is_written(engine: Engine) -> None:
    text = (
        "```\n>>> from pkg.words import Speller\n>>> Speller.plural('a')\n"
        'Traceback (most recent call last):\n  File "<stdin>", line 1, in <module>\n'
        "TypeError: Speller.plural() missing 1 required positional argument: 'word'\n```"
    )
    assert "Speller.plural('a')" in (found(engine, text)[0].test.source or "")


def test_objects_of_the_project(engine: Engine) -> None:
    called = ["plural", "turn", "size", "count_up"]
    objects = find_objects(engine.subject, ["sp", "odd", *called], called)
    assert objects.made["sp"] == ("words.speller()",)
    assert objects.settled == {"sp"}
    assert objects.methods["plural"] == ("pkg.words", "Speller")
    assert not {"turn", "size"} & set(objects.methods)
    assert objects.receivers["plural"][0] == "sp"


@pytest.mark.parametrize(
    ("text", "made"),
    [
        ("pkg.engine()", True),
        ("Name('a', big=True)", True),
        ("Name([1, 2])", True),
        ("Name(x)", False),
        ("Name(**{})", False),
        ("f().g()", False),
        ("'a'.join([])", False),
        ("3", False),
        ("f(", False),
    ],
)
def test_constructions(text: str, made: bool) -> None:
    assert is_construction(text) is made


def test_names_that_are_only_called() -> None:
    assert only_called(["f(g)", "g(1)", "h.i(2)", "h(1)"]) == {"f"}
