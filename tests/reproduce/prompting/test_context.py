"""What is gathered before a model is asked, and the cuts of a report."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pytest_brt.agent.report_text import report_text
from pytest_brt.code.index import Index, open_index
from pytest_brt.execute.engine import Engine
from pytest_brt.issue.load import read_issue
from pytest_brt.observe.project import Mentions, find_mentions
from pytest_brt.reproduce.prompting.context import gather_hints, suspecting
from pytest_brt.reproduce.prompting.fit import shorten
from pytest_brt.reproduce.replay.run import replay
from tests.support.projects import open_on
from tests.support.trees import write_tree

REPORT = """\
# first() fails for nothing

Hello everybody, and thanks for the package.

```python
from pkg import first
import warnings
first([])
```

It gives:

```
Traceback (most recent call last):
  File "a.py", line 3, in <module>
    first([])
  File "pkg/core.py", line 5, in first
    return _take(items, 0)
  File "pkg/core.py", line 9, in _take
    return items[place]
IndexError: list index out of range
```

I would like the default instead.
"""
ISSUE = read_issue(REPORT, "issue.md")


@pytest.fixture(scope="module")
def index(engine: Engine) -> Iterator[Index]:
    with open_index(Path(engine.subject.root)) as opened:
        yield opened


def test_what_the_report_does_is_run_and_told(engine: Engine, index: Index) -> None:
    hints = gather_hints(ISSUE, index, engine)
    assert hints.package == "pkg"
    assert hints.files[0] == "pkg/core.py"
    assert hints.session[-1] == ">>> first([])\nIndexError: list index out of range"
    assert hints.imports[:3] == (
        "from pkg import first",
        "import warnings",
        "from pkg.core import _take",
    )
    # Where the test file takes what it needs for other tests is no help.
    assert all("pkg" in text or "pytest" in text for text in hints.imports[2:])
    assert hints.host == "tests/test_box.py"
    assert hints.tests == ()


def test_without_an_engine_nothing_is_run(index: Index) -> None:
    hints = gather_hints(ISSUE, index)
    assert (hints.session, hints.files[0]) == ((), "pkg/core.py")


def test_what_the_user_names_comes_first(index: Index) -> None:
    named = gather_hints(ISSUE, index, buggy=("pkg/__main__.py",))
    assert named.files[:2] == ("pkg/__main__.py", "pkg/core.py")
    again = gather_hints(ISSUE, index, buggy=("pkg/core.py",))
    assert again.files[0] == "pkg/core.py"
    assert {suspect.function for suspect in again.suspects} >= {"first", "_take"}


def test_the_test_file_that_the_user_names_is_taken(index: Index) -> None:
    assert gather_hints(ISSUE, index, host="tests/test_other.py").host == "tests/test_other.py"


def test_replay_s_tests_are_hints(engine: Engine, index: Index) -> None:
    made = replay(ISSUE, engine=engine)
    hints = gather_hints(ISSUE, index, engine, attempt=made)
    assert "first([])" in hints.tests[0]


def test_the_report_is_shown_with_all_that_it_says() -> None:
    whole = report_text(ISSUE)
    assert whole.startswith("Hello everybody")
    assert "first() fails" not in whole  # the title is told by itself
    for part in ("first([])", "Traceback", "IndexError", "I would like"):
        assert part in whole


@given(st.text(alphabet="ab \n", max_size=300), st.integers(0, 320))
def test_what_is_shortened_fits_and_says_so(text: str, most: int) -> None:
    short = shorten(text, most)
    if len(text) <= most:
        assert short == text
    else:
        assert len(short) <= max(most, 1) + 8
        assert "…" in short


def test_the_beginning_is_kept_before_the_end() -> None:
    lines = [f"line {number}" for number in range(100)]
    short = shorten("\n".join(lines), 200).split("\n")
    assert (short[0], short[-1]) == ("line 0", "line 99")
    (gap,) = [line for line in short if "left out" in line]
    assert gap == f"[… {101 - len(short)} lines left out …]"


def test_what_only_the_running_of_the_report_made_wrong_is_not_told(
    engine: Engine, index: Index
) -> None:
    text = (
        "# first() of a tuple\n\n"
        "I think that `list(first())` is wrong, as is `shorten_all(text)`.\n\n"
        "```python\nfrom pkg import first\nfirst(my_data)\nfirst([])\n```\n"
    )
    session = "\n".join(gather_hints(read_issue(text, "issue.md"), index, engine).session)
    assert ">>> first([])\nIndexError: list index out of range" in session
    assert "my_data" not in session
    assert "list(first())" not in session
    assert "shorten_all" not in session
    # The same call in a block of code is what the report does.
    block = text.replace("first(my_data)", "first()")
    session = "\n".join(gather_hints(read_issue(block, "issue.md"), index, engine).session)
    assert "missing 1 required positional argument" in session


def test_the_test_file_is_that_of_the_suspects_that_a_model_chose(tmp_path: Path) -> None:
    for name in ("load", "dump"):
        for path, text in (
            (f"pkg/{name}.py", f"def {name}_all(text):\n    return text\n"),
            (f"tests/test_{name}.py", f"def test_{name}():\n    assert {name}_all('') == ''\n"),
        ):
            (tmp_path / path).parent.mkdir(exist_ok=True)
            (tmp_path / path).write_text(text, encoding="utf-8")
    (tmp_path / "pkg/__init__.py").touch()
    issue = read_issue("# Nothing is left of the text\n\nload_all and dump_all lose it.\n", "a.md")
    with open_index(tmp_path) as index:
        hints = gather_hints(issue, index)
        for one in hints.suspects:
            others = tuple(other for other in hints.suspects if other != one)
            found = suspecting(hints, (one, *others), issue, index, None)
            name = one.path.removeprefix("pkg/").removesuffix(".py")
            assert found.files[0] == one.path
            assert found.host == f"tests/test_{name}.py"
    assert {one.path for one in hints.suspects} == {"pkg/load.py", "pkg/dump.py"}


def test_a_vendored_copy_is_neither_suspected_nor_run(tmp_path: Path) -> None:
    code = "def load_all(text):\n    return text\n"
    write_tree(
        tmp_path,
        {
            "pkg/__init__.py": "",
            "pkg/load.py": code,
            "pkg/_vendor/__init__.py": "",
            "pkg/_vendor/load.py": code * 3,
        },
    )
    issue = read_issue("# load_all() loses the text\n\n`load_all('a')` gives ''.\n", "a.md")
    with open_index(tmp_path) as index:
        assert {one.path for one in gather_hints(issue, index).suspects} == {"pkg/load.py"}
    with closing(open_on(tmp_path)) as engine:
        found = find_mentions(engine.subject, ["load_all"])
    assert found == {"load_all": Mentions(defining=("pkg.load",), imports=())}
