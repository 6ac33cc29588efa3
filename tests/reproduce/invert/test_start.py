"""What the report's code does now, written down as tests that pass."""

from __future__ import annotations

import pytest

from pytest_brt.execute.engine import Engine, Row, TestTarget
from pytest_brt.issue.load import read_issue
from pytest_brt.issue.read import read_report
from pytest_brt.observe.watch import watch
from pytest_brt.render.causes import run_words
from pytest_brt.reproduce.pin import pinned_tests
from pytest_brt.types import Verdict


def made(engine: Engine, code: str, words: str = "") -> list[tuple[str, str]]:
    issue = read_issue(f"# It is wrong\n\n```python\n{code}\n```\n\n{words}\n", "issue.md")
    return list(pinned_tests(watch(read_report(issue), engine), "test_it").items())


@pytest.mark.parametrize(
    ("code", "claim"),
    [
        ("from pkg import double\ndouble(2)", "    assert double(2) == 5\n"),
        (
            "from pkg import first\nfirst([])",
            "    with pytest.raises(IndexError):\n        first([])\n",
        ),
        (
            "from pkg.core import shout\nshout('a')",
            "    shout('a')\n    assert capsys.readouterr().out == \"A?\\n\"\n",
        ),
        ("from pkg.core import Box\nBox(1)", '    assert repr(Box(1)) == "Box<1>"\n'),
        ("from pkg import double\nx = 3\ndouble(x)", "    x = 3\n    assert double(x) == 7\n"),
    ],
)
def test_what_is_seen_is_pinned_and_passes(engine: Engine, code: str, claim: str) -> None:
    source, _ = made(engine, code)[0]
    assert source.endswith(f'    """Does what the report does."""\n{claim}')
    target = TestTarget(id="t", path="tests/test_it.py", source=source, node="test_it")
    (run,) = engine.run(Row(targets=(target,))).runs
    assert run.verdict is Verdict.PASS, run_words(run)


def test_what_the_report_complains_about_comes_first(engine: Engine) -> None:
    code = "from pkg import double\ndouble(1)\ndouble(2)\ndouble(3)"
    source, plan = made(engine, code, "`double(2)` returns 5, but it should be 4.")[0]
    assert "assert double(2) == 5" in source
    assert plan == "run 'double(2)' as the report does"


def test_of_what_nobody_complains_about_one_is_enough(engine: Engine) -> None:
    code = "from pkg import double\ndouble(1)\ndouble(2)\ndouble(3)"
    assert [plan for _, plan in made(engine, code)] == ["run 'double(3)' as the report does"]


@pytest.mark.parametrize(
    "code",
    [
        "from pkg import double\npkg --version",
        "from pkg import double\ndouble(unknown)",
        "object()",
        "import pkg\npkg.__version__",
        "from pkg import double\nx = double(2)",
        "from pkg.core import Box\nBox(object())",
    ],
)
def test_what_cannot_be_written_down_is_left_out(engine: Engine, code: str) -> None:
    assert made(engine, code) == []
