"""What others build on: the JSON and its schema, the page, exit codes, the Action, the hook."""

from __future__ import annotations

import json
import os
import re
import shutil
import sys
from html.parser import HTMLParser
from pathlib import Path

import jsonschema
import pytest

from tests.scenarios.github import pull_request, put_gh_on_path
from tests.scenarios.project import SCRIPTS, Make, Project, Run
from tests.scenarios.samples import (
    CLAMP,
    CLAMP_FIXED,
    CLAMP_REPORT,
    CLAMP_RIGHT,
    CLAMP_TEST,
    FILES,
    MEAN,
    MEAN_REPORT,
)

HERE = Path(__file__).parents[2]
SCHEMA = HERE / "pytest_brt/render/report.schema.json"
CHROMIUM = shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("chrome")


@pytest.fixture(scope="module")
def project(make: Make) -> Project:
    project = make({**FILES, "issue.md": MEAN_REPORT, "mine.py": CLAMP_TEST})
    project.patches(
        "interval.py", MEAN, right=f"{MEAN} if values else 0", wrong=f"{MEAN} if values else 1 / 0"
    )
    project.write({"patches/none.diff": "nothing\n"})
    return project


@pytest.fixture(scope="module")
def forms(project: Project) -> Run:
    """Return a run that writes all that can be written."""
    forms = (f"--brt-report={project.folder}/page.{kind}" for kind in ("html", "md"))
    return project.rank("--brt-issue=issue.md", *forms)


def test_the_json_is_what_its_schema_says(project: Project, forms: Run) -> None:
    schema = json.loads(SCHEMA.read_text("utf-8"))
    found = json.loads(forms.json)
    jsonschema.Draft202012Validator(schema).validate(found)
    with pytest.raises(jsonschema.ValidationError):
        jsonschema.Draft202012Validator(schema).validate({**found, "issues": 3})


class Texts(HTMLParser):
    """Gathers what a reader of a page sees, and what it would fetch."""

    def __init__(self) -> None:
        super().__init__()
        self.seen = ""
        self.fetched: list[str] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        names = dict(attrs)
        if tag in ("script", "img", "link", "iframe"):
            self.fetched.append(f"{tag} {names}")

    def handle_data(self, data: str) -> None:
        self.seen += data


def test_the_page_in_a_browser(project: Project, forms: Run) -> None:
    """What is there, as the browser has it after reading it; it fetches nothing."""
    if CHROMIUM is None:
        pytest.skip("needs chromium")
    page = f"file://{project.folder}/page.html"
    options = ("--headless", "--no-sandbox", "--disable-gpu", "--dump-dom", page)
    done = project.run(CHROMIUM, *options)
    texts = Texts()
    texts.feed(done.out)
    report = forms.report
    names = [patch.name for patch in report.ranking.patches]
    assert len(names) == 3
    assert all(word in texts.seen for word in [*names, report.first.name, "mean() crashes"])
    assert not [one for one in texts.fetched if "data:" not in one]


def test_the_short_form_names_what_the_json_says(project: Project, forms: Run) -> None:
    text = (project.folder / "page.md").read_text("utf-8").replace("\\", "")
    assert forms.report.first.name in text
    assert all(patch.name in text for patch in forms.report.ranking.patches)


@pytest.mark.parametrize(
    ("code", "options"),
    [
        (0, ("--rank-fixes=patches/right.diff", "--brt-tests=mean.py", "--brt-guard=no")),
        (1, ("--rank-fixes=patches/wrong.diff", "--brt-tests=mean.py", "--brt-guard=no")),
        (4, ("--rank-fixes=nowhere",)),
    ],
)
def test_the_exit_code_is_the_answer(project: Project, code: int, options: tuple[str, ...]) -> None:
    """Those that no other scenario has: 2 and 5 are in test_pytest.py, 6 in test_models.py."""
    test = "from interval import mean\n\n\ndef test_none():\n    assert mean([]) == 0\n"
    project.write({"mean.py": test})
    run = project.pytest(*options)
    assert run.code == code, run.said
    assert bool(run.json) == (code != 4)


def action(project: Project, **inputs: str) -> tuple[list[int], Path]:
    """Return the codes of the Action's steps, and the folder with what they leave."""
    folder = project.folder / "runner"
    folder.mkdir(exist_ok=True)
    steps = re.findall(
        r'run: bash "\$GITHUB_ACTION_PATH/(\S+)" (\w+)', (HERE / "action.yml").read_text()
    )
    variables = {
        "RUNNER_TEMP": str(folder),
        "GITHUB_REPOSITORY": "owner/interval",
        "GITHUB_STEP_SUMMARY": str(folder / "summary"),
        "GITHUB_OUTPUT": str(folder / "output"),
        "OPTIONS": "",
        **inputs,
    }
    runs = [project.run("bash", str(HERE / script), step, env=variables) for script, step in steps]
    return [run.code for run in runs], folder


def test_the_action_ranks_pull_requests_for_an_issue(make: Make) -> None:
    project = make(FILES)
    right = project.diff(
        {"interval.py": project.edit("interval.py", MEAN, f"{MEAN} if values else 0")}
    )
    wrong = project.diff(
        {"interval.py": project.edit("interval.py", MEAN, "sum(values) / max(values)")}
    )
    title, _, body = MEAN_REPORT.removeprefix("# ").partition("\n")
    known: dict[str, dict[str, object]] = {
        "owner/interval#9": {"title": title, "body": body},
        "owner/interval#12": pull_request(right, "ann"),
        "owner/interval#15": pull_request(wrong, "bob"),
    }
    put_gh_on_path(project, known)
    codes, folder = action(project, REPORT="#9", PATCHES="#12 #15", CLEAR="no")
    assert codes == [0, 0]
    summary = (folder / "summary").read_text("utf-8").replace("\\", "")
    assert summary.index("#12") < summary.index("#15")
    (path,) = (folder / "output").read_text("utf-8").splitlines()
    assert json.loads(Path(path.removeprefix("report=")).read_text("utf-8"))["exit_code"] in (0, 7)


def test_the_action_ends_with_the_answers_code(make: Make) -> None:
    project = make({**FILES, "vague.md": "# It is slow\n\nSometimes.\n"})
    codes, folder = action(project, REPORT="vague.md", PATCHES="", CLEAR="no")
    assert codes == [0, 1]
    assert (folder / "summary").exists()


@pytest.mark.parametrize(("test", "code"), [("assert clamp(5, 0, 10) == 5", 0), ("assert 1", 1)])
def test_the_hook_asks_for_a_test_that_fails_without_the_change(
    make: Make, test: str, code: int
) -> None:
    project = make(FILES)
    before = project.commit("start")
    suite = FILES["tests/test_interval.py"] + f"\n\ndef test_new():\n    {test}\n"
    after = project.commit("fix", {**CLAMP_FIXED, "tests/test_interval.py": suite})
    (entry,) = re.findall(r"entry: bash -c '(.*)'", (HERE / ".pre-commit-hooks.yaml").read_text())
    references = {"PRE_COMMIT_FROM_REF": before, "PRE_COMMIT_TO_REF": after}
    run = project.run("bash", "-c", entry, env=references)
    assert run.code == code, run.said


SEEN = """\
import json, os, sys


def pytest_unconfigure():
    names = [name for name in sys.modules if name.partition(".")[0] == "pytest_brt"]
    heavy = [name for name in ("libcst", "msgspec", "jinja2", "markdown_it") if name in sys.modules]
    print("SEEN", json.dumps([names, heavy]))
"""


def test_a_run_that_does_not_use_us_loads_three_small_modules(make: Make) -> None:
    project = make({**FILES, "seen.py": SEEN})
    run = project.run("pytest", "-p", "seen", "-q", env={"PYTHONPATH": "."})
    assert run.code == 0, run.said
    (line,) = [line for line in run.out.splitlines() if line.startswith("SEEN")]
    names, heavy = json.loads(line.removeprefix("SEEN"))
    assert len(names) <= 3, names
    assert heavy == []


#: Runs pytest in its own process as an editor does, and says what is left of it.
INSIDE = """\
import os, signal, sys, threading
import pytest

SIGNALS = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)


def state():
    descriptors = {n: os.readlink(f"/proc/self/fd/{n}") for n in (0, 1, 2)}
    handlers = [signal.getsignal(number) for number in SIGNALS]
    return descriptors, list(sys.path), list(sys.meta_path), handlers, dict(os.environ)


pytest.main(["--collect-only", "-q", "-p", "no:brt"])  # what pytest itself changes
before = state()
code = pytest.main(sys.argv[1:])
names = ("descriptors", "path", "finders", "signals", "environ")
for name, one, other in zip(names, before, state()):
    if one != other:
        print("LEFT", name, one, other)
print("CODE", int(code))
"""


def test_a_run_inside_another_program_leaves_nothing(make: Make) -> None:
    project = make({**FILES, "issue.md": MEAN_REPORT, "inside.py": INSIDE})
    run = project.run(sys.executable, "inside.py", "--brt-issue=issue.md")
    assert "CODE 0" in run.out, run.said
    assert "LEFT" not in run.out, run.said


def test_the_project_is_as_it_was_whatever_runs(make: Make) -> None:
    """Nothing is written into it, and nothing of ours is left beside it or at home."""
    project = make({**FILES, "issue.md": CLAMP_REPORT})
    project.patches("interval.py", CLAMP, right=CLAMP_RIGHT)
    temporary = project.folder / "temporary"
    temporary.mkdir()
    temporary.chmod(0o777)
    run = project.rank("--brt-issue=issue.md", "--brt-guard=no", env={"TMPDIR": str(temporary)})
    assert run.code in (0, 7), run.said
    assert list(temporary.iterdir()) == []
    assert not any(path.is_file() for path in project.home.rglob("*"))


def test_the_command_and_the_option_are_one(make: Make) -> None:
    assert os.access(SCRIPTS / "pytest-brt", os.X_OK)
    project = make({**FILES, "issue.md": MEAN_REPORT})
    one = project.pytest("--brt-issue=issue.md").report
    run = project.run("pytest-brt", "issue", "issue.md", "--report", str(project.json))
    assert (run.report.answers, run.report.tests) == (one.answers, one.tests)
