"""Reports of every kind on a small project with a bug of each kind, all of it really run."""

from __future__ import annotations

import ast
from dataclasses import dataclass
from pathlib import Path

import pytest

from pytest_brt.answers import answer_issue
from pytest_brt.execute.engine import Engine
from pytest_brt.render.answer import issue_sentence
from pytest_brt.types import OracleKind, Verdict
from pytest_brt.types.miss import (
    CodeLeftOut,
    NoCode,
    NotComparable,
    StatedValue,
    StatementRaised,
    UndefinedNames,
)
from tests.reproduce.replay.project import attempt, candidates, make_project
from tests.support.projects import open_on


@dataclass(frozen=True)
class Case:
    report: str
    kind: OracleKind
    #: The end of the best test.
    ends: str


CASES = {
    "traceback": Case(
        "first() crashes\n\n>>> from pkg import first\n>>> first([])\n"
        'Traceback (most recent call last):\n  File "x.py", line 1, in first\n'
        "IndexError: list index out of range\n",
        OracleKind.NO_RAISE,
        "    first([])",
    ),
    "sentence": Case(
        "first() of nothing\n\nCalling `first([])` raises an `IndexError`.\n",
        OracleKind.NO_RAISE,
        "    first([])",
    ),
    "shown value": Case(
        "double is off by one\n\n```\n>>> from pkg import double\n>>> double(4)\n9\n```\n",
        OracleKind.GONE,
        "    assert double(4) != 9",
    ),
    "expected value": Case(
        "double is off\n\n```python\nx = double(4)\nx\n```\nThis gives `9` instead of `8`.\n",
        OracleKind.GONE,
        "    assert x != 9",
    ),
    "sections": Case(
        "double is off\n\n```python\nfrom pkg import double\nprint(double(2))\n```\n\n"
        "### Expected\n\n```\n4\n```\n\n### Actual\n\n```\n5\n```\n",
        OracleKind.GONE,
        '    assert str(double(2)) != "5"',
    ),
    "comment": Case(
        "double is off\n\n```python\nfrom pkg import double\ndouble(2)  # 5, should be 4\n```\n",
        OracleKind.EQUALS,
        "    assert double(2) == 4",
    ),
    "output": Case(
        "shout asks\n\n```\n>>> from pkg.core import shout\n>>> shout('hi')\nHI?\n```\nIt must not ask.\n",  # noqa: E501
        OracleKind.GONE,
        '    assert capsys.readouterr().out != "HI?\\n"',
    ),
    "text that is no Python": Case(
        "encode is off\n\n`encode('a b')` gives `A B` but should be `a-b c`.\n",
        OracleKind.GONE,
        "    assert encode('a b') != 'A B'",
    ),
    "must raise": Case(
        "check accepts negatives\n\n`check(-1)` should raise a `ValueError`.\n",
        OracleKind.MUST_RAISE,
        "    with pytest.raises(ValueError):\n        check(-1)",
    ),
    "another exception": Case(
        "first of nothing\n\n`first([])` raises an `IndexError` instead of a `ValueError`.\n",
        OracleKind.MUST_RAISE,
        "    with pytest.raises(ValueError):\n        first([])",
    ),
    "idempotence": Case(
        "clean is not idempotent\n\n```\n>>> from pkg.core import clean\n>>> clean('a    b')\n'a  b'\n```\n",  # noqa: E501
        OracleKind.GONE,
        "    assert clean('a    b') != 'a  b'",
    ),
    "round trip": Case(
        "no round trip\n\n`decode(encode('a'))` should be `'a'` again.\n",
        OracleKind.EQUALS,
        "    assert decode(encode('a')) == 'a'",
    ),
    "own assertion": Case(
        "double\n\n```python\nfrom pkg import double\n\ndef test_double():\n    assert double(2) == 4\n```\n",  # noqa: E501
        OracleKind.WRITTEN,
        "    assert double(2) == 4",
    ),
    "command that crashes": Case(
        "pkg without a file\n\n```\n$ python -m pkg\nTraceback (most recent call last):\n"
        "  File \"x.py\", line 3, in main\nKeyError: 'no file'\n```\n",
        OracleKind.NO_TRACEBACK,
        '    assert "Traceback" not in done.stderr',
    ),
}


@pytest.mark.parametrize("name", sorted(CASES))
def test_best_test_of_each_kind_of_report(engine: Engine, name: str) -> None:
    case = CASES[name]
    made = attempt(engine, case.report)
    found = candidates(made)
    assert found, made.misses
    best = found[0]
    source = best.test.source or ""
    assert best.test.oracle.kind is case.kind, source
    assert source.rstrip().endswith(case.ends), source
    assert best.judgement.verdict is Verdict.FAIL
    assert (made.misses, made.notes) == ((), ())
    for item in made.tests:
        ast.parse(item.test.source or "")
        assert item.test.name.isidentifier()


def test_setup_is_only_what_the_claim_needs(engine: Engine) -> None:
    made = attempt(
        engine,
        "Box\n\n```python\nfrom pkg.core import *\nother = double(3)\nb = Box(1)\nother = 5\n"
        "b.fill(2)\nrender(b)\n```\nreturns `'[[2]]'`.\n",
    )
    (best,) = candidates(made)
    assert best.test.source == (
        "from pkg.core import Box, render\n\n\n"
        "def test_box():\n"
        '    """`render(b)` must no longer return \'[[2]]\'. Report: "returns `\'[[2]]\'`."\n'
        '    """\n'
        "    b = Box(1)\n"
        "    b.fill(2)\n"
        "    assert render(b) != '[[2]]'\n"
    )


def test_names_come_from_the_project(engine: Engine) -> None:
    made = attempt(engine, "Box\n\n```\n>>> render(Box(3))\n'[3]'\n```\n")
    source = candidates(made)[0].test.source or ""
    assert "from pkg import render\nfrom pkg.core import Box\n" in source


def test_what_hangs_or_exits_costs_only_itself(engine: Engine) -> None:
    made = attempt(
        engine,
        "double\n\n```python\nfrom pkg import double\nimport os\nos._exit(3)\n```\n"
        "```\n>>> double(1)\n3\n```\n",
    )
    assert candidates(made)[0].test.oracle.kind is OracleKind.GONE


def test_results_on_the_way_to_the_one_in_the_title_are_none(engine: Engine) -> None:
    made = attempt(
        engine,
        "Wrong output of double\n\nThe result is wrong:\n\n```\n>>> from pkg import double, clean\n"
        ">>> clean('a')\n'a'\n>>> double(2)\n5\n```\n",
    )
    (only,) = candidates(made)
    assert (only.test.source or "").rstrip().endswith("assert double(2) != 5")


def test_the_words_expected_do_not_compare_another_kind_of_value(engine: Engine) -> None:
    made = attempt(
        engine,
        "double is off\n\n```\n>>> from pkg import double\n>>> double(2)\n5\n```\n"
        "The output should be `x = [1, 2`.\n",
    )
    assert [item.test.oracle.kind for item in candidates(made)] == [OracleKind.GONE]


def test_printed_text_ends_in_as_many_lines_as_the_real_one(engine: Engine) -> None:
    made = attempt(
        engine,
        "shown is off\n\n```python\nfrom pkg.core import lines\n"
        "print(lines(['a b', 'c d']))\n```\n\n### Expected\n\n```\na b!\nc d!\n```\n\n"
        "### Actual\n\n```\na b\nc d\n```\n",
    )
    (wanted,) = [i for i in candidates(made) if i.test.oracle.kind is OracleKind.EQUALS]
    assert '== "a b!\\nc d!\\n"' in (wanted.test.source or "")


def test_what_is_right_already_makes_no_test(engine: Engine) -> None:
    made = attempt(engine, "first\n\nThis works fine:\n```\n>>> first([7])\n7\n```\n")
    assert candidates(made) == []
    assert made.tests == ()


def test_an_honest_miss_says_what_was_looked_for(engine: Engine) -> None:
    made = attempt(engine, "It is slow\n\nSometimes everything is slow.\n")
    assert made.tests == ()
    assert made.misses == (NoCode(),)


def test_a_module_reached_through_its_package_is_imported(engine: Engine) -> None:
    code = "match fails\n\n```python\nimport pkg\npkg.more.match('1')\n```\n\n"
    (made,) = candidates(attempt(engine, code + "It raises `Mismatch: expected identifier`.\n"))
    assert (made.test.source or "").startswith("import pkg.more\n")
    about_just_that = attempt(engine, code + "It raises an `AttributeError`.\n")
    assert any(
        isinstance(miss, StatementRaised) and miss.message == "module 'pkg' has no attribute 'more'"
        for miss in about_just_that.misses
    )


def test_a_call_of_a_module_is_one_of_what_it_holds_by_its_name(tmp_path: Path) -> None:
    root = make_project(tmp_path / "project")
    (root / "pkg" / "__init__.py").write_text("def pkg(x):\n    return x + 1\n", encoding="utf-8")
    engine = open_on(root, seconds=20)
    try:
        made = candidates(attempt(engine, "pkg\n\n`pkg(4)` gives `5` instead of `4`.\n"))
    finally:
        engine.close()
    assert made
    assert all("from pkg import pkg\n" in (item.test.source or "") for item in made)


def test_unknown_names_are_named(engine: Engine) -> None:
    made = attempt(engine, "x\n\n```python\nfrobnicate(double(1))\n```\n")
    assert UndefinedNames(names=("frobnicate",)) in made.misses


def test_the_network_is_not_the_bug(engine: Engine) -> None:
    made = attempt(
        engine,
        "fails\n\n```python\nimport urllib.request\nurllib.request.urlopen('http://localhost.invalid')\n"
        "```\nThis fails with a `URLError`.\n",
    )
    assert candidates(made) == []


def test_results_that_change_with_the_hash_seed_are_flaky(engine: Engine) -> None:
    made = attempt(
        engine,
        "double\n\n```python\nimport sys\nfrom pkg import double\n"
        "double(sys.flags.hash_randomization)\n```\nshould give `3`.\n",
        repeat=2,
    )
    assert [item.judgement.verdict for item in made.tests] == [Verdict.FLAKY]


def test_replay_is_deterministic(engine: Engine) -> None:
    report = CASES["sections"].report
    first, second = attempt(engine, report), attempt(engine, report)
    assert [t.test for t in first.tests] == [t.test for t in second.tests]


def test_code_that_is_not_about_the_project_makes_no_test(engine: Engine) -> None:
    made = attempt(
        engine, "x\n\n```\n>>> [1, 2][5]\nIndexError: list index out of range\n>>> 2 + 2\n4\n```\n"
    )
    assert candidates(made) == []
    assert {item.judgement.reason for item in made.tests} == {"no code of the project ran in it"}


def test_a_result_shown_beside_a_crash_is_not_what_goes_wrong(engine: Engine) -> None:
    made = attempt(
        engine,
        "first() raises IndexError for nothing\n\nWithout items it crashes:\n\n"
        ">>> from pkg import first\n>>> first([3])\n3\n>>> first([])\n"
        'Traceback (most recent call last):\n  File "x.py", line 1, in first\n'
        "IndexError: list index out of range\n",
    )
    assert [item.test.oracle.kind for item in candidates(made)] == [OracleKind.NO_RAISE]


def test_a_package_that_is_missing_is_not_the_bug(engine: Engine) -> None:
    report = (
        "lack() fails\n\nThis is what fails with an error:\n```python\nfrom pkg.core import lack\n"
    )
    made = attempt(engine, f"{report}lack()\n```\n")
    assert candidates(made) == []
    assert any(
        isinstance(miss, StatementRaised) and miss.exception == "ModuleNotFoundError"
        for miss in made.misses
    )
    expected = attempt(engine, f"{report}lack()\n```\nIt should raise `ValueError`.\n")
    assert candidates(expected) == []
    named = attempt(
        engine,
        f"{report}lack()\n```\nraises ModuleNotFoundError: No module named 'not_installed'.\n",
    )
    assert [item.test.oracle.kind for item in candidates(named)] == [OracleKind.NO_RAISE]


def test_a_suite_that_does_not_run_is_told_of(tmp_path: Path) -> None:
    root = make_project(tmp_path / "project")
    text = "def pytest_ignore_collect(elsewhere):\n    return None\n"
    (root / "conftest.py").write_text(text, encoding="utf-8")
    with_bug = "double\n\n```\n>>> double(1)\n3\n```\n"
    engine = open_on(root, seconds=20)
    try:
        answer = issue_sentence(answer_issue([attempt(engine, with_bug)]))
    finally:
        engine.close()
    assert "made from the report cannot be run: " in answer
    assert "elsewhere" in answer
    assert "--brt-python" in answer


def test_an_argument_that_is_left_out_makes_nothing_to_run(engine: Engine) -> None:
    made = attempt(engine, "`first(..., default=1)` is wrong\n\n`first(..., default=1)` fails.\n")
    assert made.tests == ()


def test_results_beside_one_that_is_marked_as_wrong_are_right(engine: Engine) -> None:
    made = attempt(
        engine,
        "double\n\n```\n>>> from pkg import double, first\n>>> first([True])\nTrue\n"
        ">>> double(4)  # this is wrong\n9\n```\n",
    )
    assert [(item.test.source or "").splitlines()[-1] for item in candidates(made)] == [
        "    assert double(4) != 9"
    ]


def test_a_comment_between_inputs_is_no_code_that_cannot_be_read(engine: Engine) -> None:
    made = attempt(engine, "double\n\n```\n>>> # all is well\n>>> double(0)\n1000\n```\n")
    assert not any(isinstance(miss, CodeLeftOut) for miss in made.misses)


def test_a_definition_with_the_name_of_a_builtin_is_kept(engine: Engine) -> None:
    made = attempt(
        engine,
        "double\n\n```python\nfrom pkg import double\n\n\ndef pow(x):\n    return str(x)\n\n\n"
        "pow(double(4))\n```\ngives `'9'`.\n",
    )
    (best,) = candidates(made)
    assert "def pow(x):" in (best.test.source or "")


def test_what_is_bound_anew_in_the_test_stays_there(engine: Engine) -> None:
    made = attempt(
        engine,
        "double\n\n```python\nfrom pkg import double\nmax = double\ndef twice(x):\n"
        "    return max(x)\ntwice(4)\n```\ngives `9`.\n",
    )
    (best,) = candidates(made)
    assert "max = double" in (best.test.source or "")


def test_another_exception_is_wished_for_above_a_traceback(engine: Engine) -> None:
    made = attempt(
        engine,
        "first([]) raises IndexError\n\n```python\nfrom pkg import first\nfirst([])\n```\n\n"
        "I'd expect to get a `ValueError` from this but instead I get an IndexError:\n\n```\n"
        'Traceback (most recent call last):\n  File "x.py", line 1, in first\n'
        "IndexError: list index out of range\n```\n",
    )
    sources = [item.test.source or "" for item in candidates(made)]
    assert any("with pytest.raises(ValueError):\n        first([])" in text for text in sources)
    assert not any(item.test.oracle.kind is OracleKind.NO_RAISE for item in candidates(made))


def test_another_traceback_of_a_command_is_no_candidate(engine: Engine) -> None:
    report = CASES["command that crashes"].report.replace("KeyError", "OSError")
    assert attempt(engine, report).tests == ()


PRINTED = "double is off\n\n```python\nfrom pkg import double\nprint(double(2))\n```\n\n"


@pytest.mark.parametrize(
    "report",
    [
        PRINTED + "Expected: 4\n",
        PRINTED + "It should return `4`.\n",
        PRINTED + "Prints `5`, but I would expect `4`.\n",
        PRINTED + "**Actual behaviour**: 5\n**Expected behaviour**: 4\n",
        PRINTED + "- **Actual:** 5\n- **Expected:** `4`\n",
        PRINTED + "Expected: 4\nActual: 5\n",
        PRINTED.replace("(2))", "(2))   # 5, should be 4"),
    ],
)
def test_an_expected_value_is_compared_with_what_is_printed(engine: Engine, report: str) -> None:
    found = candidates(attempt(engine, report))
    (wanted,) = [it for it in found if it.test.oracle.kind is OracleKind.EQUALS]
    assert (wanted.test.source or "").rstrip().endswith('assert str(double(2)) == "4"')


@pytest.mark.parametrize(
    ("call", "stated", "claim"),
    [
        ("print([double(2)])", "[ 4]", 'assert str([double(2)]) == "[4]"'),
        ("print(encode('a'))", "'b'", "assert str(encode('a')) == \"b\""),
        ("print(double(2), flush=True)", "4", 'assert capsys.readouterr().out == "4\\n"'),
    ],
)
def test_a_stated_value_is_compared_as_it_is_printed(
    engine: Engine, call: str, stated: str, claim: str
) -> None:
    made = attempt(engine, f"It is off\n\n```python\n{call}\n```\n\nExpected: `{stated}`\n")
    found = [item.test.source or "" for item in candidates(made)]
    assert any(source.rstrip().endswith(claim) for source in found), (found, made.misses)


def test_a_value_is_not_compared_with_a_line_that_holds_more(engine: Engine) -> None:
    made = attempt(engine, PRINTED.replace("double(2)", "'it is', double(2)") + "Expected: 4\n")
    assert made.tests == ()


def test_an_honest_miss_names_the_values_that_were_read(engine: Engine) -> None:
    made = attempt(engine, PRINTED + "Expected: `[four`\n")
    assert made.tests == ()
    value = StatedValue(text="[four", line=5)
    assert made.misses[-1] == NotComparable(values=(value,))
