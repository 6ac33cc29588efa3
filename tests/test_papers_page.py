"""The page about the papers names tests, tables and columns, and there are such."""

from __future__ import annotations

import ast
import re
import tomllib
from pathlib import Path

ROOT = Path(__file__).parent.parent
PAGE = (ROOT / "docs/papers.md").read_text("utf-8")
STUDIES = ROOT / "examples/studies"
#: Numbers, and how it stands: as the paper has it, with a limit, on purpose not, only a figure.
ROW = re.compile(
    r"^\| (?P<numbers>\d[\d, -]*) \|.*\| (?P<state>yes|limit|on purpose|–) \|", re.MULTILINE
)


def numbers(text: str) -> list[int]:
    """Return the numbers of "1-3, 5"."""
    found: list[int] = []
    for part in text.split(", "):
        first, _, last = part.partition("-")
        found += range(int(first), int(last or first) + 1)
    return found


def test_every_test_that_the_page_names_is_there() -> None:
    named = re.findall(r"`(tests/[\w/]+\.py)::(\w+)`", PAGE)
    assert len(named) > 50
    for path in {path for path, _ in named}:
        tree = ast.parse((ROOT / path).read_text("utf-8"))
        there = {node.name for node in tree.body if isinstance(node, ast.FunctionDef)}
        assert not {name for file, name in named if file == path} - there, path


def test_every_requirement_has_one_row() -> None:
    found = [number for row in ROW.finditer(PAGE) for number in numbers(row["numbers"])]
    assert sorted(found) == list(range(1, 88))


def test_what_is_as_in_the_paper_names_a_test() -> None:
    rows = [line for line in PAGE.splitlines() if re.search(r"\| (yes|limit) \|", line)]
    assert [line for line in rows if "::" not in line] == []


def test_the_page_counts_its_own_marks() -> None:
    states = {state: 0 for state in ("yes", "limit", "on purpose", "–")}
    for row in ROW.finditer(PAGE):
        states[row["state"]] += len(numbers(row["numbers"]))
    counted = "{yes} are as in the papers, {limit} with a limit, {on purpose} otherwise on purpose"
    assert counted.format(**states) in PAGE


def test_every_table_and_figure_of_the_papers_has_its_columns_or_its_reason() -> None:
    page = (STUDIES / "README.md").read_text("utf-8")
    lines = re.findall(r"^\| (?:Tables?|Figures?|inspection|RQ2|section)[^|]*\|.*$", page, re.M)
    tables = tomllib.loads((STUDIES / "tables.toml").read_text("utf-8"))
    for line in lines:
        for table, columns in re.findall(r"`([\w-]+)`: ((?:\*[^*]+\*(?:, )?)+)", line):
            heads = set(tables[table]["columns"])
            assert set(re.findall(r"\*([^*]+)\*", columns)) <= heads, line
    first = [line.split("|")[1].strip() for line in lines]
    of_paper_1 = {"Table 2", "Table 3", "Table 4", "Table 5"}
    of_paper_1 |= {"Figure 3", "Figure 4", "Figure 5", "Figure 6"}
    of_paper_2 = {"Table III", "Table IV", "Table V", "Table VI", "Figure 6", "Figure 9"}
    assert {*of_paper_1, *of_paper_2, "Figures 7 and 8"} <= set(first)


def test_the_requirements_on_studies_are_named_where_they_are_met() -> None:
    files = (*STUDIES.glob("*.py"), *STUDIES.glob("*.toml"))
    text = "".join(path.read_text("utf-8") for path in files)
    named = {int(n) for part in re.findall(r"requirements?\W+([\d, and\[\]]+)", text)
             for n in re.findall(r"\d+", part)}  # fmt: skip
    assert named >= {2, 4, 6, 7, 30, 46, 48, 49, 62, 68, 70}


def test_the_setups_are_there() -> None:
    files = {path.name for path in (STUDIES / "setups").glob("*.toml")}
    page = (STUDIES / "README.md").read_text("utf-8")
    assert files == set(re.findall(r"setups/(\S+\.toml)", page))
