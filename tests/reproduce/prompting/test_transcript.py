"""What the report's code does now is told once, and whether the report calls it right."""

from __future__ import annotations

import pytest

from pytest_brt.execute.engine import Engine
from pytest_brt.issue.load import read_issue
from pytest_brt.issue.read import read_report
from pytest_brt.observe.watch import Replayed, watch
from pytest_brt.reproduce.prompting.transcript import Stance, session_of, stance_of


def seen(text: str, engine: Engine) -> Replayed:
    return watch(read_report(read_issue(f"# It is wrong\n\n{text}\n", "issue.md")), engine)


CODE = "```python\nfrom pkg import double\nx = 2\ndouble(x)\n```"

FAILS = "```python\nfrom pkg import first\nfirst([])\n```"


@pytest.mark.parametrize(
    ("text", "stance"),
    [
        # The project doubles and adds one: double(2) is 5 now.
        (f"{CODE}\n\nreturns `5`, but it should be `4`.", Stance.WRONG),
        (f"{CODE}\n\nreturns `4`, but it should be `5`.", Stance.RIGHT),
        (f"{CODE}\n\nreturns\n`7`", Stance.OTHER),
        (
            f"In pkg 1.0:\n{CODE}\nreturns\n`5`\n\nNow, in pkg 1.1:\n{CODE}\nreturns\n`4`",
            Stance.OTHER,
        ),
        # What is expected is not there either.
        (f"{CODE}\n\nreturns `7`, but it should be `4`.", Stance.WRONG),
        # Nothing is said of it.
        (CODE, Stance.WRONG),
        # Something fails.
        (f"{CODE}\n\nreturns\n`7`\n\n{FAILS}", Stance.WRONG),
        # What cannot be compared says nothing.
        (f"{CODE}\n\nreturns\n`a < number`", Stance.WRONG),
    ],
)
def test_the_stance(text: str, stance: Stance, engine: Engine) -> None:
    assert stance_of(seen(text, engine)) is stance


def test_a_call_that_is_made_twice_is_told_twice(engine: Engine) -> None:
    code = "```python\nfrom pkg import double\ndouble(1)\ndouble(1)\ndouble(2)\ndouble(1)\n```"
    told = session_of(seen(code, engine))
    assert told.count(">>> double(1)\n3") == 3


def test_what_only_makes_names_known_is_no_news_unless_it_fails(engine: Engine) -> None:
    code = "```python\nfrom pkg import double\n\nclass Half:\n    of = {}\n```"
    assert session_of(seen(code.format("2"), engine)) == ()
    (_, told) = session_of(seen(code.format("double('a', 1)"), engine))
    assert "\nTypeError: " in told


def test_text_that_is_a_tool_s_input_is_not_told_of_as_failing_imports(engine: Engine) -> None:
    text = "```python\nimport a\nfrom b.c import d\nfrom pkg import double\ndouble(1)\n```"
    told = "\n".join(session_of(seen(text, engine)))
    assert "ModuleNotFoundError" not in told
    assert ">>> double(1)\n3" in told
    # A module of the project that is not there may be what is reported.
    told = "\n".join(session_of(seen("```python\nimport pkg.gone\n```", engine)))
    assert "No module named 'pkg.gone'" in told


def test_an_import_that_was_added_is_said_to_be(engine: Engine) -> None:
    told = session_of(seen("```python\ndouble(1)\n```", engine))
    assert told == (">>> from pkg import double  # added: not in the report", ">>> double(1)\n3")


def test_that_nothing_comes_out_is_said(engine: Engine) -> None:
    told = session_of(
        seen("```python\nfrom pkg import double\nx = []\nx.append(double(1))\n```", engine)
    )
    assert told[-2:] == (">>> x = []", ">>> x.append(double(1))\n# no output")
