"""A model's test gets its place, its imports, and what only the host file has."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pytest_brt.code.index import Index, open_index
from pytest_brt.code.placing import place
from pytest_brt.errors import EditProblem
from pytest_brt.issue.load import read_issue
from pytest_brt.observe.suite_folder import SuiteFolder
from pytest_brt.reproduce.model_tests.make import Maker, Settled, settle
from pytest_brt.reproduce.model_tests.split import parses
from pytest_brt.types import Origin
from pytest_brt.types.attempt import PutAtTop
from pytest_brt.types.cause import NoTest
from tests.reproduce.model_tests.replies import CODE, PIECES
from tests.support.trees import write_tree

FILES = {
    "pkg/__init__.py": "from pkg.core import first\n",
    "pkg/core.py": "def first(items):\n    return items[0]\n\n\nclass Box:\n    pass\n",
    "pkg/text.py": "def clean(text):\n    return text\n\n\ndef shout(text):\n    return text\n",
    "tests/unit/test_text.py": (
        "import pytest\n\nfrom pkg.text import clean\n\nSAMPLE = 'a b'\n\n\n"
        "def check(text):\n    return clean(text) == SAMPLE\n\n\n"
        "@pytest.fixture\ndef sample(tmp_path):\n    return SAMPLE\n\n\n"
        "def test_clean(sample):\n    assert check(sample)\n"
    ),
    "tests/within/conftest.py": ("import pytest\n\n\n@pytest.fixture\ndef deep():\n    return 1\n"),
    "tests/within/test_deep.py": (
        "from pkg.text import shout as clean, TimeoutError\n\n\n"
        "def test_deep(deep):\n    assert deep\n"
    ),
    "tests/test_core.py": "from pkg.core import Box\n\n\ndef test_box():\n    assert Box()\n",
}


@pytest.fixture(scope="module")
def index(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Index]:
    root = tmp_path_factory.mktemp("settle")
    write_tree(root, FILES)
    with open_index(root) as opened:
        yield opened


def settled(source: str, index: Index, host: str = "") -> Settled:
    return settle(source, index, folder=SuiteFolder(path="tests"), host=host)


def test_what_cannot_be_run_in_its_file_goes_to_the_top(index: Index) -> None:
    note = PutAtTop(folder="tests", cause=NoTest(), raised=None)
    top = SuiteFolder(path=".", note=note)
    source = "def test_a():\n    assert clean('a')\n"
    found = settle(source, index, folder=top, host="tests/within/test_deep.py")
    assert (found.host, found.folder) == ("", "")
    # What the file means by a name counts all the same.
    assert found.source.startswith("from pkg.text import shout as clean\n")


def test_missing_imports_are_added(index: Index) -> None:
    found = settled("def test_a():\n    assert clean('a') == Box() and pytest and first\n", index)
    imports = found.source.split("\n\n\n")[0].split("\n")
    assert set(imports) == {
        "from pkg.text import clean",
        "from pkg.core import Box",
        "import pytest",
        "from pkg import first",
    }
    assert found.problems == ()


@pytest.mark.parametrize(
    "line",
    [
        "from pkg.nowhere import clean",
        "from pkg import clean",
        "from src.pkg.text import clean",
        "from .text import clean",
        "from ..pkg.text import clean",
    ],
)
def test_an_import_that_cannot_work_is_looked_for(line: str, index: Index) -> None:
    found = settled(f"{line}\n\n\ndef test_a():\n    assert clean('a') == ''\n", index)
    assert found.source.startswith("from pkg.text import clean\n\n\ndef test_a")


def test_of_an_import_only_the_wrong_name_is_looked_for(index: Index) -> None:
    found = settled("from pkg.core import Box, clean\n\n\ndef test_a():\n    clean(Box())\n", index)
    assert found.source.split("\n\n\n")[0] == (
        "from pkg.text import clean\nfrom pkg.core import Box"
    )


def test_what_cannot_be_found_is_told(index: Index) -> None:
    found = settled("from pkg.core import shouts\n\n\ndef test_a():\n    shouts('a')\n", index)
    assert found.problems == ("'pkg.core' has no 'shouts' (is it 'shout'?)",)


def test_helpers_and_fixtures_of_the_host_come_along(index: Index) -> None:
    found = settled("def test_a(sample):\n    assert check(sample)\n", index)
    assert (found.host, found.folder) == ("tests/unit/test_text.py", "tests/unit")
    source = found.source
    assert found.problems == ()
    # As the file has them, so that they are known for the same when the test goes there.
    for text in ("SAMPLE = 'a b'", "def check(", "@pytest.fixture\ndef sample(", "import pytest"):
        assert source.count(text) == 1, source
    place(source, found.host, FILES[found.host].encode())


def test_a_host_that_has_the_fixtures_is_taken(index: Index) -> None:
    source = "def test_a(deep, tmp_path):\n    assert Box()\n"
    for host in ("", "tests/test_core.py"):
        assert settled(source, index, host=host).host == "tests/within/test_deep.py"
    nobody = settled("def test_a(unknown):\n    assert Box()\n", index)
    assert nobody.host == "tests/test_core.py"


def test_what_a_name_means_in_the_host_comes_first(index: Index) -> None:
    source = "def test_a():\n    assert clean('a')\n"
    found = settled(source, index, host="tests/within/test_deep.py")
    assert found.source.startswith("from pkg.text import shout as clean\n")
    source = "def test_a():\n    with pytest.raises(TimeoutError):\n        len(OSError)\n"
    found = settled(source, index, host="tests/within/test_deep.py")
    assert "from pkg.text import TimeoutError\n" in found.source
    assert "OSError" not in found.source.split("\n\n\n")[0]


@pytest.mark.parametrize(
    ("code", "line"),
    [
        ("datetime.now()", "from datetime import datetime"),
        ("datetime(2020, 1, 1)", "from datetime import datetime"),
        ("datetime.datetime.now()", "import datetime"),
        ("datetime.UTC", "import datetime"),
        ("Path('a')", "from pathlib import Path"),
        ("mock.patch('a')", "from unittest import mock"),
        ("platform.node()", "import platform"),
        ("Box()", "from pkg.core import Box"),
    ],
)
def test_names_that_need_no_project_are_known(code: str, line: str, index: Index) -> None:
    found = settled(f"def test_a():\n    clean({code})\n", index)
    assert line in found.source.split("\n\n\n")[0].split("\n")
    assert found.problems == ()


def test_a_given_host_is_kept(index: Index) -> None:
    found = settled("def test_a():\n    clean('a')\n", index, host="tests/test_core.py")
    assert (found.host, found.folder) == ("tests/test_core.py", "tests")


#: A file of tests with a stretch taken out of it.
TORN = st.builds(
    lambda start, size: CODE[:start] + CODE[start + size :],
    st.integers(0, len(CODE)),
    st.integers(0, 200),
)


@settings(max_examples=30)
@given(text=st.one_of(st.text(max_size=80), st.lists(PIECES, max_size=12).map("".join), TORN))
def test_post_processing_never_raises_and_what_is_placed_parses(text: str, index: Index) -> None:
    issue = read_issue("# clean() is wrong\n\nclean('a') gives 'b'.", "issue.md")
    maker = Maker(issue=issue, index=index, folder=SuiteFolder(path="tests"))
    for made in maker.make(text, Origin(strategy="libro")):
        assert parses(made.test.source or "")
        assert made.test.name.rpartition("::")[2].startswith("test")
        assert Path(made.test.path).name.startswith("test_")
        host = made.test.host
        if host:
            try:
                placed = place(made.test.source or "", host, FILES[host].encode())
            except EditProblem as problem:
                # The test gets a file of its own then: names clash, or something runs beside it.
                beside = ("choose another file", "outside of its functions")
                assert any(reason in str(problem) for reason in beside)  # noqa: PT017
            else:
                assert parses(placed.edit.after.decode())
