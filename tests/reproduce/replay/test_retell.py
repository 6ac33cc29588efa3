"""Reports about a project whose tests see other text than its users do."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from pytest_brt.execute.engine import Engine
from pytest_brt.issue.load import read_issue
from pytest_brt.reproduce.replay.run import replay
from pytest_brt.types import JudgedTest, OracleKind, Verdict
from tests.support.projects import open_on
from tests.support.trees import write_tree

SHOP = """\
STYLE = "Price<{}>"


class Price:
    def __init__(self, value):
        self.value = value

    def __repr__(self):
        return STYLE.format(self.value)


def show(value):
    print(STYLE.format(value))


def colour(value):
    print("" if " " in STYLE else "red", value)
"""
CONFTEST = """\
import pytest
import shop


@pytest.fixture(autouse=True)
def plainly():
    shop.STYLE = "Price <{}>"
"""


@pytest.fixture(scope="module")
def engine(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Engine]:
    root = tmp_path_factory.mktemp("retell") / "project"
    write_tree(root, {"shop.py": SHOP, "tests/conftest.py": CONFTEST, "tests/test_a.py": ""})
    engine = open_on(root)
    yield engine
    engine.close()


def best(engine: Engine, report: str) -> JudgedTest:
    made = replay(read_issue(report, "issue.md"), engine=engine, repeat=1)
    found = [judged for judged in made.tests if judged.judgement.candidate]
    assert found, made.misses
    assert found[0].judgement.verdict is Verdict.FAIL
    assert found[0].test.oracle.kind is OracleKind.GONE
    return found[0]


def test_a_value_is_forbidden_as_the_project_s_tests_see_it(engine: Engine) -> None:
    report = (
        "Price is shown badly\n\n```\n>>> from shop import Price\n>>> Price(3)\nPrice<3>\n```\n"
    )
    judged = best(engine, report)
    assert 'assert repr(Price(3)) != "Price <3>"' in (judged.test.source or "")
    assert "as this project's tests see it" in judged.judgement.reason


def test_what_is_printed_likewise(engine: Engine) -> None:
    report = "show is bad\n\n```\n>>> from shop import show\n>>> show(3)\nPrice<3>\n```\n"
    judged = best(engine, report)
    assert (judged.test.source or "").endswith(
        '    show(3)\n    assert capsys.readouterr().out != "Price <3>\\n"\n'
    )


def test_what_no_test_gets_to_see_is_printed_in_a_process_of_its_own(engine: Engine) -> None:
    report = "colour is bad\n\n```\n>>> from shop import colour\n>>> colour(3)\nred 3\n```\n"
    judged = best(engine, report)
    assert (judged.test.source or "").endswith(
        '    script = "from shop import colour\\ncolour(3)\\n"\n'
        '    reported = "red 3\\n"\n'
        '    command = [sys.executable, "-c", script]\n'
        "    done = subprocess.run("
        'command, capture_output=True, encoding="utf-8", check=True)\n'
        "    assert done.stdout != reported\n"
    )
    assert "the title mentions this code" in judged.judgement.reason
    assert "in a process of its own, as the report shows it" in judged.judgement.reason
