"""A test that stands in the report is the first candidate, under its own name."""

from __future__ import annotations

import pytest

from pytest_brt.execute.engine import Engine
from pytest_brt.types import Attempt, Author
from pytest_brt.types.miss import OwnTestPasses, OwnTestUnused
from tests.reproduce.replay.project import attempt, candidates

FUNCTION = """\
def test_trims(tmp_path):
    path = tmp_path / "a"
    path.write_text("a  b")
    assert clean(path.read_text()) == "a b"
"""
PARAMETERS = """\
import pytest

@pytest.mark.parametrize("n", [0, 1, 2])
def test_doubles(n):
    assert double(n) == 2 * n
"""
CLASS = """\
class Doubling(unittest.TestCase):
    def setUp(self):
        self.n = 2

    def test_doubles(self):
        self.assertEqual(double(self.n), 4)
"""


def tried(engine: Engine, code: str, title: str = "It is wrong") -> Attempt:
    return attempt(engine, f"{title}\n\nThis test fails:\n\n```python\n{code}\n```\n", repeat=2)


@pytest.mark.parametrize(
    ("code", "name"),
    [
        (FUNCTION.replace('"a b"', '"a-b"'), "test_trims"),
        (PARAMETERS, "test_doubles"),
        (CLASS, "Doubling::test_doubles"),
    ],
    ids=["fixture", "parameters", "class"],
)
def test_it_is_the_first_candidate(engine: Engine, code: str, name: str) -> None:
    best = candidates(tried(engine, code))[0]
    assert best.test.name == name
    assert best.test.is_reporters
    assert best.test.origin.author is Author.REPORT


def test_it_stands_as_it_was_written_with_its_imports(engine: Engine) -> None:
    (best,) = candidates(tried(engine, CLASS))
    head = "import unittest\n\nfrom pkg import double\n\n\n"
    assert best.test.source == head + CLASS


def test_it_stands_behind_likelier_tests_of_what_the_report_shows(engine: Engine) -> None:
    report = f"""double is wrong

>>> from pkg import double
>>> double(1)
3

`double(1)` should return `2`.

```python
{PARAMETERS}
```
"""
    found = candidates(attempt(engine, report, repeat=2))
    assert [item.test.is_reporters for item in found[:2]] == [False, True]
    numbers = [item.judgement.confidence for item in found]
    assert numbers == sorted(numbers, reverse=True)


def test_one_that_passes_is_told_of(engine: Engine) -> None:
    made = tried(engine, FUNCTION)
    assert not candidates(made)
    assert OwnTestPasses(name="test_trims") in made.misses


def test_one_whose_fixture_is_not_there_is_told_of(engine: Engine) -> None:
    made = tried(engine, "def test_served(server):\n    assert double(server) == 3\n")
    assert not candidates(made)
    assert [miss.name for miss in made.misses if isinstance(miss, OwnTestUnused)] == ["test_served"]


def test_one_with_a_name_that_nothing_has_is_left_out(engine: Engine) -> None:
    made = tried(engine, "def test_a():\n    assert double(NOWHERE) == 3\n")
    assert not [item for item in made.tests if item.test.is_reporters]


def test_one_that_asks_nothing_of_the_project_is_no_candidate(engine: Engine) -> None:
    made = tried(engine, "def test_a():\n    assert max(1, 2) == 1\n")
    assert not candidates(made)


def test_one_that_demands_what_the_report_calls_wrong_is_no_candidate(engine: Engine) -> None:
    code = "def test_a():\n    assert double(7) == 5\n"
    assert candidates(tried(engine, code))
    complaint = "`double(2)` gives `5` but should be `4`"
    made = tried(engine, code, complaint)
    (own,) = [item for item in made.tests if item.test.is_reporters]
    assert not own.judgement.candidate, own.judgement.reason
