"""Of several patches the right one is first, ties are ties, and what decides is said."""

from __future__ import annotations

import resource

import pytest

from tests.scenarios.project import Make, Project, Run
from tests.scenarios.samples import CLAMP, CLAMP_RIGHT, CLAMP_TEST, FILES, INTERVAL

SIZES = '''\
UNITS = ("B", "KB", "MB")


def parse_size(text):
    """Return the bytes of a text as in "2 KB"."""
    number, unit = text.split()
    return int(number) * 1024 ** UNITS.index(unit)
'''
SIZES_SUITE = """\
import pytest
from sizes import parse_size


def test_bytes():
    assert parse_size("7 B") == 7


def test_megabytes():
    assert parse_size("2 MB") == 2097152


def test_refused():
    with pytest.raises(ValueError):
        parse_size("many KB")
"""
SIZES_REPORT = """\
# parse_size() knows no fractions

```
>>> from sizes import parse_size
>>> parse_size("1.5 KB")
Traceback (most recent call last):
  File "sizes.py", line 7, in parse_size
    return int(number) * 1024 ** UNITS.index(unit)
ValueError: invalid literal for int() with base 10: '1.5'
```

`parse_size("1.5 KB")` should return `1536`.
"""
SIZES_TEST = """\
from sizes import parse_size


def test_fraction():
    assert parse_size("1.5 KB") == 1536
"""
RETURN = "    return int(number) * 1024 ** UNITS.index(unit)\n"
RIGHT = "    return int(float(number) * 1024 ** UNITS.index(unit))\n"
SIZES_PATCHES = {
    "right": RIGHT,
    "special": f'    if text == "1.5 KB":\n        return 1536\n{RETURN}',
    "swallow": f"    try:\n    {RETURN}    except ValueError:\n        return 0\n",
    "breaks": "    return int(float(number) * 1024)\n",
}


@pytest.fixture(scope="module")
def sizes(make: Make) -> Project:
    project = make({"sizes.py": SIZES, "test_sizes.py": SIZES_SUITE, "issue.md": SIZES_REPORT})
    project.patches("sizes.py", RETURN, **SIZES_PATCHES)
    return project


@pytest.fixture(scope="module")
def ranked(sizes: Project) -> Run:
    """Return the usual run: a report, four patches."""
    return sizes.rank("--brt-issue=issue.md")


def test_the_right_patch_is_above_all_others(ranked: Run) -> None:
    assert ranked.code in (0, 7), ranked.said
    ranking = ranked.report.ranking
    assert ranking.order("special", "swallow", "breaks", "right")[0] == "right"
    ranks = ranking["right"].ranks
    assert ranks is not None
    assert ranks[0] == 1
    assert ranking["right"].epr == 1.0
    assert not ranking["right"].broken


def test_a_patch_for_the_reported_input_alone_is_named(ranked: Run) -> None:
    ranking = ranked.report.ranking
    assert "singles-out-input" in ranking["special"].remarks
    assert "singles-out-input" not in ranking["right"].remarks
    assert ranking.order("special", "right") == ["right", "special"]


def test_a_patch_that_swallows_the_error_fails_by_the_stated_value(ranked: Run) -> None:
    swallow = ranked.report.ranking["swallow"]
    assert "FAIL" in swallow.results.values()
    assert swallow.epr != 1.0


def test_what_a_patch_breaks_is_named(ranked: Run) -> None:
    ranking = ranked.report.ranking
    names = {"test_sizes.py::test_bytes", "test_sizes.py::test_megabytes"}
    assert set(ranking["breaks"].broken) == names
    assert ranking["swallow"].broken == ("test_sizes.py::test_refused",)
    assert {one.ran for one in ranking.patches} == {3}


def test_a_persons_test_is_believed(make: Make) -> None:
    project = make({"sizes.py": SIZES, "test_sizes.py": SIZES_SUITE})
    project.write({"test_mine.py": SIZES_TEST})
    project.patches("sizes.py", RETURN, right=RIGHT, special=SIZES_PATCHES["special"])
    run = project.rank("--brt-tests=test_mine.py", "--brt-guard=no")
    assert run.code == 0, run.said
    assert (run.report.ranking.status, run.report.ranking.leader) == ("best", "right.diff")
    (given,) = run.report.tests
    assert (given.confidence, given.measured) == (1, 0)


CASES = """\
import pytest
from interval import clamp


@pytest.mark.parametrize("given", [5, 7])
def test_inside(given):
    assert clamp(given, 0, 10) == given
"""


def test_the_share_of_a_persons_cases_that_a_patch_passes(make: Make) -> None:
    project = make({**FILES, "mine.py": CASES})
    literal = f"5 if value == 5 else {CLAMP.removeprefix('return ')}"
    project.patches("interval.py", CLAMP, right=CLAMP_RIGHT, literal=literal)
    ranking = project.rank("--brt-tests=mine.py", "--brt-guard=no").report.ranking
    assert (ranking["right"].epr, ranking["literal"].epr) == (1.0, 0.5)


def test_patches_that_behave_alike_are_level(make: Make) -> None:
    project = make({**FILES, "mine.py": CLAMP_TEST})
    project.patches(
        "interval.py",
        CLAMP,
        first=CLAMP_RIGHT,
        second="min(high, max(value, low))",
        wrong="max(high, min(value, low))",
    )
    run = project.rank("--brt-tests=mine.py", "--brt-guard=no")
    assert run.code == 7, run.said
    ranking = run.report.ranking
    assert (ranking.status, ranking.leader) == ("tie", "")
    assert ranking["first"].ranks == ranking["second"].ranks == (1, 2)
    assert ranking["wrong"].ranks == (3, 3)


DIFFERENT = {
    "whole": "    return float(text.split()[0]) * 1024 ** UNITS.index(text.split()[1])\n",
    "three": "    return float(text[:3]) * 1024 ** UNITS.index(text[-2:].strip())\n",
}


@pytest.fixture(scope="module")
def different(make: Make) -> Run:
    """Return a ranking of two patches that pass the same tests, and differ on another size."""
    project = make({"sizes.py": SIZES, "issue.md": SIZES_REPORT})
    body = SIZES[SIZES.index("    number, unit") :]
    project.patches("sizes.py", body, **DIFFERENT)
    return project.rank("--brt-issue=issue.md", "--brt-guard=no")


def test_a_call_on_which_leaders_differ_is_shown(different: Run) -> None:
    assert different.code == 7, different.said
    ((call, gives),) = different.report.ranking.variations.items()
    assert "parse_size(" in call
    assert gives["whole.diff"] != gives["three.diff"]


def test_patches_that_differ_on_a_shown_call_are_not_called_alike(different: Run) -> None:
    assert different.report.ranking.variations
    assert different.report.ranking.level != "behaviour"


def test_a_patch_that_still_raises_on_a_variation_is_behind(make: Make) -> None:
    shown = SIZES_REPORT[: SIZES_REPORT.index("`parse_size(")]
    project = make({"sizes.py": SIZES, "issue.md": shown})
    table = f"    number = {{'1.5': 2}}.get(number, number)\n{RETURN}"
    project.patches("sizes.py", RETURN, right=RIGHT, table=table)
    ranking = project.rank("--brt-issue=issue.md", "--brt-guard=no").report.ranking
    assert ranking.order("table", "right") == ["right", "table"]
    assert "singles-out-input" in ranking["table"].remarks
    assert "singles-out-input" not in ranking["right"].remarks


BAG = 'def size(items):\n    """Return the number of items."""\n    return len(items) - 1\n'
BAG_SUITE = "import bag\n\n\ndef test_callable():\n    assert bag.size([1, 2]) >= 0\n"
COUNT = "    return len(items) - 1\n"


def test_without_a_report_the_tests_that_patches_bring_decide(make: Make) -> None:
    """One patch brings a test: the others fail it, and a patch that does nothing is not first."""
    project = make({"bag.py": BAG, "test_bag.py": BAG_SUITE})
    project.patches(
        "bag.py",
        COUNT,
        noop="    count = len(items)\n    return count - 1\n",
        wrong="    return max(len(items) - 1, 0)\n",
    )
    test = f"{BAG_SUITE}\n\ndef test_size():\n    assert bag.size([1, 2]) == 2\n"
    fixed = BAG.replace(COUNT, "    return len(items)\n")
    project.patch("right", {"bag.py": fixed, "test_bag.py": test})
    unread = {"bag.py": BAG.replace(COUNT, "    return len(items"), "test_bag.py": test}
    project.patch("unread", unread)
    run = project.rank()
    assert run.code == 7, run.said
    ranking = run.report.ranking
    assert ranking.order("noop", "wrong", "unread", "right")[0] == "right"
    assert ranking.reason == "own-tests"
    (brought,) = run.report.bug_tests
    assert brought.brought_by == ("right.diff", "unread.diff")
    assert ranking["noop"].results == ranking["wrong"].results == {brought.name: "FAIL"}
    assert "from right.diff" in project.run("pytest-brt", "review").out
    assert project.run("pytest-brt", "review", "--accept", "T1").code == 0
    again = project.rank()
    assert again.code == 0, again.said
    assert (again.report.ranking.status, again.report.ranking.leader) == ("best", "right.diff")
    assert len(again.report.bug_tests) == 1
    assert ranking["unread"].epr == 0.0, "it fails its own test, as all others"


def test_a_value_of_a_call_in_a_test_that_a_patch_brings_is_accepted(make: Make) -> None:
    project = make({"bag.py": BAG, "test_bag.py": BAG_SUITE})
    project.patches("bag.py", COUNT, two="    return 2\n")
    test = f"{BAG_SUITE}\n\ndef test_size():\n    assert bag.size([1, 2]) == 2\n"
    fixed = BAG.replace(COUNT, "    return len(items)\n")
    project.patch("right", {"bag.py": fixed, "test_bag.py": test})
    assert project.rank().report.ranking.status == "tie"
    lines = project.run("pytest-brt", "review").out.splitlines()
    (key,) = [line.split()[0] for line in lines if "gives `1` (right.diff)" in line]
    project.run("pytest-brt", "review", "--accept", key)
    ranking = project.rank().report.ranking
    assert (ranking.status, ranking.leader) == ("best", "right.diff")


def test_tests_that_only_their_author_passes_put_no_other_patch_behind(make: Make) -> None:
    """A wrong patch brings one, and passes that of another author too."""
    project = make({"bag.py": BAG, "test_bag.py": BAG_SUITE})
    project.patches("bag.py", COUNT, right="    return len(items)\n")
    brought = {
        "evil": ("    return len(items) or 7\n", "(bag.size([]), bag.size([1])) == (7, 1)"),
        "third": ("    return max(len(items), 0)\n", "bag.size([1, 2]) == 2"),
    }
    for name, (body, claim) in brought.items():
        tests = f"{BAG_SUITE}\n\ndef test_of_{name}():\n    assert {claim}\n"
        project.patch(name, {"bag.py": BAG.replace(COUNT, body), "test_bag.py": tests})
    run = project.rank("--brt-guard=no")
    assert run.code == 7, run.said
    ranking = run.report.ranking
    assert ranking.status != "best"
    assert ranking.leader != "evil"
    assert (ranking["right"].ranks or (0, 0))[0] == 1


def test_an_existing_test_that_a_patch_changes_is_held_against_no_other_one(make: Make) -> None:
    mine = "import bag\n\n\ndef test_mine():\n    assert bag.size([1, 2]) == 2\n"
    project = make({"bag.py": BAG, "test_bag.py": BAG_SUITE, "mine.py": mine})
    project.patches("bag.py", COUNT, least="    return max(len(items) - 1, 0)\n")
    suite = BAG_SUITE.replace("bag.size([1, 2]) >= 0", "bag.size([]) == 0 == bag.size([1]) - 1")
    fixed = BAG.replace(COUNT, "    return len(items)\n")
    project.patch("right", {"bag.py": fixed, "test_bag.py": suite})
    run = project.rank("--brt-tests=mine.py")
    ranking = run.report.ranking
    assert ranking["least"].results["test_callable"] == "FAIL"
    assert ranking["least"].broken == ()


def test_a_report_admits_a_test_that_fails_in_generated_code(make: Make) -> None:
    """The project makes a function of text, which has no file."""
    core = """\
def reader(name):
    scope = {}
    exec(f"def read(data):\\n    return data[{name!r}] + 1", scope)
    return scope["read"]
"""
    report = "# reader() is inconsistent\n\nIt gives other values than it should.\n"
    project = make({"core.py": core, "issue.md": report})
    test = (
        "from core import reader\n\n\ndef test_reader():\n    assert reader('a')({'a': '1'}) == 2\n"
    )
    right = core.replace("data[{name!r}]", "int(data[{name!r}])")
    project.patch("right", {"core.py": right, "test_core.py": test})
    project.patches("core.py", "data[{name!r}] + 1", other="data[{name!r}]")
    run = project.rank("--brt-issue=issue.md")
    (brought,) = run.report.bug_tests
    assert brought.brought_by == ("right.diff",), run.said
    assert run.report.ranking.order("other", "right") == ["right", "other"]


def test_a_test_that_a_patch_brings_changes_nothing_for_tests_of_others(make: Make) -> None:
    """Its file makes the call of others wrong while it is imported."""
    mine = "import bag\n\n\ndef test_mine():\n    assert bag.size([1, 2]) == 2\n"
    project = make({"bag.py": BAG, "test_bag.py": BAG_SUITE, "mine.py": mine})
    project.patches("bag.py", COUNT, right="    return len(items)\n")
    turned = "import bag\n\nreal = bag.size\nbag.size = lambda items: 9\n"
    brought = f"{turned}\n\ndef test_size():\n    assert real([]) == 2\n"
    wrong = BAG.replace(COUNT, "    return 2\n")
    project.patch("evil", {"bag.py": wrong, "test_evil.py": brought})
    run = project.rank("--brt-tests=mine.py", "--brt-guard=no")
    ranking = run.report.ranking
    assert ranking["right"].results["test_mine"] == "PASS", run.said
    assert (ranking["right"].ranks or (0, 0))[0] == 1


WRONG_SUITE = """\
from core import clamp, half


def test_below():
    result = clamp(-1)
    assert result == -1


def test_half():
    assert half(3) == 1.5
"""
CORE = "def clamp(n):\n    return min(n, 10)\n\n\ndef half(n):\n    return n / 2\n"


@pytest.fixture(scope="module")
def asserted(make: Make) -> Run:
    """Return a ranking in a project whose suite asserts the bug."""
    project = make({"core.py": CORE, "test_core.py": WRONG_SUITE})
    project.write(
        {"mine.py": "from core import clamp\n\n\ndef test_mine():\n    assert clamp(-1) == 0\n"}
    )
    right = project.edit("core.py", "min(n, 10)", "max(0, min(n, 10))")
    project.patch("right", {"core.py": right})
    project.patch("harms", {"core.py": right.replace("n / 2", "n // 2")})
    project.patches("core.py", "min(n, 10)", nothing="min(10, n)")
    return project.rank("--brt-tests=mine.py")


def test_an_existing_test_that_asserts_the_bug_counts_against_no_patch(asserted: Run) -> None:
    ranking = asserted.report.ranking
    assert ranking.leader == "right.diff", asserted.said
    assert ranking["right"].disputed == ("test_core.py::test_below",)


def test_a_true_regression_counts_beside_it(asserted: Run) -> None:
    ranking = asserted.report.ranking
    assert "test_core.py::test_half" in ranking["harms"].broken
    assert ranking.order("harms", "right") == ["right", "harms"]


def test_it_is_said_that_no_existing_test_runs_what_a_patch_changes(make: Make) -> None:
    """Not all of them end in the time that there is: then it is seen which lines they run."""
    mean = "from interval import mean\n\n\ndef test_mean():\n    assert mean([1, 3]) == 2\n"
    long = (
        "import time\n\n\ndef test_long():\n    end = time.process_time() + 2\n"
        "    while time.process_time() < end:\n        pass\n"
    )
    tests = {"tests/test_interval.py": mean, "tests/test_long.py": long, "mine.py": CLAMP_TEST}
    project = make({**FILES, **tests})
    project.patches("interval.py", CLAMP, right=CLAMP_RIGHT)
    run = project.rank("--brt-tests=mine.py", "--brt-guard=1")
    said = "no existing test is known to run the changed lines"
    assert said in run.report.ranking.text, run.said


ORDER_SUITE = """\
import interval

SEEN = []


def test_first():
    SEEN.append(interval.clamp(5, 0, 10))
    assert interval.clamp(-1, 0, 10) == 0


def test_second():
    assert 5 not in SEEN
"""


def test_an_existing_test_that_fails_in_one_order_alone_is_not_broken(make: Make) -> None:
    project = make({**FILES, "tests/test_order.py": ORDER_SUITE, "mine.py": CLAMP_TEST})
    project.patches("interval.py", CLAMP, right=CLAMP_RIGHT)
    run = project.rank("--brt-tests=mine.py")
    assert run.code == 0, run.said
    assert run.report.ranking["right"].broken == ()


CRASH_SUITE = """\
from interval import clamp


def test_f():
    assert clamp(-1, 0, 10) == 0


def test_f_two():
    assert clamp(-2, 0, 10) == 0


def test_f_three():
    assert clamp(-3, 0, 10) == 0
"""


def test_a_crash_hides_no_other_test(make: Make) -> None:
    """The first ends the process, the second fails, and the third passes as before."""
    project = make({**FILES, "tests/test_interval.py": CRASH_SUITE, "mine.py": CLAMP_TEST})
    right = f"    return {CLAMP_RIGHT}\n"
    crash = (
        f"    if value == -1:\n        __import__('os').abort()\n{right[:-1]} or -(value == -2)\n"
    )
    project.patches("interval.py", f"    return {CLAMP}\n", crash=crash, right=right)
    ranking = project.rank("--brt-tests=mine.py").report.ranking
    names = ["tests/test_interval.py::test_f", "tests/test_interval.py::test_f_two"]
    assert sorted(ranking["crash"].broken) == names
    assert ranking["crash"].ran == ranking["right"].ran == 3
    assert ranking["right"].broken == ()


def test_six_hundred_new_failures_are_told_in_seconds(make: Make) -> None:
    suite = (
        "import pytest\nfrom interval import clamp\n\n\n"
        "@pytest.mark.parametrize('n', range(600))\n"
        "def test_n(n):\n    assert clamp(-n, 0, 9) == 0\n"
    )
    project = make({**FILES, "tests/test_interval.py": suite, "mine.py": CLAMP_TEST})
    project.patches("interval.py", CLAMP, wrong="value + 2", right=CLAMP_RIGHT)
    began = resource.getrusage(resource.RUSAGE_CHILDREN).ru_utime
    run = project.rank("--brt-tests=mine.py")
    assert resource.getrusage(resource.RUSAGE_CHILDREN).ru_utime - began < 30
    ranking = run.report.ranking
    assert ranking.leader == "right.diff", run.said
    assert ranking["wrong"].broken
    assert all(
        name.startswith("tests/test_interval.py::test_n") for name in ranking["wrong"].broken
    )


def test_a_patch_that_changes_tests_is_judged_by_those_of_the_project(make: Make) -> None:
    project = make({**FILES, "mine.py": CLAMP_TEST})
    skip = "import pytest\n\n\ndef pytest_runtest_call(item):\n    item.runtest = lambda: None\n"
    wrong = INTERVAL.replace(CLAMP, "value + 2")
    project.patch("sly", {"interval.py": wrong, "tests/conftest.py": skip, "conftest.py": skip})
    project.patches("interval.py", CLAMP, right=CLAMP_RIGHT)
    ranking = project.rank("--brt-tests=mine.py").report.ranking
    assert "left-out-files" in ranking["sly"].remarks
    assert set(ranking["sly"].results.values()) == {"FAIL"}
    assert ranking["sly"].broken
    assert ranking.leader == "right.diff"


@pytest.fixture(scope="module")
def deceivers(make: Make) -> Run:
    """Return a ranking of patches that behave otherwise when they are tested."""
    project = make({**FILES, "mine.py": CLAMP_TEST})
    fake = f"    if {{}}:\n        return {CLAMP_RIGHT}\n    return {CLAMP}\n"
    project.patches(
        "interval.py",
        f"    return {CLAMP}\n",
        modules=fake.format('"pytest" in __import__("sys").modules'),
        prefix=fake.format('any(n.startswith("PYTEST") for n in __import__("os").environ)'),
        right=f"    return {CLAMP_RIGHT}\n",
    )
    return project.rank("--brt-tests=mine.py", "--brt-guard=no")


def test_a_patch_that_knows_that_it_is_tested_is_named(deceivers: Run) -> None:
    ranking = deceivers.report.ranking
    assert "names-test-tools" in ranking["modules"].remarks
    assert "names-test-tools" not in ranking["right"].remarks


def test_a_patch_that_looks_for_variables_of_tests_is_named(deceivers: Run) -> None:
    assert "names-test-tools" in deceivers.report.ranking["prefix"].remarks


def test_without_any_bug_test_there_is_no_verdict(make: Make) -> None:
    project = make({**FILES, "issue.md": "# It is slow\n\nSometimes.\n"})
    project.patches(
        "interval.py", CLAMP, right=CLAMP_RIGHT, noop=CLAMP.replace("low)", "low, low)")
    )
    run = project.rank("--brt-issue=issue.md")
    assert run.code == 1, run.said
    ranking = run.report.ranking
    assert (ranking.status, ranking.leader) == ("none", "")
