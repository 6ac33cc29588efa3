"""A study of two packages, repaired by scripted replies: two strategies, both ways."""

from __future__ import annotations

import json
import re
import shutil
import sys
from collections.abc import Iterable
from pathlib import Path

import pytest

from pytest_brt.evaluate.columns import numbers
from pytest_brt.evaluate.rows.runs import ALONE, WITH_TEST
from pytest_brt.evaluate.write import read_study
from tests.acceptance.examples import EXAMPLES, unpack
from tests.evaluate.bugs import make_bugs
from tests.evaluate.shown import BOTH_WAYS, FILES
from tests.support.sessions import ONCE

pytestmark = [pytest.mark.slow, pytest.mark.long]

#: In the documentation.
#: A package of some size, and what hidden tests ask of it: more than its report.
EXAMPLE = EXAMPLES / "sqlparse-strip-comments"
HIDDEN = """\
import sqlparse


def test_three():
    assert sqlparse.format("--A;\\n--B;\\n--C;", strip_comments=True) == ""


def test_as_ever():
    assert sqlparse.format("select 1 -- a", strip_comments=True) == "select 1"
"""
#: A file, one of its tests, what is replaced in it and by what; for clamp that is no fix.
FIXES = {
    "clamp": (
        "interval/__init__.py",
        "tests/test_interval.py",
        "return max(low, min(value, low))",
        "    return max(low, min(value, low + 0))",
    ),
    "strip_comments": (
        "sqlparse/filters/others.py",
        "tests/test_tokenize.py",
        "            tidx, token = get_next_comment(idx=tidx)\n\n    def process",
        "            tidx, token = get_next_comment(idx=tidx - 1)",
    ),
}


def reply(condition: str, text: str) -> str:
    return f"=== always if: (?s){condition}\n{text}\n"


def action(name: str, **arguments: str) -> str:
    return json.dumps({"thought": "t", "action": name, **arguments})


#: What an agent that has no failing test makes of the same line: nothing is mended by it.
BLIND = {"strip_comments": "            tidx, token = get_next_comment(idx=tidx + 0)"}


def script(bugs: Path, failing: Iterable[str]) -> str:
    """Return the replies to both agents; each depends on what the prompt shows, on no order."""
    answer = r"\n\nassistant: "
    lines = [reply(f"{answer}.*{answer}", action("finish"))]
    # The failing test where one is given, else one of the project's own.
    for path in failing:
        given = f"fails because of the bug\\n{re.escape(path)}: .*{answer}"
        lines.append(reply(given, action("test", path=path)))
    for word, (path, own, old, new) in FIXES.items():
        (tree,) = bugs.glob(f"*/tree/{path}")
        text = tree.read_text("utf-8")
        line = 1 + text[: text.index(old)].count("\n")
        ways = (
            ("surely", "(test fails|all fail):", r"fails because of the bug\n", new),
            ("perhaps", "There is no failing test", "# Where it may be", BLIND.get(word, new)),
        )
        lines.append(reply(f"{word}.*{answer}", action("test", path=own)))
        for how, known, given, code in ways:
            block = f"\n```python\n{code}\n```"
            change = action("change", changes=f"replace {line}") + block
            fix = action("write_fix", changes=f"{path} replace {line}") + block
            lines += [
                reply(f"{word}.*What to change: {how}", change),
                reply(f"{word}.*{known}.*State: collect", fix),
                reply(f"{word}.*{given}", action("edit", path=path, prompt=f"{how}, line {line}")),
            ]
    understand = action("express_hypothesis", hypothesis="h")
    lines = [
        reply("The fix passes the tests and is kept.*State: try", action("goal_accomplished")),
        reply("State: try", action("discard_hypothesis", reason="r")),
        reply("State: understand", understand),
        *(line for line in lines if "State: collect" in line),
        *(line for line in lines if "State: collect" not in line),
    ]
    return "".join(lines)


def make_study(folder: Path) -> Path:
    """Make a folder of two bugs with hidden tests; neither has candidates."""
    bugs = make_bugs(folder, ("clamp",))
    shutil.rmtree(bugs / "clamp/candidates")
    place = bugs / EXAMPLE.name
    place.mkdir()
    shutil.move(unpack(EXAMPLE, folder), place / "tree")
    shutil.copy(EXAMPLE / "issue.md", place)
    shutil.copy(EXAMPLE / "patches/fix-02.diff", place / "fix.diff")
    lines = HIDDEN.splitlines()
    (place / "tests.diff").write_text(
        f"--- /dev/null\n+++ b/tests/test_hidden.py\n@@ -0,0 +1,{len(lines)} @@\n"
        + "".join(f"+{line}\n" for line in lines),
        "utf-8",
    )
    return bugs


def failing_tests(results: Path) -> list[str]:
    """Return the files of the tests that a study kept for its next stages."""
    found = []
    for journal in results.glob("journal-*.jsonl"):
        for line in journal.read_text("utf-8").splitlines():
            value = json.loads(json.loads(line)["value"])
            for attempt in value["attempts"]:
                found += [judged["test"]["path"] for judged in attempt["tests"]]
    return found


@pytest.mark.usefixtures("without_plots")
def test_two_packages(pytester: pytest.Pytester) -> None:
    bugs = make_study(pytester.path)
    replies = pytester.path / "replies.txt"
    replies.write_text("=== reply\n", "utf-8")
    model = f"scripted:{replies}"
    how = ("--strategy=replay", "--samples=1", "--steps=8", "--guard=no", *ONCE.split())
    start = (sys.executable, "-m", "pytest_brt")
    assert pytester.run(*start, "study", "bugs", "--model", model, *how).ret == 0
    results = pytester.path / "brt-results/bugs"
    replies.write_text(script(bugs, failing_tests(results)), "utf-8")
    (pytester.path / "both.toml").write_text(FILES["both.toml"], "utf-8")
    typed = BOTH_WAYS.replace("gguf:MODEL.gguf", model).split()[1:]
    done = pytester.run(*start, *typed, *how, "--variants=0")
    # The tests are those of the first run.
    done.stdout.fnmatch_lines(["2 results taken from an earlier run"])
    _, rows = read_study(results)
    repairs = {(row["strategy"], row["given"], row["bug"]): row for row in rows["runs"]}
    assert len({bug for _, _, bug in repairs}) == 2
    for strategy, step in (("repairagent", 2), ("passerine", 1)):
        given, alone = (
            [row for key, row in repairs.items() if key[:2] == (strategy, way)]
            for way in (WITH_TEST, ALONE)
        )
        # Nobody mends clamp(); without the failing test nobody mends sqlparse either.
        assert sorted(numbers(given, "right")) == [0, 1]
        assert numbers(alone, "right") == [0, 0]
        # What passes no failing test is not kept; what nobody can judge is.
        assert sorted(numbers(given, "fix")) == [0, 1]
        assert numbers(alone, "fix") == [1, 1]
        mine = [row for row in rows["runs"] if row["strategy"] == strategy]
        assert numbers([row for row in mine if row["given"] == WITH_TEST], "first_right") == [step]
    assert len(rows["runs"]) == 8
    assert {(row["given"], row["use"]) for row in rows["runs"]} == {
        (WITH_TEST, "used"),
        (ALONE, "not-given"),
    }
