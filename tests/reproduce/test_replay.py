"""What replay makes of a report: tests by four oracles, or why there is none."""

from __future__ import annotations

import pytest

from pytest_brt.report.load import read_issue
from pytest_brt.reproduce import replay
from pytest_brt.sandbox.run_tests import Runner
from pytest_brt.types import Attempt, Evidence, JudgedTest, OracleKind
from tests.reproduce.project import bench_of


def attempt(engine: Runner, text: str) -> Attempt:
    return made(engine, f"# pkg is off\n\n{text}\n")


def made(engine: Runner, report: str) -> Attempt:
    return replay.attempt(read_issue(report, "report.md"), 0, bench_of(engine))


def candidates(engine: Runner, text: str) -> list[JudgedTest]:
    return [item for item in attempt(engine, text).tests if item.judgement.candidate]


CRASH = """\
```
>>> from pkg import first
>>> first([])
Traceback (most recent call last):
  File "pkg/core.py", line 12, in first
IndexError: list index out of range
```"""


def test_where_an_exception_may_be_wanted_a_crash_is_believed_less(engine: Runner) -> None:
    (made,) = candidates(engine, f"{CRASH}\n\nIt should raise an error that says why.")
    assert made.judgement.evidence is Evidence.EXCEPTION
    assert not made.judgement.counts


@pytest.mark.parametrize(
    ("text", "kind", "asserted"),
    [
        ("`double(2)` gives `5`.", OracleKind.GONE, "assert double(2) != 5"),
        ("```python\nshout('a')\n```\nprints:\n```\nA?\n```", OracleKind.GONE, "!= "),
        ("```\n>>> Box(1)\nBox<1>\n```", OracleKind.GONE, 'repr(Box(1)) != "Box<1>"'),
        ("`first([])` raises a `FirstError`.", OracleKind.NO_RAISE, "    first([])"),
        (
            "```python\nassert double(2)\n```\nThis doesn't raise `ValueError`.",
            OracleKind.MUST_RAISE,
            "with pytest.raises(ValueError):\n        assert double(2)",
        ),
    ],
)
def test_oracles(engine: Runner, text: str, kind: OracleKind, asserted: str) -> None:
    made = candidates(engine, text)
    assert made, attempt(engine, text).notes
    assert made[0].test.oracle.kind is kind
    assert asserted in (made[0].test.source or "")


def test_of_two_shown_results_the_one_of_the_title_comes_first(engine: Runner) -> None:
    text = "# double() is off\n\n```\n>>> double(2)\n5\n>>> first([7])\n7\n```\n"
    first = made(engine, text).tests[0]
    assert "assert double(2) != 5" in (first.test.source or "")


def test_an_assertion_of_the_report_that_fails_is_a_test(engine: Runner) -> None:
    made = candidates(engine, "```python\nfrom pkg import double\nassert double(1) == 2\n```")
    assert made[0].judgement.evidence is Evidence.OWN_TEST


def test_the_set_up_is_all_of_it_where_no_name_leads_to_it(engine: Runner) -> None:
    text = "```\n>>> import pkg.core\n>>> pkg.core.use(3)\n>>> pkg.steps(2)\n6\n```\n"
    (made,) = candidates(engine, text)
    assert "pkg.core.use(3)" in (made.test.source or "")


@pytest.mark.parametrize(
    ("text", "code", "words"),
    [
        ("```python\nclamp(lamp)\n```", "undefined-names", "clamp, lamp"),
        ("```python\nimport pkg\npkg.stop()\n```", "ended", "exit status 3"),
        ("```python\nimport nothing_here\n```", "raises", "ModuleNotFoundError"),
        ("```python\nimport pkg\npkg.leave()\n```", "raises", "SystemExit"),
        ("```python\nimport pkg\npkg.double(2)\n```", "not-stated", "unclear"),
    ],
)
def test_why_there_is_no_test(engine: Runner, text: str, code: str, words: str) -> None:
    made = attempt(engine, text)
    assert not any(item.judgement.candidate for item in made.tests)
    assert made.notes[0].code == code
    assert words in made.notes[0].text


@pytest.mark.parametrize(
    ("text", "kind", "sentence"),
    [
        (
            "`first([])` should raise IndexError, but gives `0`.",
            OracleKind.MUST_RAISE,
            "`first([])` raises IndexError.",
        ),
        (  # the exception is what it is about, whatever else is said of the call
            "`double(2)` raises ValueError, and then it returns `7`.",
            OracleKind.NO_RAISE,
            "`double(2)` does not raise ValueError.",
        ),
    ],
    ids=["wanted-exception", "gone-exception"],
)
def test_what_is_right_already(engine: Runner, text: str, kind: OracleKind, sentence: str) -> None:
    settled = attempt(engine, text).settled
    assert (settled[0].test.oracle.kind, settled[0].test.oracle.sentence) == (kind, sentence)
