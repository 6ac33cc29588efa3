"""Tests that patches bring: found, judged on the unpatched tree, and not about their own patch."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import pytest

from pytest_brt.patches import canonical_diff
from pytest_brt.patches.changes import touched_of
from pytest_brt.rank.evaluate import evaluate
from pytest_brt.rank.patch_tests import find_patch_tests, is_own, judge_patch_tests
from pytest_brt.sandbox.placing import Test, place_tests
from pytest_brt.sandbox.run_tests import Runner
from pytest_brt.types import FileChange, JudgedTest, Patch, Verdict
from tests.support.projects import open_on
from tests.support.trees import write_tree

CORE = """\
def parse(text):
    number, unit = text.split()
    factor = {"B": 1, "KB": 1024, "MB": 1024 ** 2}[unit]
    return int(float(number)) * factor
"""
SUITE = "from core import parse\n\n\ndef test_whole():\n    assert parse('2 KB') == 2048\n"
RIGHT = CORE.replace("int(float(number)) * factor", "int(float(number) * factor)")
SPECIAL = CORE.replace(
    "    number, unit", "    if text == '0.5 MB':\n        return 524288\n    number, unit"
)
HALF = "def test_half():\n    assert parse('0.5 MB') == 524288\n"


@pytest.fixture(scope="module")
def engine(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Runner]:
    root = tmp_path_factory.mktemp("brought") / "project"
    write_tree(root, {"core.py": CORE, "tests/test_core.py": SUITE, "pkg/__init__.py": ""})
    with closing(open_on(root)) as engine:
        yield engine


def patch_of(root: Path, name: str, files: dict[str, str], source: str = "") -> Patch:
    changes = [FileChange(path=path, content=text.encode()) for path, text in files.items()]
    return Patch(id=name, name=name, text=canonical_diff(changes, root), source=source)


def judged(engine: Runner, patches: list[Patch]) -> tuple[JudgedTest, ...]:
    root = Path(engine.subject.root)
    tests = find_patch_tests(patches, root, "")
    return judge_patch_tests(tests, tuple(touched_of(patches, root)), engine, None, 2)


def reasons(engine: Runner, *patches: Patch) -> dict[str, str]:
    """Return why each test has no vote, "" for one that has."""
    return {
        found.test.name: "" if found.judgement.candidate else found.judgement.reason
        for found in judged(engine, list(patches))
    }


def test_equal_tests_are_one_that_speaks_of_none_who_brought_it(engine: Runner) -> None:
    root = Path(engine.subject.root)
    renamed = HALF.replace("test_half", "test_other").replace("'", '"')
    patches = [
        patch_of(root, name, {"core.py": RIGHT, "tests/test_core.py": f"{SUITE}\n\n{test}"}, source)
        for name, test, source in (("a", HALF, "ann"), ("b", renamed, "bob"))
    ]
    (found,) = judged(engine, patches)
    assert (found.test.origin.patches, found.test.origin.sources) == (("a", "b"), ("ann", "bob"))
    other = patch_of(root, "c", {"core.py": SPECIAL}, "ann")
    assert [is_own(found, patch) for patch in (*patches, other)] == [True, True, True]
    stranger = patch_of(root, "d", {"core.py": SPECIAL})
    assert not is_own(found, stranger)


def test_what_a_test_must_not_be(engine: Runner) -> None:
    root = Path(engine.subject.root)
    new_name = f"{RIGHT}\n\ndef size(text):\n    return parse(text)\n"
    tests = {
        "test_passes": "assert parse('1 B') == 1",
        "test_new_name": "import core\n    assert core.size('0.5 KB') == 512",
        "test_elsewhere": "assert 1 == 2",
        "test_own_name": "assert undefined == 2",
        "test_counts": "assert parse('0.5 KB') == 512",
    }
    source = "".join(f"\n\ndef {name}():\n    {body}\n" for name, body in tests.items())
    patch = patch_of(root, "a", {"core.py": new_name, "tests/test_core.py": SUITE + source})
    assert reasons(engine, patch) == {
        "test_passes": "passes on this tree",
        "test_new_name": "needs something that only its patch brings",
        "test_elsewhere": "runs nothing that a patch changes",
        "test_own_name": "error in the test itself: NameError: name 'undefined' is not defined",
        "test_counts": "",
    }


def test_fixtures_and_data_come_along(engine: Runner) -> None:
    root = Path(engine.subject.root)
    fixture = "import pytest\n\n\n@pytest.fixture\ndef half():\n    return '0.5 KB'\n"
    test = "from core import parse\n\n\ndef test_fixture(half):\n    assert parse(half) == 512\n"
    data = (
        "from pathlib import Path\nfrom core import parse\n\n\ndef test_data():\n"
        "    assert parse(Path('tests/half.txt').read_text()) == 512\n"
    )
    with_conftest = patch_of(
        root, "a", {"core.py": RIGHT, "tests/conftest.py": fixture, "tests/test_more.py": test}
    )
    with_data = patch_of(
        root, "b", {"core.py": RIGHT, "tests/half.txt": "0.5 KB", "tests/test_data.py": data}
    )
    tests = judged(engine, [with_conftest, with_data])
    assert [found.judgement.candidate for found in tests] == [True, True]
    assert len(place_tests([Test.of(found.test) for found in tests])) == 2
    other = patch_of(root, "c", {"core.py": RIGHT})
    cells = evaluate(other, tests, engine).cells
    assert [cell.verdict for cell in cells] == [Verdict.PASS, Verdict.PASS]
