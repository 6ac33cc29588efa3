from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from pytest_brt.project.index import Index, open_index
from pytest_brt.reproduce.auto import is_in_report
from pytest_brt.reproduce.extract import code_in, read_tests, split_tests
from pytest_brt.reproduce.reduce import without_assertions
from pytest_brt.types import Issue, Origin

TEST = "def test_a():\n    assert f(1) == 2\n"
ISSUE = Issue(
    id="i", source="issue.md", title="f is off", text="# f is off\n\n`f(1)` should be 2.", blocks=()
)


@pytest.fixture
def index(tmp_path: Path) -> Iterator[Index]:
    (tmp_path / "pkg.py").write_text("def f(x):\n    return x\n\n\nclass Box:\n    pass\n", "utf-8")
    (tmp_path / "tests").mkdir()
    (tmp_path / "tests/test_pkg.py").write_text(
        "import json\n\nimport pytest\n\nfrom pkg import f\n\n\n@pytest.fixture\ndef one():\n"
        "    return 1\n\n\ndef twice(x):\n    return f(x) * 2\n\n\ndef test_f(one):\n"
        "    assert f(one) == 1\n",
        "utf-8",
    )
    with open_index(tmp_path) as found:
        yield found


@pytest.mark.parametrize(
    "reply",
    [
        f"```python\n{TEST}```",
        f"Here it is:\n\n```py\n{TEST}```\nIt fails.",
        f"```python\n{TEST}",
        f"Try this.\n\n{TEST}",
        f"```sh\npytest\n```\n\n```python\n{TEST}```",
        f"```python\n{TEST}\n\ndef test_b():\n    assert f(",
        "```diff\n--- a/t.py\n+++ b/t.py\n@@ -1,2 +1,4 @@\n import os\n+def test_a():\n"
        "+    assert f(1) == 2\n```",
    ],
)
def test_code_is_found_in_a_reply(reply: str) -> None:
    assert code_in(reply).endswith(TEST)


def test_no_code_is_no_test() -> None:
    assert list(split_tests(code_in("I do not know."))) == []


def test_marks_that_hide_what_a_test_does_go_and_texts_stay() -> None:
    marks = (
        '@pytest.mark.skipif(\n    True,\n    reason="no",\n)\n@pytest.mark.parametrize("n", [1])\n'
    )
    text = '    text = """\n    @pytest.mark.skip\n    def test_b(): pass\n    """\n'
    code = f"import pytest\n\n\n{marks}def test_a(n):\n{text}    assert text == n\n"
    ((name, source),) = split_tests(code)
    assert name == "test_a"
    assert source == code.replace(marks, '@pytest.mark.parametrize("n", [1])\n')


def test_a_fixture_that_the_host_imports_is_imported(index: Index, tmp_path: Path) -> None:
    (tmp_path / "tests/__init__.py").write_text(
        "import pytest\n\n\n@pytest.fixture\ndef made():\n    return 1\n", "utf-8"
    )
    host = tmp_path / "tests/test_made.py"
    host.write_text("from . import made\n\n\ndef test_f(made):\n    assert made\n", "utf-8")
    with open_index(tmp_path) as now:
        reply, name = "def test_a(made):\n    assert made == 2\n", "tests/test_made.py"
        (one,) = read_tests(reply, ISSUE, now, Origin(strategy="libro"), "tests", name)
    assert "from tests import made\n" in (one.source or "")


def test_each_test_stands_alone() -> None:
    code = (
        "import os\nimport re\n\n\ndef helper():\n    return re.compile('a')\n\n\n"
        "def test_a():\n    assert helper()\n\n\nclass TestX:\n    def set_up(self):\n"
        "        self.x = 1\n\n    def test_b(self):\n        assert os.sep\n\n"
        "    def test_c(self):\n        assert 0\n\n\nif __name__ == '__main__':\n    test_a()\n"
    )
    found = dict(split_tests(code))
    assert list(found) == ["test_a", "TestX::test_b", "TestX::test_c"]
    assert "import os" not in found["test_a"]
    assert "def helper" in found["test_a"]
    assert "__main__" not in found["test_a"]
    assert "def set_up" in found["TestX::test_b"]
    assert "test_c" not in found["TestX::test_b"]


def test_a_class_without_its_base_gets_that_of_unittest() -> None:
    for head, asserts in (("BoxTests", "assert 0"), ("TestBox", "self.assertEqual(f(1), 2)")):
        ((_, source),) = split_tests(f"class {head}:\n    def test_a(self):\n        {asserts}\n")
        assert source.startswith(f"class {head}(unittest.TestCase):\n")
    code = "class TestBox:\n    def test_a(self):\n        assert 0\n"
    other = "class Other(Base):\n    def test_b(self): self.assertTrue(0)\n"
    assert [*split_tests(code + other)] == [("TestBox::test_a", code)]


def extract(index: Index, reply: str) -> tuple[str, str]:
    (test,) = read_tests(reply, ISSUE, index, Origin(strategy="libro", model="m"), "tests")
    return test.source or "", test.host


def test_imports_and_helpers_come_from_the_host(index: Index) -> None:
    source, host = extract(index, "def test_a(one):\n    assert twice(one) == f(2)\n")
    assert host == "tests/test_pkg.py"
    assert "from pkg import f" in source
    assert "def twice(x):" in source
    assert "def one():" in source
    assert "import json" not in source


def test_an_import_that_cannot_work_is_looked_for(index: Index) -> None:
    reply = "from pkg.boxes import Box\n\n\ndef test_a():\n    assert Box() == 1\n"
    source, _ = extract(index, reply)
    assert source == "from pkg import Box\n\n\ndef test_a():\n    assert Box() == 1\n"


def test_a_quotation_stands_in_the_report() -> None:
    assert is_in_report("f(1) should be 2", ISSUE)
    for quote in ("the answer should be five", "be 2", ""):
        assert not is_in_report(quote, ISSUE)


def test_assertions_before_the_failing_one_go() -> None:
    source = "def test_a():\n    items = [1]\n    assert items\n    assert items == [2]\n"
    short = "def test_a():\n    items = [1]\n    assert items == [2]\n"
    assert without_assertions(source, 4) == short
    assert without_assertions(source, 2) == source
