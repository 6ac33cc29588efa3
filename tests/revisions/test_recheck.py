"""A recorded run is run again, and its verdicts are compared."""

from __future__ import annotations

import os
from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path

import pytest

from pytest_brt.code.scan import RECORDED_REPORT
from pytest_brt.codec import to_json
from pytest_brt.errors import StoreProblem
from pytest_brt.execute.engine import Engine
from pytest_brt.render.entries import judged_entry, patch_entry
from pytest_brt.render.report import PatchEntry, Ranking, TestEntry
from pytest_brt.revisions.recheck import Comparison, patch_file, read_report, recheck
from pytest_brt.types import Lack, NoneFixes, Verdict
from tests.render.pages import report_of
from tests.render.samples import record
from tests.support.interval import FIXES, SOURCE, TESTS, diff_of
from tests.support.projects import open_on
from tests.support.rows import broken, judged, row

TEST = "from interval import clamp\n\n\ndef test_clamp():\n    assert clamp(12, 0, 10) == 10\n"
RIGHT = diff_of(SOURCE.replace("    return max(low, min(value, low))\n", FIXES["a-right"]))


TESTED = replace(
    judged_entry(judged(0), ""), file="tests/test_new.py", name="test_clamp", source=TEST
)
EMPTY = Ranking(
    issue="",
    answer=NoneFixes(lack=Lack.NONE_PASSES),
    verdict="",
    headline="",
    patches=(),
    not_run=None,
    selected={},
    disputes=(),
    tellings=(),
    notes=(),
)
PATCHED = replace(patch_entry(row("right.diff", "p")), id="p")


@dataclass(frozen=True, slots=True)
class Kept:
    """A record, as `--brt-record` writes it, that a test may spoil."""

    folder: Path
    engine: Engine

    def report(self, test: TestEntry = TESTED, patch: PatchEntry = PATCHED) -> None:
        ranking = replace(EMPTY, patches=(patch,))
        kept = replace(report_of(record()), tests=(test,), rankings=(ranking,))
        (self.folder / RECORDED_REPORT).write_text(to_json(kept), "utf-8")
        (self.folder / "patches").mkdir(exist_ok=True)
        (self.folder / patch_file("p")).write_text(RIGHT, "utf-8")

    def compare(self) -> list[Comparison]:
        return list(recheck(self.folder, self.engine))


@pytest.fixture(scope="module")
def engine(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Engine]:
    root = tmp_path_factory.mktemp("recheck") / "tree"
    (root / "interval").mkdir(parents=True)
    (root / "interval/__init__.py").write_text(SOURCE, "utf-8")
    (root / "tests").mkdir()
    (root / "tests/test_interval.py").write_text(TESTS, "utf-8")
    engine = open_on(root)
    yield engine
    engine.close()


@pytest.fixture
def kept(engine: Engine, tmp_path: Path) -> Kept:
    kept = Kept(tmp_path, engine)
    kept.report()
    return kept


def test_what_was_recorded_is_seen_again(kept: Kept) -> None:
    before, after = kept.compare()
    assert (before.patch, before.then, before.now) == ("", Verdict.FAIL, Verdict.FAIL)
    assert (after.patch, after.then, after.now) == ("right.diff", Verdict.PASS, Verdict.PASS)
    assert before.same
    assert after.same


def test_a_forged_verdict_is_told(kept: Kept) -> None:
    kept.report(patch=patch_entry(row("p", "c")))
    assert [compared.same for compared in kept.compare()] == [True, False]


def test_a_forged_regression_is_told(kept: Kept) -> None:
    entry = patch_entry(row("p", "p", guarded=broken(1)))
    assert entry.existing is not None
    forged = replace(entry.broken[0], test="tests/test_interval.py::test_inside")
    kept.report(patch=replace(entry, existing=replace(entry.existing, broken=(forged,))))
    assert [compared.same for compared in kept.compare()] == [True, True, False]


def test_a_patch_that_does_not_apply_any_more_is_told(kept: Kept) -> None:
    place = kept.folder / patch_file("p")
    place.write_text(RIGHT.replace("min(value, low)", "min(value, lower)"), "utf-8")
    assert [(compared.test, compared.same) for compared in kept.compare()] == [
        ("test_clamp", True),
        ("", False),
    ]


@pytest.mark.parametrize("path", ["/etc/x.py", "../x.py", "-p", "", "a\nb.py"])
def test_a_test_outside_of_the_project_is_refused(kept: Kept, path: str) -> None:
    kept.report(test=replace(TESTED, file=path))
    with pytest.raises(StoreProblem, match="names a test outside the project"):
        kept.compare()


@pytest.mark.parametrize("text", ["", "{", "[]", '{"tests": []}', "\x00"])
def test_a_broken_report_is_refused_in_one_line(kept: Kept, text: str) -> None:
    (kept.folder / RECORDED_REPORT).write_text(text, "utf-8")
    with pytest.raises(StoreProblem, match=r"brt-report.json.*\(record it again\)") as problem:
        read_report(kept.folder)
    assert "\n" not in str(problem.value)


def test_a_missing_patch_a_link_and_a_pipe_are_refused(kept: Kept) -> None:
    place = kept.folder / patch_file("p")
    place.unlink()
    with pytest.raises(StoreProblem, match="cannot read"):
        kept.compare()
    place.symlink_to(kept.folder / RECORDED_REPORT)
    with pytest.raises(StoreProblem, match="is a link"):
        kept.compare()
    place.unlink()
    os.mkfifo(place)
    with pytest.raises(StoreProblem, match="cannot read"):
        kept.compare()


def test_a_folder_that_is_a_link_is_refused(
    kept: Kept, tmp_path_factory: pytest.TempPathFactory
) -> None:
    elsewhere = tmp_path_factory.mktemp("elsewhere")
    (kept.folder / "patches").rename(elsewhere / "patches")
    (kept.folder / "patches").symlink_to(elsewhere / "patches")
    with pytest.raises(StoreProblem, match="is a link"):
        kept.compare()
