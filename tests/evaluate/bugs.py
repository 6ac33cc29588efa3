"""Bugs to study."""

from __future__ import annotations

from pathlib import Path

from tests.support.interval import CLAMP, CLAMP_ISSUE, FIXES, SOURCE, TESTS, diff_of

#: Tests of the project with those that show the bug.
HIDDEN = TESTS + "\n\ndef test_inside():\n    assert clamp(5, 0, 10) == 5\n"
HIDDEN += "\n\ndef test_above():\n    assert clamp(12, 0, 10) == 10\n"


TEST_PATCH = diff_of(HIDDEN, "tests/test_interval.py", TESTS)


def fix(name: str) -> str:
    return diff_of(SOURCE.replace(CLAMP, FIXES[name]))


def make_bugs(folder: Path, names: tuple[str, ...] = ("clamp", "lost")) -> Path:
    """Make a folder of bugs; the one called "lost" cannot be set up."""
    for name in names:
        place = folder / "bugs" / name
        (place / "tree/interval").mkdir(parents=True)
        (place / "tree/interval/__init__.py").write_text(SOURCE, "utf-8")
        (place / "tree/tests").mkdir()
        (place / "tree/tests/test_interval.py").write_text(TESTS, "utf-8")
        (place / "issue.md").write_text(CLAMP_ISSUE, "utf-8")
        (place / "fix.diff").write_text(fix("a-right"), "utf-8")
        (place / "tests.diff").write_text(TEST_PATCH, "utf-8")
    candidates = folder / "bugs/clamp/candidates"
    candidates.mkdir()
    for name in FIXES:
        (candidates / f"{name}.diff").write_text(fix(name), "utf-8")
    if "lost" in names:
        (folder / "bugs/lost/fix.diff").write_text(fix("a-right").replace("value", "x"), "utf-8")
    return folder / "bugs"


#: Without matplotlib everything but the plots is there; drawing takes two seconds of a study.
NO_MATPLOTLIB = "raise ImportError('not here', name='matplotlib')"
