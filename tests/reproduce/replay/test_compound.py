"""Loops and other blocks that print: their whole output is a result like any other."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from pytest_brt.execute.engine import Engine
from pytest_brt.execute.launch import open_engine
from pytest_brt.execute.row import Limits
from pytest_brt.execute.subject import find_subject
from pytest_brt.issue import read_issue
from pytest_brt.reading.compound import is_print, may_print, part_of, prints_inside
from pytest_brt.reading.names import names_of
from pytest_brt.reproduce.replay.run import ReplaySettings, replay
from pytest_brt.types import Attempt, JudgedTest, OracleKind
from tests.reproduce.replay.project import make_project

LOOP = "for n in (1, 2):\n    print('n', n, double(n))"
SHOWN = "n 1 3\nn 2 5"
RIGHT = "n 1 2\nn 2 4"
IMPORT = "from pkg import double\n"


@pytest.fixture(scope="module", params=["buggy", "fixed"])
def tree(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[tuple[bool, Engine]]:
    root = make_project(tmp_path_factory.mktemp("compound") / "project")
    fixed = request.param == "fixed"
    if fixed:
        core = root / "pkg" / "core.py"
        text = core.read_text(encoding="utf-8")
        core.write_text(text.replace("x + x + 1", "x + x"), encoding="utf-8")
    engine = open_engine(find_subject(root, python=None, env={}), limits=Limits(seconds=20))
    yield fixed, engine
    engine.close()


def attempt(engine: Engine, text: str) -> Attempt:
    issue = read_issue(text, "issue.md")
    return replay(issue, engine=engine, settings=ReplaySettings(repeat=1))


def candidates(made: Attempt) -> list[JudgedTest]:
    return [item for item in made.tests if item.judgement.candidate]


def code(*statements: str) -> str:
    return "It is off\n\n```python\n" + IMPORT + "\n".join(statements) + "\n```\n\n"


def block(label: str, text: str) -> str:
    return f"{label}:\n\n```text\n{text}\n```\n\n"


def both(shown: str = SHOWN, right: str = RIGHT) -> str:
    return block("This prints", shown) + block("Expected", right)


def test_an_output_that_is_shown_must_be_gone(tree: tuple[bool, Engine]) -> None:
    fixed, engine = tree
    made = attempt(engine, code(LOOP) + block("This prints", SHOWN))
    found = candidates(made)
    assert [item.test.oracle.kind for item in found] == ([] if fixed else [OracleKind.GONE])
    if not fixed:
        assert (found[0].test.source or "").endswith(
            "    for n in (1, 2):\n        print('n', n, double(n))\n"
            '    assert capsys.readouterr().out != "n 1 3\\nn 2 5\\n"\n'
        )


@pytest.mark.parametrize(
    "statements",
    [
        (LOOP,),
        ("numbers = [1]", "numbers.append(2)", LOOP.replace("(1, 2)", "numbers")),
        ("m = iter((1, 2))", "if m:\n    for n in m:\n        print('n', n, double(n))"),
        ("n = 1", "while n < 3:\n    print('n', n, double(n))\n    n += 1"),
        ("try:\n    print('n', 1, double(1))\nfinally:\n    print('n', 2, double(2))",),
        (
            "from contextlib import nullcontext",
            "with nullcontext(2) as n:\n    print('n', 1, double(1))\n    print('n', n, double(n))",
        ),
        (
            "match [1, 2]:\n    case [one, *rest]:\n        print('n', one, double(one))\n"
            "        print('n', rest[0], double(rest[0]))",
        ),
        ("for n in (1, 2):\n    # each of them\n    print('n', n, double(n))",),
    ],
)  # fmt: skip
def test_an_output_that_is_expected_comes_first(
    tree: tuple[bool, Engine], statements: tuple[str, ...]
) -> None:
    fixed, engine = tree
    made = attempt(engine, code(*statements) + both())
    kinds = [item.test.oracle.kind for item in candidates(made)]
    assert kinds == ([] if fixed else [OracleKind.EQUALS, OracleKind.GONE]), made.notes
    if not fixed:
        assert '"n 1 2\\nn 2 4\\n"' in (made.tests[0].test.source or "")


@pytest.mark.parametrize("language", ["", "python", "text"])
def test_values_that_a_loop_prints_are_no_code(tree: tuple[bool, Engine], language: str) -> None:
    fixed, engine = tree
    loop = LOOP.replace("'n', n, ", "")
    made = attempt(engine, code(loop) + f"Output:\n\n```{language}\n3\n5\n```\n")
    assert [item.test.oracle.kind for item in candidates(made)] == (
        [] if fixed else [OracleKind.GONE]
    )


def test_a_loop_below_the_main_guard_stands_at_the_left(tree: tuple[bool, Engine]) -> None:
    fixed, engine = tree
    guarded = "if __name__ == '__main__':\n    " + LOOP.replace("\n", "\n    ")
    made = attempt(engine, code(guarded) + block("Expected", RIGHT))
    assert bool(candidates(made)) is not fixed
    if not fixed:
        assert "    for n in (1, 2):\n        print(" in (made.tests[0].test.source or "")


def test_a_session_shows_the_output_of_a_loop(tree: tuple[bool, Engine]) -> None:
    fixed, engine = tree
    session = (
        "```\n>>> from pkg import double\n>>> for n in (1, 2):\n...     print('n', n, double(n))\n"
        f"...\n{SHOWN}\n```\n"
    )
    found = candidates(attempt(engine, f"double is off\n\n{session}"))
    assert [item.test.oracle.kind for item in found] == ([] if fixed else [OracleKind.GONE])


@pytest.mark.parametrize(
    ("comment", "kind"),
    [
        ("# n 1 3\n# n 2 5", OracleKind.GONE),
        ("# prints:\n# n 1 3\n# n 2 5", OracleKind.GONE),
        ("# should print:\n# n 1 2\n# n 2 4", OracleKind.EQUALS),
    ],
)
def test_a_comment_below_a_loop_is_its_output(
    tree: tuple[bool, Engine], comment: str, kind: OracleKind
) -> None:
    fixed, engine = tree
    found = candidates(attempt(engine, code(LOOP, comment)))
    assert [item.test.oracle.kind for item in found] == ([] if fixed else [kind])


def test_what_others_print_is_not_the_loops(tree: tuple[bool, Engine]) -> None:
    fixed, engine = tree
    statements = code("print('start')", LOOP, "print('end', double(3))")
    made = attempt(engine, statements + both(f"start\n{SHOWN}\nend 7", f"start\n{RIGHT}\nend 6"))
    sources = [
        item.test.source or ""
        for item in made.tests
        if item.test.oracle.kind is OracleKind.EQUALS and not fixed
    ]
    wanted = [source.rpartition("assert ")[2].strip() for source in sources]
    assert fixed or set(wanted) >= {
        'capsys.readouterr().out == "n 1 2\\nn 2 4\\n"',
        'capsys.readouterr().out == "end 6\\n"',
    }
    if fixed:
        assert candidates(made) == []


def test_prints_of_several_lines_take_theirs_in_order(tree: tuple[bool, Engine]) -> None:
    fixed, engine = tree
    made = attempt(
        engine,
        code("print('a', 'b', sep='\\n')", "print('two', double(2))", "print('three', double(3))")
        + block("Expected", "a\nb\ntwo 4\nthree 6"),
    )
    ends = {(item.test.source or "").rpartition("== ")[2].strip() for item in candidates(made)}
    assert ends == (set() if fixed else {'"two 4\\n"', '"three 6\\n"'})


def test_a_print_among_other_calls_has_its_line(tree: tuple[bool, Engine]) -> None:
    fixed, engine = tree
    statements = ("x = []", "x.append(double(1))", "print(x)", "x.append(double(2))", "print(x)")
    made = attempt(engine, code(*statements) + block("Expected", "[2]\n[2, 4]"))
    ends = {(item.test.source or "").rpartition("assert ")[2].strip() for item in candidates(made)}
    assert ends == (set() if fixed else {'str(x) == "[2]"', 'str(x) == "[2, 4]"'})


def test_what_the_setup_prints_is_not_compared(tree: tuple[bool, Engine]) -> None:
    fixed, engine = tree
    fill = "kept = []\nfor n in (1, 2):\n    kept.append(n)\n    print('keeping', n)"
    loop = LOOP.replace("(1, 2)", "kept")
    first = f"It is off\n\n```python\n{IMPORT}{fill}\n```\n\n"
    made = attempt(engine, f"{first}Then this:\n\n```python\n{loop}\n```\n\n" + both())
    kinds = [item.test.oracle.kind for item in candidates(made)]
    assert kinds == ([] if fixed else [OracleKind.EQUALS, OracleKind.GONE]), made.notes
    if not fixed:
        assert "    capsys.readouterr()\n    for n in kept" in (made.tests[0].test.source or "")


@pytest.mark.parametrize(
    "report",
    [
        pytest.param(code(LOOP), id="nothing shown"),
        pytest.param(code(LOOP) + block("This prints", "n 1 7\nn 2 9"), id="another output"),
        pytest.param(code(LOOP) + block("This prints", "n 1 3"), id="a part of the output"),
        pytest.param(code(LOOP) + block("This works fine and prints", SHOWN), id="right"),
        pytest.param(code(LOOP) + block("Expected", "two lines\nof even\nnumbers"), id="words"),
        pytest.param(code(LOOP) + block("Expected", "n 1 2\n..."), id="cut short"),
        pytest.param(code(LOOP) + "Expected: `4`\n", id="one value"),
        pytest.param(
            code(LOOP.replace("double(n)", "hex(id(double))")) + both("n 1 0x7f1200", "n 1 0x7f12"),
            id="addresses",
        ),
        pytest.param(
            code("for n in range(41):\n    print(double(n))")
            + block("This prints", "\n".join(str(2 * n + 1) for n in range(41))),
            id="long",
        ),
        pytest.param(code("for n in range(3):\n    n = double(n)") + both(), id="nothing printed"),
    ],
)  # fmt: skip
def test_reports_that_make_no_test(tree: tuple[bool, Engine], report: str) -> None:
    _, engine = tree
    found = [item.test.source for item in candidates(attempt(engine, report))]
    assert found == []


@pytest.mark.parametrize("label", ["This works fine and prints", "Expected", "It should print"])
def test_what_is_right_already_makes_no_test(tree: tuple[bool, Engine], label: str) -> None:
    fixed, engine = tree
    made = attempt(engine, code(LOOP) + block(label, RIGHT if fixed else SHOWN))
    assert candidates(made) == []
    assert made.tests == ()


def test_a_test_is_called_after_what_the_loop_calls(tree: tuple[bool, Engine]) -> None:
    fixed, engine = tree
    names = [item.test.name for item in attempt(engine, code(LOOP) + both()).tests]
    assert [("_double_" in name) for name in names] == ([] if fixed else [True, True])


def test_which_statements_print() -> None:
    assert may_print("with x:\n    y.show()")
    assert not may_print("if x:\n    y = 1")
    assert not may_print("def f():\n    print(1)")
    assert not may_print("print(1)")
    assert prints_inside("if x:\n    print(y)")
    assert not prints_inside("if x:\n    y.show()")
    assert is_print("print(1)")
    assert not is_print("x.append(1)")


@pytest.mark.parametrize(
    ("text", "printed", "place", "part"),
    [
        ("a\nb\nc", ("a\n", "x\n", "c\n"), 1, "b"),
        ("a\nb\nc\nd", ("a\n", "x\n", "d\n"), 1, "b\nc"),
        ("a\nd", ("a\n", "x\n", "d\n"), 1, ""),
        ("q\nb\nc\nd", ("a\n", "x\n", "d\n"), 1, ""),
        ("x\n  y", ("x\n  y\n",), 0, "x\n  y"),
        ("x", ("",), 0, "x"),
        ("x", ("a\n", ""), 1, ""),
    ],
)
def test_part_of_an_output(text: str, printed: tuple[str, ...], place: int, part: str) -> None:
    assert part_of(text, printed, place) == part


def test_names_that_a_pattern_binds_are_bound() -> None:
    names = names_of("match x:\n    case {'a': one, **rest}:\n        print(one, rest)")
    assert names.used == {"x"}
    assert names.bound == {"one", "rest"}
    assert names_of(
        "match x:\n    case [one, *more] as whole:\n        f(one, more, whole)"
    ).used == {
        "x",
        "f",
    }
