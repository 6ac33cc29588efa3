"""What a report spells is found where the source spells it, and counts by how rare it is."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from pytest_brt.code.index import Index, open_index
from pytest_brt.issue import read_issue
from pytest_brt.localise.literals import (
    MOST_FILES,
    LiteralKind,
    find_literals,
    lines_with,
    literals_of,
)
from pytest_brt.localise.suspects import find_suspects
from tests.trees import write_tree

FILES = {
    "pkg/__init__.py": "",
    "pkg/options.py": (
        "LIMIT = 3\n\n\n"
        "def setup(parser):\n"
        '    parser.add("--dry-run", "--dryrun")\n'
        '    parser.add("--wide")\n\n\n'
        "def skip_names_option(value):\n"
        "    return value\n"
    ),
    "pkg/words.py": (
        '"""The report says names of skip and all that more often: skip names, skip names."""\n\n\n'
        "def letters(text):\n"
        '    return {"Symbols": text}\n'
    ),
    "pkg/check.py": (
        "def check(x):\n"
        "    if not x:\n"
        '        raise ValueError("cannot take the "\n'
        '                         "root of %r" % x)\n'
    ),
    "tests/test_all.py": 'def test_a():\n    assert run("--dry-run")\n',
} | {f"pkg/many_{n}.py": '"""x"""\nNAME = "common_thing"\n' for n in range(MOST_FILES + 1)}


@pytest.fixture(scope="module")
def index(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Index]:
    root = tmp_path_factory.mktemp("literals")
    write_tree(root, FILES)
    with open_index(root) as opened:
        yield opened


def places(text: str, index: Index, *, tests: bool = False) -> dict[str, set[str]]:
    found = find_literals(read_issue(text, "-"), index, tests=tests)
    return {hits.literal.text: {path for path, _ in hits.files} for hits in found}


@pytest.mark.parametrize(
    ("text", "kind", "literal", "files"),
    [
        ("Odd\n\nI run it with --dry-run.", "option", "--dry-run", {"pkg/options.py"}),
        ("Odd\n\nI run it with `--dryrun`.", "option", "--dryrun", {"pkg/options.py"}),
        (
            "Odd\n\nThe :skip-names: option.",
            "name",
            "skip-names",
            {"pkg/options.py"},
        ),
        (
            "skip names is ignored",
            "name",
            "skip names",
            {"pkg/options.py"},
        ),
        ("Odd\n\nTwo sections called _Symbols_ there.", "quoted", "Symbols", {"pkg/words.py"}),
        (
            "Odd\n\n```\nValueError: cannot take the root of 'x'\n```\n",
            "message",
            "cannot take the root of",
            {"pkg/check.py"},
        ),
        (
            "Odd\n\n```\n../in/some.txt:4:cannot take the root of 'x'\n```\n",
            "message",
            "cannot take the root of",
            {"pkg/check.py"},
        ),
    ],
)
def test_each_kind_is_found(
    text: str, kind: str, literal: str, files: set[str], index: Index
) -> None:
    found = {one.text: one.kind for one in literals_of(read_issue(text, "-"))}
    assert found[literal] is LiteralKind(kind)
    assert places(text, index)[literal] == files


def test_where_a_function_was_called_is_no_message() -> None:
    text = "Odd\n\n```\npkg/a.py:12: in some_function_there\npkg/a.py:14:\n  one two three\n```\n"
    kinds = {one.kind for one in literals_of(read_issue(text, "-"))}
    assert LiteralKind.MESSAGE not in kinds


def test_plain_words_next_to_each_other_are_no_name(index: Index) -> None:
    """The sentence at the top of words.py has them; only what is joined counts."""
    issue = read_issue("skip names is ignored", "-")
    (hits,) = [h for h in find_literals(issue, index) if h.literal.text == "skip names"]
    assert dict(hits.files) == {"pkg/options.py": (9,)}


def test_what_many_files_have_says_nothing(index: Index) -> None:
    assert places("Odd\n\n`common_thing` is lost.", index) == {}


def test_what_is_defined_is_left_to_its_name(index: Index) -> None:
    assert places("Odd\n\n`skip_names_option` is lost.", index) == {}


def test_tests_are_searched_apart(index: Index) -> None:
    assert places("Odd\n\n--dry-run", index, tests=True) == {"--dry-run": {"tests/test_all.py"}}


def test_the_place_of_a_literal_comes_before_files_with_the_same_words(index: Index) -> None:
    text = (
        "skip names should take more\n\nThe :skip-names: option of skip and names. "
        "It says names of skip and all that more often."
    )
    first = find_suspects(read_issue(text, "-"), index)[0]
    assert (first.path, first.function) == ("pkg/options.py", "skip_names_option")
    assert "has 'skip-names' of the report" in first.reasons


def test_lines_are_counted_from_one() -> None:
    (literal,) = literals_of(read_issue("Odd\n\nI pass --dry-run.", "-"))
    assert lines_with("a\n'--dry-run'\nb\ndry_run = 1\ndry_run_it = 2\n", (literal,)) == (2, 4)
