"""Patches come in every form that people have them in; those that cannot be used are refused."""

from __future__ import annotations

from xml.etree import ElementTree

import pytest

from tests.scenarios.github import pull_request, put_gh_on_path
from tests.scenarios.project import Make, Project, Run
from tests.scenarios.samples import (
    CLAMP,
    CLAMP_FIXED,
    CLAMP_REPORT,
    CLAMP_RIGHT,
    CLAMP_TEST,
    FILES,
    INTERVAL,
)

#: What stands in place of a patch, by the reason for which it is refused.
REFUSED = {
    "empty-patch": "",
    "not-a-diff": "This is not a diff.\n",
    "malformed": "--- a/interval.py\n+++ b/interval.py\n@@ three lines @@\n-    return\n",
    "file-missing": "--- a/none.py\n+++ b/none.py\n@@ -1 +1 @@\n-x = 1\n+x = 2\n",
    "hunk-missing": (
        "--- a/interval.py\n+++ b/interval.py\n@@ -3,2 +3,2 @@\n def none():\n-    pass\n+    x\n"
    ),
    "file-exists": "--- /dev/null\n+++ b/interval.py\n@@ -0,0 +1 @@\n+x = 1\n",
}
UNSAFE = {
    "outside": "--- /dev/null\n+++ b/../outside.py\n@@ -0,0 +1 @@\n+x = 1\n",
    "absolute": "--- /etc/passwd\n+++ /etc/passwd\n@@ -1 +1 @@\n-a\n+b\n",
    "link": (
        "diff --git a/link.py b/link.py\nnew file mode 120000\n--- /dev/null\n+++ b/link.py\n"
        "@@ -0,0 +1 @@\n+/etc/passwd\n\\ No newline at end of file\n"
    ),
    "module": (
        "diff --git a/sub b/sub\nnew file mode 160000\n--- /dev/null\n+++ b/sub\n"
        "@@ -0,0 +1 @@\n+Subproject commit 0123456789012345678901234567890123456789\n"
    ),
}


@pytest.fixture(scope="module")
def refused(make: Make) -> Run:
    """Return a ranking of one patch that is right, and of many that cannot be used."""
    project = make({**FILES, "mine.py": CLAMP_TEST})
    project.patches("interval.py", CLAMP, right=CLAMP_RIGHT)
    tests = project.edit("tests/test_interval.py", "== 2", "== 2.0")
    project.patch("tests", {"tests/test_interval.py": tests})
    project.write({f"patches/{n}.diff": text for n, text in {**REFUSED, **UNSAFE}.items()})
    junit = f"--junitxml={project.folder}/junit.xml"
    run = project.rank("--brt-tests=mine.py", "--brt-guard=no", junit)
    cases = ElementTree.parse(project.folder / "junit.xml").iter("testcase")
    skipped = {case.get("name"): case.find("skipped") for case in cases}
    assert skipped.pop("patches.right.diff") is None
    assert all(one is not None and one.get("message") for one in skipped.values())
    return run


@pytest.mark.parametrize("reason", REFUSED)
def test_a_patch_that_cannot_be_applied_is_refused(refused: Run, reason: str) -> None:
    patch = refused.report.ranking[reason]
    assert patch.refused == reason
    assert patch.ranks is None


@pytest.mark.parametrize("name", UNSAFE)
def test_a_patch_that_reaches_elsewhere_is_refused(refused: Run, name: str) -> None:
    assert refused.report.ranking[name].refused


def test_a_patch_of_tests_alone_is_refused(refused: Run) -> None:
    assert refused.report.ranking["tests"].refused == "only-left-out"


def test_refused_patches_change_nothing_for_the_others(refused: Run) -> None:
    assert refused.code == 0, refused.said
    assert refused.report.ranking.leader == "right.diff"


#: What stands at the end of a module, by the name of its patch.
ODD = {
    "sum": f"TABLE = {'+'.join(['1'] * 400)}\n",
    "octal": f"TABLE = 0o{'7' * 6000}\n",
    "long": f"TABLE = '{'from inspect import ' * 4000}'\n",
}


def test_code_that_cannot_be_printed_or_searched_at_once_ends_no_ranking(make: Make) -> None:
    project = make({**FILES, "mine.py": CLAMP_TEST})
    fixed = INTERVAL.replace(CLAMP, CLAMP_RIGHT)
    for name, more in ODD.items():
        project.patch(name, {"interval.py": f"{fixed}{more}"})
    project.patch("named", {"interval.py": fixed, "**x.py": "x = 1\n"})
    run = project.rank("--brt-tests=mine.py", "--brt-guard=no")
    results = [{*patch.results.values()} for patch in run.report.ranking.patches]
    assert results == 4 * [{"PASS"}], run.said


def test_nothing_to_rank(make: Make) -> None:
    project = make({**FILES, "mine.py": CLAMP_TEST, "patches/README": "none yet\n"})
    assert project.rank("--brt-tests=mine.py").refuses("patches")
    assert project.pytest("--rank-fixes=nowhere", "--brt-tests=mine.py").refuses("nowhere")


def mail(diff: str) -> str:
    """Return a diff as `git format-patch` writes it."""
    return (
        "From 0123456789012345678901234567890123456789 Mon Sep 17 00:00:00 2001\n"
        "From: Ann <ann@example.org>\nDate: Sat, 28 Nov 2026 10:00:00 +0000\n"
        "Subject: [PATCH] Respect the upper bound\n\nIt was lost.\n---\n"
        f" interval.py | 2 +-\n 1 file changed, 1 insertion(+), 1 deletion(-)\n\n"
        f"{diff}-- \n2.39.5\n"
    )


@pytest.fixture(scope="module")
def forms(make: Make) -> Run:
    """Return a ranking of the same fix in many forms, in a folder of a monorepo."""
    here = f'"""Intervals."""\n\n\n{INTERVAL}'
    files = {**FILES, "interval.py": here}
    project = make({f"libs/interval/{name}": text for name, text in files.items()})
    project.commit("start")
    alone = make(files)
    right = here.replace(CLAMP, CLAMP_RIGHT)
    diff = alone.diff({"interval.py": right})
    older = here.replace('"""Intervals."""', '"""All about intervals."""\n\nimport math\nimport re')
    made_elsewhere = make({"interval.py": older.replace("the arithmetic mean", "the mean")})
    fixed = made_elsewhere.edit("interval.py", CLAMP, CLAMP_RIGHT)
    inside = here.replace(CLAMP, "inside(value, low, high)").replace(
        '"""\n\n\ndef clamp', '"""\n\nfrom bounds import inside\n\n\ndef clamp'
    )
    bounds = f"def inside(value, low, high):\n    return {CLAMP_RIGHT}\n"
    renamed = diff.replace("interval.py", "x").splitlines(keepends=True)[3:]
    prefix = (
        "diff --git a/interval.py b/intervals.py\nsimilarity index 90%\nrename from interval.py\n"
    )
    rename = f"{prefix}rename to intervals.py\n--- a/interval.py\n+++ b/intervals.py\n"
    mode = "diff --git a/interval.py b/interval.py\nold mode 100644\nnew mode 100755\n"
    texts = {
        "plain": diff,
        "crlf": diff.replace("\n", "\r\n"),
        "mail": mail(diff),
        "other-base": made_elsewhere.diff({"interval.py": fixed}),
        "new-file": alone.diff({"interval.py": inside, "bounds.py": bounds}),
        "renamed": rename + "".join(renamed),
        "mode": mode + diff.partition("\n")[2],
        "monorepo": diff.replace("a/interval.py", "a/libs/interval/interval.py").replace(
            "b/interval.py", "b/libs/interval/interval.py"
        ),
    }
    project.write({f"libs/interval/patches/{name}.diff": text for name, text in texts.items()})
    project.write({"libs/interval/mine.py": CLAMP_TEST})
    command = ("pytest", "--rank-fixes=patches", "--brt-tests=mine.py", "--brt-guard=no")
    return project.run(*command, f"--brt-report={project.json}", cwd="libs/interval")


@pytest.mark.parametrize(
    "name", ["plain", "crlf", "mail", "other-base", "new-file", "mode", "monorepo"]
)
def test_a_form_that_people_have_is_applied(forms: Run, name: str) -> None:
    patch = forms.report.ranking[name]
    assert patch.refused == "", forms.said
    assert set(patch.results.values()) == {"PASS"}, forms.said


def test_a_file_that_a_patch_renames_has_its_new_name_alone(forms: Run) -> None:
    """Whoever imports the old name fails."""
    patch = forms.report.ranking["renamed"]
    assert patch.refused == ""
    assert "PASS" not in patch.results.values()


def test_who_wrote_a_mail_is_known(forms: Run) -> None:
    assert "ann" in forms.report.ranking["mail"].author.lower()


@pytest.fixture(scope="module")
def hosted(make: Make) -> Project:
    """Return a clone of a fork with two branches; what it was made from has pull requests."""
    project = make({**FILES, "mine.py": CLAMP_TEST})
    project.commit("start")
    project.git("remote", "add", "origin", "git@github.com:someone/interval.git")
    project.git("remote", "add", "upstream", "https://github.com/owner/interval")
    wrong = {"interval.py": INTERVAL.replace(CLAMP, "max(high, min(value, low))")}
    known = {
        "owner/interval#12": pull_request(project.diff(CLAMP_FIXED), "ann", CLAMP_REPORT),
        "owner/interval#15": pull_request(project.diff(wrong), "bob"),
    }
    put_gh_on_path(project, known)
    for branch, files in (("fix-a", CLAMP_FIXED), ("fix-b", wrong)):
        project.git("checkout", "-q", "-b", branch)
        project.commit(branch, files)
        project.git("checkout", "-q", "main")
    project.write({"more/wrong.diff": project.diff(wrong)})
    return project


def test_branches_by_a_pattern(hosted: Project) -> None:
    run = hosted.pytest("--rank-fixes=git:fix-*", "--brt-tests=mine.py", "--brt-guard=no")
    ranking = run.report.ranking
    assert sorted(patch.name for patch in ranking.patches) == ["fix-a", "fix-b"]
    assert ranking.order("fix-b", "fix-a") == ["fix-a", "fix-b"]
    assert hosted.pytest("--rank-fixes=git:none-*", "--brt-tests=mine.py").refuses("none-*")


def test_pull_requests_by_number(hosted: Project) -> None:
    run = hosted.pytest("--rank-fixes", "#12", "#15", "--brt-tests=mine.py", "--brt-guard=no")
    ranking = run.report.ranking
    assert {patch.name: patch.author for patch in ranking.patches} == {"#12": "ann", "#15": "bob"}
    assert ranking.order("#15", "#12") == ["#12", "#15"]


def test_a_pull_request_is_a_report_too_and_others_are_ranked_beside_it(hosted: Project) -> None:
    address = "https://github.com/owner/interval/pull/15"
    mixed = (address, "owner/interval#12", "git:fix-b", "more")
    run = hosted.pytest("--brt-issue=#12", "--rank-fixes", *mixed, "--brt-guard=no")
    rates = {patch.name: patch.epr or 0.0 for patch in run.report.ranking.patches}
    assert rates.pop("owner/interval#12") == 1.0
    assert set(rates) == {"owner/interval#15", "fix-b", "wrong.diff"}
    assert max(rates.values()) < 1.0


def test_a_project_that_is_not_on_github_and_a_machine_without_gh(make: Make) -> None:
    project = make(FILES)
    said = "'#9': the project has no remote that is on GitHub (write OWNER/REPO#9)"
    assert project.pytest("--brt-issue=#9").refuses(said)
    run = project.pytest("--brt-issue=owner/interval#9", env={"PATH": str(project.home)})
    assert run.refuses("GitHub's command gh, which is not installed"), run.said
