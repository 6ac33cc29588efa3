"""Where no test can be run among the project's own tests, they are run at its top."""

from __future__ import annotations

from contextlib import closing
from pathlib import Path

import pytest

from pytest_brt.render.notes import note_sentence
from pytest_brt.types.attempt import PutAtTop
from tests.reproduce.replay.project import attempt, candidates, make_project
from tests.support.projects import open_on

REPORT = "double is off by one\n\n```\n>>> from pkg import double\n>>> double(4)\n9\n```\n"
BROKEN = {
    "its plugin is not installed": (
        "import pytest\n\n@pytest.fixture(autouse=True)\ndef base(no_such_plugin): ...\n",
        "fixture 'no_such_plugin' not found",
    ),
    "its imports are missing": ("import no_such_module\n", "No module named 'no_such_module'"),
}


@pytest.mark.parametrize(("conftest", "why"), BROKEN.values(), ids=BROKEN)
def test_tests_are_put_where_they_can_be_run(tmp_path: Path, conftest: str, why: str) -> None:
    root = make_project(tmp_path)
    (root / "tests").mkdir(exist_ok=True)
    (root / "tests/test_old.py").write_text("def test_old(): ...\n", "utf-8")
    (root / "tests/conftest.py").write_text(conftest, "utf-8")
    with closing(open_on(root)) as engine:
        made = attempt(engine, REPORT)
    assert [Path(item.test.path).parent for item in candidates(made)] == [Path()]
    (note,) = made.notes
    assert isinstance(note, PutAtTop)
    assert note.folder == "tests"
    assert why in note_sentence(note)


def test_where_none_can_be_run_there_either_they_stay(tmp_path: Path) -> None:
    root = make_project(tmp_path)
    (root / "tests").mkdir(exist_ok=True)
    (root / "tests/test_old.py").write_text("def test_old(): ...\n", "utf-8")
    (root / "conftest.py").write_text("import no_such_module\n", "utf-8")
    with closing(open_on(root)) as engine:
        made = attempt(engine, REPORT)
    assert {Path(item.test.path).parent for item in made.tests} == {Path("tests")}
    assert (candidates(made), made.notes) == ([], ())
