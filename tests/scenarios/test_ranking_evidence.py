"""What an order rests on: values that nobody stated, variations; and what fools no rule."""

from __future__ import annotations

import pytest

from tests.scenarios.project import Make, Project, Run
from tests.scenarios.samples import FILES, MEAN, MEAN_REPORT

SIZE = '''\
UNITS = {"B": 1, "KB": 1024, "MB": 1048576}


def size(text):
    """Return the bytes of a text as in "2 KB"; a ValueError says that it has no unit."""
    number, unit = text.split()
    if unit not in UNITS:
        raise ValueError(f"no unit: {unit}")
    return int(number) * UNITS[unit]
'''
SIZE_SUITE = """\
import pytest
from size import size


def test_kilobytes():
    assert size("2 KB") == 2048


def test_refused():
    with pytest.raises(ValueError):
        size("many KB")
"""
SIZE_REPORT = """\
# size() fails for fractions

```pycon
>>> from size import size
>>> size("1.5 KB")
Traceback (most recent call last):
  File "size.py", line 9, in size
    return int(number) * UNITS[unit]
ValueError: invalid literal for int() with base 10: '1.5'
```
"""
WHOLE = "    return int(number) * UNITS[unit]\n"
FLOAT = "    return float(number) * UNITS[unit]\n"


def sizes(make: Make, **bodies: str) -> Project:
    """Return a project whose report shows a ValueError, with a patch for each last line."""
    project = make({"size.py": SIZE, "test_size.py": SIZE_SUITE, "issue.md": SIZE_REPORT})
    project.patches("size.py", WHOLE, **bodies)
    return project


@pytest.fixture(scope="module")
def valued(make: Make) -> tuple[Project, Run]:
    """Return a ranking of two patches that pass the same tests, with different values."""
    project = make({**FILES, "issue.md": MEAN_REPORT})
    project.patches("interval.py", MEAN, zero=f"{MEAN} if values else 0", none=f"values and {MEAN}")
    pages = [f"--brt-report={project.folder / name}" for name in ("a.md", "a.html")]
    return project, project.rank("--brt-issue=issue.md", "--brt-guard=no", "-v", *pages)


def test_what_a_call_gives_on_each_patch_is_shown_in_every_form(
    valued: tuple[Project, Run],
) -> None:
    project, run = valued
    ranking = run.report.ranking
    assert ranking["zero"].gives == {"mean([])": "0"}
    assert ranking["none"].gives == {"mean([])": "[]"}
    texts = [(project.folder / name).read_text("utf-8") for name in ("a.md", "a.html")]
    for text in (run.out, *texts):
        said = text.replace("\\", "").replace("<code>", "`").replace("</code>", "`")
        assert "`mean([])` raises ZeroDivisionError (no patch), gives `[]` (none.diff)" in said


def test_of_a_call_that_prints_what_it_prints_is_compared(make: Make) -> None:
    report = MEAN_REPORT.replace("mean([])\n", "pprint.pprint(mean([]))\n")
    report = report.replace(">>> from", ">>> import pprint\n>>> from")
    project = make({**FILES, "issue.md": report})
    project.patches("interval.py", MEAN, zero=f"{MEAN} if values else 0", none=f"values and {MEAN}")
    ranking = project.rank("--brt-issue=issue.md").report.ranking
    gives = {"no patch": "ZeroDivisionError", "none.diff": "[]", "zero.diff": "0"}
    assert ranking.variations == {"mean([])": gives}


def test_of_a_variation_in_a_long_set_up_the_change_is_shown(make: Make) -> None:
    rows = f"rows_{'x' * 60}"
    setup = f">>> {rows} = [[], [-5]]\n>>> at = 0\n>>> mean({rows}[at])"
    report = MEAN_REPORT.replace(">>> mean([])", setup)
    project = make({**FILES, "issue.md": report})
    right = f"{MEAN} if values else 0"
    project.patches("interval.py", MEAN, right=right, least=f"max({right}, 0)")
    ranking = project.rank("--brt-issue=issue.md").report.ranking
    assert ranking.level == "tests"
    assert f"`…; mean({rows}[at])  # [[-5]] instead of [[], [-5]]` " in ranking.text


SETTINGS = """\
def parse(text):
    lines = [line.strip() for line in text.split("\\n")]
    lines = [line for line in lines if line and not line.startswith("#")]
    if not lines:
        raise ValueError("no settings")
    return dict(line.split("=") for line in lines)
"""
SETTINGS_SUITE = """\
import pytest
from settings import parse


def test_empty():
    with pytest.raises(ValueError):
        parse("")
"""
SETTINGS_REPORT = """\
# parse() fails where there are only comments

```pycon
>>> from settings import parse
>>> parse("# only words")
Traceback (most recent call last):
  File "settings.py", line 5, in parse
    raise ValueError("no settings")
ValueError: no settings
```
"""


def test_what_comes_near_an_unsure_leader_is_compared_with_it(make: Make) -> None:
    """The right one breaks a test that holds the bug for right, about another call.

    On the reported call the leader gives what the right one gives, and a third one does not.
    """
    files = {"settings.py": SETTINGS, "test_settings.py": SETTINGS_SUITE}
    project = make({**files, "issue.md": SETTINGS_REPORT})
    special = "    if text[:1] == '#':\n        return {}\n    lines = [line.strip() for"
    project.patches("settings.py", "    lines = [line.strip() for", special=special)
    refused = 'raise ValueError("no settings")'
    project.patches("settings.py", refused, right="return {}", swallow="return None")
    run = project.rank("--brt-issue=issue.md")
    ranking = run.report.ranking
    assert (ranking.status, ranking.leader) == ("unsure", "special.diff"), run.said
    gives = {"no patch": "ValueError", "right.diff": "{}", "special.diff": "ValueError"}
    gives["swallow.diff"] = "None"
    assert ranking.variations == {"parse(' # only words')": gives}


def test_a_test_of_what_is_wrong_makes_no_patch_the_best_while_others_differ(make: Make) -> None:
    """The person accepts that nothing is raised; then what the right one gives for another text."""
    files = {"settings.py": SETTINGS, "test_settings.py": SETTINGS_SUITE}
    project = make({**files, "issue.md": SETTINGS_REPORT})
    special = "    if text[:1] == '#':\n        return {}\n    lines = [line.strip() for"
    project.patches("settings.py", "    lines = [line.strip() for", special=special)
    project.patches("settings.py", 'raise ValueError("no settings")', right="return {}")
    project.rank("--brt-issue=issue.md")
    assert project.run("pytest-brt", "review", "--accept", "T1").code == 0
    ranking = project.rank().report.ranking
    assert (ranking.status, ranking.leader) == ("unsure", "special.diff")
    assert ranking.reason == "leaders-not-measured"
    assert project.run("pytest-brt", "review", "--accept", "V1").code == 0
    ranking = project.rank().report.ranking
    assert (ranking.status, ranking.leader) == ("unsure", "right.diff")
    assert ranking.reason == "breaks-tests"


def test_patches_that_give_different_values_are_not_called_alike(
    valued: tuple[Project, Run],
) -> None:
    _, run = valued
    assert run.code == 7, run.said
    ranking = run.report.ranking
    assert (ranking.status, ranking.leader) == ("tie", "")
    gives = {"no patch": "ZeroDivisionError", "none.diff": "[]", "zero.diff": "0"}
    assert ranking.variations == {"mean([])": gives}
    assert "mean([])" in ranking.text


def test_a_deliberate_exception_for_another_input_is_no_special_case(make: Make) -> None:
    """The lenient one gives values for units that there are not; the other one rightly raises."""
    lenient = FLOAT.replace("UNITS[unit]", "UNITS.get(unit, 1)")
    project = sizes(make, right=FLOAT)
    refusal = SIZE[SIZE.index("    if unit") : SIZE.index(WHOLE)]
    project.patches("size.py", refusal + WHOLE, lenient=lenient)
    ranking = project.rank("--brt-issue=issue.md", "--brt-guard=no").report.ranking
    assert "singles-out-input" not in ranking["right"].remarks
    assert ranking["right"].ranks == ranking["lenient"].ranks == (1, 2)


def test_the_patch_for_a_boundary_is_not_put_behind(make: Make) -> None:
    initial = "def initial(text):\n    return text[0].upper()\n"
    report = (
        "# initial() fails\n\n```pycon\n>>> from core import initial\n>>> initial('')\n"
        'Traceback (most recent call last):\n  File "core.py", line 2, in initial\n'
        "    return text[0].upper()\nIndexError: string index out of range\n```\n"
    )
    project = make({"core.py": initial, "issue.md": report})
    body = "    return text[0].upper()\n"
    project.patches(
        "core.py",
        body,
        right=f"    if not text:\n        return ''\n{body}",
        other="    return text[:1].upper()\n",
    )
    ranking = project.rank("--brt-issue=issue.md").report.ranking
    assert ranking["right"].ranks == ranking["other"].ranks == (1, 2)
    assert not {*ranking["right"].remarks} & {"singles-out-input", "as-unpatched"}


def test_two_that_swallow_and_break_the_same_test_are_behind(make: Make) -> None:
    swallow = f"    try:\n    {WHOLE}    except ValueError:\n        return "
    project = sizes(make, right=FLOAT, zero=f"{swallow}0\n", none=f"{swallow}None\n")
    ranking = project.rank("--brt-issue=issue.md").report.ranking
    assert ranking.order("zero", "none", "right")[0] == "right"
    assert ranking["right"].ranks == (1, 1)
    for name in ("zero", "none"):
        assert ranking[name].broken == ("test_size.py::test_refused",)
        assert ranking[name].disputed == ()


def test_one_that_leads_and_breaks_a_test_is_not_surely_the_best(make: Make) -> None:
    swallow = f"    try:\n    {WHOLE}    except ValueError:\n        return 0\n"
    project = sizes(make, zero=swallow, noop=WHOLE.replace("number", "str(number)"))
    ranking = project.rank("--brt-issue=issue.md").report.ranking
    assert (ranking.status, ranking.leader) == ("unsure", "zero.diff")
    assert ranking.reason == "breaks-tests"


def test_another_exception_in_place_of_the_reported_one_does_not_pass(make: Make) -> None:
    project = sizes(
        make,
        right=FLOAT,
        renamed=f"    try:\n    {WHOLE}    except ValueError as error:\n"
        "        raise RuntimeError(text) from error\n",
    )
    ranking = project.rank("--brt-issue=issue.md", "--brt-guard=no").report.ranking
    assert ranking.order("renamed", "right") == ["right", "renamed"]
    assert set(ranking["renamed"].results.values()) == {"FAIL"}


def test_an_exception_out_of_a_library_is_no_special_case(make: Make) -> None:
    """On half a text both the unpatched code and the right patch raise out of `json`."""
    load = "import json\n\n\ndef load(text):\n    return int(json.loads(text))\n"
    report = (
        "# load() fails\n\n```pycon\n>>> from core import load\n>>> load('\"1.5\"')\n"
        'Traceback (most recent call last):\n  File "core.py", line 5, in load\n'
        "    return int(json.loads(text))\n"
        "ValueError: invalid literal for int() with base 10: '1.5'\n```\n"
    )
    project = make({"core.py": load, "issue.md": report})
    project.patches(
        "core.py",
        "int(json.loads(text))",
        right="float(json.loads(text))",
        lenient="float(text.strip('\"') or 0)",
    )
    ranking = project.rank("--brt-issue=issue.md").report.ranking
    assert "singles-out-input" not in ranking["right"].remarks
    assert ranking["right"].ranks == ranking["lenient"].ranks


BAG = "def size(items):\n    return len(items) - 1\n"
BAG_SUITE = "import bag\n\n\ndef test_callable():\n    assert bag.size([1, 2]) >= 0\n"


@pytest.mark.parametrize(
    ("author", "claims"),
    [
        ("wrong", ("bag.size([1]) == 7", "bag.size([]) == 7")),
        ("right", ("bag.size([1]) == 1", "bag.size([]) == 0")),
    ],
)
def test_tests_that_only_their_author_passes_make_no_leader(
    make: Make, author: str, claims: tuple[str, str]
) -> None:
    project = make({"bag.py": BAG, "test_bag.py": BAG_SUITE})
    bodies = {"wrong": "7 if len(items) < 2 else 2", "right": "len(items)"}
    for name, body in bodies.items():
        changed = {"bag.py": BAG.replace("len(items) - 1", body)}
        if name == author:
            tests = (f"\n\ndef test_{at}():\n    assert {it}\n" for at, it in enumerate(claims))
            changed["test_bag.py"] = BAG_SUITE + "".join(tests)
        project.patch(name, changed)
    run = project.rank("--brt-guard=no")
    assert run.code == 7, run.said
    assert (run.report.ranking.status, run.report.ranking.leader) == ("none", "")
    assert {test.brought_by for test in run.report.bug_tests} == {(f"{author}.diff",)}


def test_a_tie_names_all_that_share_the_first_place(make: Make) -> None:
    """The one that brings a test shares the place of those that fail it, and is named first."""
    project = sizes(
        make,
        rounds=FLOAT.replace("float(number)", "round(float(number))"),
        cuts=FLOAT.replace("float(number)", "int(float(number))"),
    )
    test = f"{SIZE_SUITE}\n\ndef test_half():\n    assert size('0.5 KB') == 512\n"
    project.patch("whole", {"size.py": SIZE.replace(WHOLE, FLOAT), "test_size.py": test})
    run = project.rank("--brt-issue=issue.md")
    assert run.code == 7, run.said
    ranking = run.report.ranking
    assert {patch.ranks for patch in ranking.patches} == {(1, 3)}
    assert (ranking.status, ranking.level) == ("tie", "odds")
    assert ranking.text.index("whole.diff, ") < ranking.text.index("cuts.diff and rounds.diff")
    assert "whole.diff passes 1 of 1 bug test" in ranking.text


def test_a_patch_that_breaks_an_import_fails_all(make: Make) -> None:
    project = sizes(make, right=FLOAT)
    project.patches("size.py", "UNITS = {", breaks="import nowhere\n\nUNITS = {")
    ranking = project.rank("--brt-issue=issue.md").report.ranking
    assert ranking["breaks"].epr == 0.0
    assert len(ranking["breaks"].broken) == ranking["right"].ran == 2
    assert ranking.order("breaks", "right") == ["right", "breaks"]


def test_a_patch_for_one_literal_is_behind_where_the_suite_asserts_the_bug(make: Make) -> None:
    """All bug tests use the reported input, and the right patch breaks a test that asserts it."""
    url = "def clean(url):\n    return url.replace(' ', '')\n"
    suite = "from core import clean\n\n\ndef test_clean():\n    assert clean('a b') == 'ab'\n"
    mine = "from core import clean\n\n\ndef test_plus():\n    assert clean('a b') == 'a+b'\n"
    project = make({"core.py": url, "test_core.py": suite, "mine.py": mine})
    body = "    return url.replace(' ', '')\n"
    project.patches(
        "core.py",
        body,
        right=body.replace("''", "'+'"),
        literal=f"    if url == 'a b':\n        return 'a+b'\n{body}",
    )
    run = project.rank("--brt-tests=mine.py")
    ranking = run.report.ranking
    assert (ranking.status, ranking.leader) == ("best", "right.diff"), run.said
    assert ranking["right"].disputed == ("test_core.py::test_clean",)
    assert "singles-out-input" in ranking["literal"].remarks


def test_one_that_does_as_the_unpatched_code_on_all_variations_is_never_the_best(
    make: Make,
) -> None:
    """The other one passes the same tests, and breaks one that asserts nothing of them."""
    double = "def double(text):\n    return text\n"
    suite = "from core import double\n\n\ndef test_empty():\n    assert double('q') == 'q'\n"
    mine = "from core import double\n\n\ndef test_mine():\n    assert double('ab') == 'abab'\n"
    project = make({"core.py": double, "test_core.py": suite, "mine.py": mine})
    project.patches(
        "core.py",
        "    return text\n",
        table="    return {'a' 'b': 'abab'}.get(text, text)\n",
        general="    return text * 2\n",
    )
    run = project.rank("--brt-tests=mine.py")
    assert run.code == 7, run.said
    ranking = run.report.ranking
    assert (ranking.status, ranking.leader) == ("unsure", "table.diff")
    assert "as-unpatched" in ranking["table"].remarks
    ((_, gives),) = ranking.variations.items()
    assert gives["table.diff"] != gives["general.diff"]


def test_a_patch_that_changes_nothing_is_named_and_behind(make: Make) -> None:
    project = sizes(make, right=FLOAT, noop=WHOLE.replace("int(number)", "int(str(number))"))
    run = project.rank("--brt-issue=issue.md", "--brt-guard=no")
    ranking = run.report.ranking
    assert "changes-nothing-shown" in ranking["noop"].remarks
    assert "changes-nothing-shown" not in ranking["right"].remarks
    assert ranking.order("noop", "right") == ["right", "noop"], run.said


def test_without_a_bug_test_patches_are_ordered_by_what_they_break(make: Make) -> None:
    same = WHOLE.replace("int(number)", "int(str(number))")
    project = sizes(make, one=FLOAT, same=same, breaks="    return text\n")
    project.write({"issue.md": "# It is slow\n\nSometimes.\n"})
    run = project.rank("--brt-issue=issue.md")
    ranking = run.report.ranking
    assert (ranking.status, ranking.leader) == ("none", "")
    assert ranking["one"].ranks == ranking["same"].ranks == (1, 2)
    assert ranking["breaks"].ranks == (3, 3)
    assert "--brt-tests" in ranking.text
