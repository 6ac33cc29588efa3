"""What a bug test asks about, what that gives on patches, and what becomes a test."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

import pytest

from pytest_brt.oracle.asked_call import call_of, stating
from pytest_brt.sandbox.placing import Test
from pytest_brt.sandbox.run_tests import Runner
from pytest_brt.types import FileChange, Given, JudgedTest, OracleKind, Variation, Verdict
from tests.support.projects import open_on
from tests.support.rows import judged
from tests.support.trees import write_tree

CORE = "def size(text):\n    return int(text)\n"
HEAD = "from core import size\n\n\ndef test_size({}):\n    "
SETUP = ("from core import size",)


@pytest.fixture(scope="module")
def engine(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Runner]:
    root = tmp_path_factory.mktemp("asked") / "project"
    write_tree(root, {"core.py": CORE})
    engine = open_on(root)
    yield engine
    engine.close()


def asking(body: str, takes: str = "", kind: OracleKind = OracleKind.EQUALS) -> JudgedTest:
    made = judged(0, kind=kind)
    source = f"{HEAD.format(takes)}{body}\n\n\ndef test_other():\n    assert size('7') == 7\n"
    return replace(made, test=replace(made.test, name="test_size", source=source))


@pytest.mark.parametrize(
    ("body", "setup", "expression"),
    [
        ("assert size('1') == 1", (), "size('1')"),
        ("size('1')", (), "size('1')"),
        ("assert repr(size('1')) != '1'", (), "size('1')"),
        ('"""Words."""\n    size(1)', (), "size(1)"),
        ("try:\n        size(1)\n    except KeyError:\n        pass", (), "size(1)"),
        (
            "import pytest\n    with pytest.raises(KeyError):\n        size('1')",
            ("import pytest",),
            "size('1')",
        ),
    ],
)
def test_a_call_is_what_the_last_line_looks_at(
    body: str, setup: tuple[str, ...], expression: str
) -> None:
    call = Variation(test="t0", statements=(*SETUP, *setup, expression))
    assert call_of(asking(body).test) == call


@pytest.mark.parametrize(
    ("body", "takes"),
    [
        ("x = size('1')", ""),
        ('"""Only words."""', ""),
        ("assert size('1') == 1", "tmp_path"),
        ("assert 'x' in capsys.readouterr().out", "capsys"),
    ],
)
def test_what_cannot_be_run_alone_has_no_call(body: str, takes: str) -> None:
    assert call_of(asking(body, takes).test) is None


def test_what_a_person_calls_right_becomes_a_test(engine: Runner) -> None:
    given = {
        "1536.0": Given(patches=("a",), text="1536.0"),
        "1 / 0": Given(patches=("a",), raised="ZeroDivisionError"),
        "object": Given(patches=("a",), text="<class 'object'>"),
        "'two words, ' * 9": Given(patches=("a",), text=repr("two words, " * 9)),
    }
    test = asking("assert size('1.5KB') == 1").test
    targets = []
    for text, result in given.items():
        made = stating(test, (*SETUP, f"text = {text!r}", "size(text)"), result)
        assert made.oracle.kind is OracleKind.EQUALS
        assert made.name == "test_size_as_you_said"
        targets.append(Test.of(replace(made, id=text, path="test_said.py")))
    change = FileChange(path="core.py", content=b"def size(text):\n    return eval(text)\n")
    verdicts = [{run.verdict for run in engine.run(targets, tree)} for tree in ((), (change,))]
    assert verdicts == [{Verdict.FAIL}, {Verdict.PASS}]
