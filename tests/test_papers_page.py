"""The page about the papers has all rows; studies have the tables, columns and setups."""

from __future__ import annotations

import re
import tomllib
from pathlib import Path

ROOT = Path(__file__).parent.parent
PAGE = (ROOT / "docs/papers.md").read_text("utf-8")
STUDIES = ROOT / "examples/studies"
#: What a paper has, and whether it is so here; where it is not, why.
ROW = re.compile(
    r"^\| (?:[12], [^|]+|LIBRO[^|]*) \| [^|]+ \| (?:yes|differs: )[^|]* \|$", re.MULTILINE
)


def test_each_row_says_yes_or_why_it_differs_and_all_are_read_in_minutes() -> None:
    table = [line for line in PAGE.splitlines() if line.startswith(("| 1", "| 2", "| LIBRO"))]
    assert table == ROW.findall(PAGE)
    assert len(table) == 87
    assert len(PAGE.replace("|", " ").split()) <= 1500


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


def test_the_measures_of_the_papers_are_named_where_they_are_made() -> None:
    """What tests and fixes are, and how they are selected; places, extents and ablations."""
    files = (*STUDIES.glob("*.py"), *STUDIES.rglob("*.toml"))
    text = "".join(path.read_text("utf-8") for path in files)
    of_paper_1 = ("2.1", "5.2.1", "6.1.1", "5.2.2", "5.2.3", "6.3.1", "6.3.2")
    of_paper_2 = ("III-D3", "V-A", "V-D")
    for section in (*of_paper_1, *of_paper_2):
        assert re.search(rf"[Pp]aper [12], [^;)]*(?<![\w.]){re.escape(section)}(?!\w)", text), (
            section
        )
    assert "acc@k" in text


def test_the_setups_are_there() -> None:
    files = {path.name for path in (STUDIES / "setups").glob("*.toml")}
    page = (STUDIES / "README.md").read_text("utf-8")
    assert files == set(re.findall(r"setups/(\S+\.toml)", page))
