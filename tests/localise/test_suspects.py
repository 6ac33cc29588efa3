from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from pytest_brt.errors import UsageProblem
from pytest_brt.localise.suspects import (
    CODE,
    NAMED,
    PROSE,
    TITLE,
    find_suspects,
    given_places,
    query_of,
)
from pytest_brt.project.definitions import Definition
from pytest_brt.project.index import Index, open_index
from pytest_brt.report.load import read_issue
from pytest_brt.types import Frame, Note, Place, Raised
from tests.support.trees import write_tree

FILES = {
    "pkg/__init__.py": "from pkg.core.shapes import Circle\n",
    "pkg/core/__init__.py": "",
    "pkg/core/shapes.py": "class Circle:\n    def area(self):\n        return round_up(3)\n\n"
    "    def edge_length(self): ...\n",
    "pkg/core/numbers.py": "def round_up(x):\n    '''Round towards infinity.'''\n"
    "    return x or 'towards infinity'\n",
    "pkg/text.py": "def render(x):\n    '''Print a table with borders.'''\n",
    "tests/test_shapes.py": "from pkg import Circle\ndef test_area(): Circle().area()\n",
    "docs/conf.py": "def render(x): ...\n",
}


@pytest.fixture
def index(tmp_path: Path) -> Iterator[Index]:
    write_tree(tmp_path, FILES)
    with open_index(tmp_path) as opened:
        yield opened


def suspects(text: str, index: Index) -> tuple[Place, ...]:
    return find_suspects(read_issue(text, "-"), index)


TRACEBACK = """\
It fails

```
Traceback (most recent call last):
  File "/home/me/run.py", line 1, in <module>
    Circle().area()
  File "/v/lib/python3.9/site-packages/pkg/core/shapes.py", line 30, in area
    return round_up(3)
  File "/v/lib/python3.9/site-packages/pkg/core/numbers.py", line 80, in round_up
    raise ValueError(x)
ValueError: 3
```
"""


def test_traceback(index: Index) -> None:
    first, second = suspects(TRACEBACK, index)[:2]
    place = (first.path, first.function, first.line, first.end_line)
    assert place == ("pkg/core/numbers.py", "round_up", 1, 3)
    assert first.clues[0].text == "the traceback ends in round_up"
    assert (second.path, second.function) == ("pkg/core/shapes.py", "Circle.area")
    assert first.score > second.score


def test_snippet_and_names(index: Index) -> None:
    text = "Wrong length\n\n```python\nfrom pkg import Circle\nCircle().edge_length()\n```\n"
    first = suspects(text, index)[0]
    assert (first.path, first.function) == ("pkg/core/shapes.py", "Circle.edge_length")
    named = suspects("`render` is broken\n\nSomehow.", index)[0]
    assert (named.path, named.function) == ("pkg/text.py", "render")
    assert named.clues == (Note(code="shared-words", text="shares render with the report"),)


def test_named_file_and_words(index: Index) -> None:
    named = suspects("Odd\n\nThe culprit is in pkg/core/numbers.py I think.", index)
    assert named[0].path == "pkg/core/numbers.py"
    module = suspects("Odd\n\nSee pkg.core.numbers for it.", index)
    assert module[0].path == "pkg/core/numbers.py"
    words = suspects("No borders around the table\n\nNothing else.", index)[0]
    assert (words.path, words.function) == ("pkg/text.py", "render")
    assert words.clues == (Note(code="shared-words", text="shares borders, table with the report"),)


def test_of_two_alike_the_one_in_a_file_with_more_of_the_report_comes_first(tmp_path: Path) -> None:
    border, width = "def draw_border(): ...\n", "\ndef column_width(): ...\n"
    write_tree(tmp_path, {"pkg/box.py": border, "pkg/table.py": border + width})
    with open_index(tmp_path) as index:
        first = suspects("draw_border is off\n\nThe column is too narrow.", index)[0]
    assert (first.path, first.function) == ("pkg/table.py", "draw_border")


def test_the_first_place_is_in_the_file_with_more_of_the_report(tmp_path: Path) -> None:
    table = "def draw_border(): ...\ndef column_width(): ...\ndef row_width(): ...\n"
    write_tree(tmp_path, {"pkg/box.py": "def draw_border(narrow): ...\n", "pkg/table.py": table})
    with open_index(tmp_path) as index:
        first, second, *_ = suspects("draw_border is off\n\nColumn, row: too narrow.", index)
    assert [first.path, second.path] == ["pkg/table.py", "pkg/box.py"]
    assert first.score < second.score


def test_only_the_product_is_suspected(index: Index) -> None:
    text = "render fails in tests/test_shapes.py and docs/conf.py\n\nCircle area render table."
    paths = {s.path for s in suspects(text, index)}
    assert paths
    assert not paths & {"tests/test_shapes.py", "docs/conf.py"}


def test_what_the_report_s_code_ran_counts(index: Index) -> None:
    issue = read_issue("Odd\n\nyyy", "-")
    assert find_suspects(issue, index) == ()
    for name, path in (("render", "pkg/text.py"), ("round_up", "pkg/core/numbers.py")):
        (first,) = find_suspects(issue, index, ran=index.definitions[name])
        assert (first.path, first.function) == (path, name)
        assert first.clues == (Note(code="run-by-report", text="the report's code runs it"),)


def test_where_the_report_s_code_ended_counts_if_no_traceback_is_shown(index: Index) -> None:
    frame = Frame(path="pkg/text.py", line=1, function="render", project=True)
    raised = [Raised(type="ValueError", message="3", frames=(frame,))]
    (first,) = find_suspects(read_issue("Odd\n\nyyy", "-"), index, raised=raised)
    assert (first.path, first.function) == ("pkg/text.py", "render")
    shown = find_suspects(read_issue(TRACEBACK, "-"), index, raised=raised)
    assert shown == suspects(TRACEBACK, index)


def test_only_in_named_files(index: Index) -> None:
    issue = read_issue(TRACEBACK, "-")
    found = find_suspects(issue, index, paths=("pkg/core/shapes.py",))
    assert {s.path for s in found} == {"pkg/core/shapes.py"}


SHAPES = ("Dot", "Line", "Ring", "Wave", "Knot")
PRINTERS = {
    "pkg/__init__.py": "",
    "pkg/shapes.py": "".join(f"class {name}: ...\n" for name in (*SHAPES, "Trace")),
    "pkg/latex.py": "class Writer:\n"
    + "".join(f"    def _print_{name}(self, one): ...\n" for name in SHAPES),
    "pkg/plain.py": "class Plain:\n    def _print_Trace(self, one): ...\n",
}


def test_the_module_that_a_report_speaks_of(tmp_path: Path) -> None:
    write_tree(tmp_path, PRINTERS)
    with open_index(tmp_path) as index:
        found = suspects("The plain print of a trace", index)
    assert found[0].path == "pkg/plain.py"


def test_of_many_functions_that_ran_each_says_less(index: Index) -> None:
    issue = read_issue("No borders around the table", "-")
    ran = index.definitions["round_up"]
    few = {one.function: one.score for one in find_suspects(issue, index, ran=ran)}
    others = [Definition("f", 1, 2, path=f"pkg/none{number}.py") for number in range(79)]
    many = {one.function: one.score for one in find_suspects(issue, index, ran=[*ran, *others])}
    assert few["round_up"] > many["round_up"]


def weights(text: str) -> dict[str, float]:
    return dict(query_of(read_issue(text, "-")))


def test_a_term_weighs_what_its_best_place_says() -> None:
    found = weights(
        "# Wrong borders\n\nThe borders of tables are lost by `drawFrame`.\n\n"
        "```python\nimport tables\nmargin(2)\n```\n"
    )
    assert found["border"] == TITLE
    assert found["drawfram"] == found["draw"] == NAMED
    assert found["tabl"] == CODE
    assert found["lost"] == PROSE


def test_noise_is_left_out() -> None:
    text = "Odd\n\n<!-- fill in the template -->\nSee https://example.org/wiki. It is a bug.\n\n"
    found = weights(f'{text}```\n  File "/home/me/unrelated.py", line 3, in go_on\n```\n')
    assert not {"template", "wiki", "bug", "unrelated"} & set(found)


def test_what_is_a_usual_word_in_a_sentence_is_a_name_in_code() -> None:
    code = "```python\nfrom shop import Any, Case\nAny(Case())\n```\n"
    assert {"any", "cas"} & set(weights("Odd\n\nIs there any case of that?\n")) == set()
    found = weights(f"Odd\n\nIs there any case of that?\n\n{code}")
    assert found["any"] == CODE


def test_given_places_are_checked(index: Index) -> None:
    shapes = "pkg/core/shapes.py"
    (whole, lines) = given_places([shapes, f"./{shapes}:2-3"], index)
    assert (whole.function, whole.line, whole.end_line) == ("", 1, 0)
    assert (lines.function, lines.line, lines.end_line) == ("Circle.area", 2, 3)
    for spec in ("pkg/none.py", f"{shapes}:3-2", f"{shapes}:999", f"{shapes}:x"):
        with pytest.raises(UsageProblem, match="--brt-buggy-file"):
            given_places([spec], index)
