"""Models write tests and fixes: a script stands for one, behind OpenAI's protocol on loopback."""

from __future__ import annotations

import json
import re
import shutil
import socket
import threading
from collections.abc import Callable, Iterator
from contextlib import ExitStack

import pytest

from tests.scenarios.project import Make, Project, is_right
from tests.scenarios.samples import (
    CLAMP,
    CLAMP_FIXED,
    CLAMP_REPORT,
    CLAMP_RIGHT,
    CLAMP_TEST,
    FILES,
    SLIDERS_REPORT,
)
from tests.scenarios.server import Model, serving

QUOTE = "clamp gives the lower bound for each value"


def code(text: str) -> str:
    return f"```python\n{text}```\n"


RIGHT = code(
    "from interval import clamp\n\n\ndef test_inside():\n    assert clamp(5, 0, 10) == 5\n"
)
PASSES = code(
    "from interval import clamp\n\n\ndef test_inside():\n    assert clamp(5, 0, 10) == 0\n"
)
BROKEN = code("from interval import grip\n\n\ndef test_grip():\n    assert grip(5) == 5\n")
#: To each question about a test: the words that ask for it, and no other fix.
JUDGE = {"words": QUOTE, "fix": "none", "passes": "yes"}
#: Code of a project that tells somebody elsewhere of its import.
CALLS_HOME = """
import socket

try:
    socket.create_connection(("192.0.2.1", 80), 1)
except OSError:
    pass
"""
Play = Callable[..., Model]


def step(action: str, code_text: str = "", **arguments: object) -> str:
    """Return a step of an agent, with the code of an edit below it."""
    line = json.dumps({"thought": "as planned", "action": action, **arguments})
    return f"{line}\n{code(code_text)}" if code_text else line


@pytest.fixture
def play() -> Iterator[Play]:
    """Return what serves a script until the test ends."""
    with ExitStack() as stack:

        def start(*replies: str, **settings: str) -> Model:
            return stack.enter_context(serving(Model(replies, judge=JUDGE, **settings)))

        yield start


@pytest.fixture
def project(make: Make) -> Project:
    return make({**FILES, "issue.md": SLIDERS_REPORT})


def test_libro_shows_what_samples_agree_on(project: Project, play: Play) -> None:
    model = play(
        RIGHT, BROKEN, "I do not know.", RIGHT.replace("(5,", "(7,").replace("== 5", "== 7")
    )
    report = SLIDERS_REPORT + "\nIt was not so in the last release.\n" * 300
    run = project.issue(report, model.option, "--brt-strategy=libro", "--brt-samples=4")
    assert run.report.answer.status in ("reproduced", "possible"), run.said
    assert run.report.first.author == "model"
    assert is_right(project, run.report.first, CLAMP_FIXED)
    assert QUOTE in model.asked[0]
    assert "left out" not in model.asked[0], "the report, and both files, are whole"
    assert FILES["tests/test_interval.py"].strip().replace("\n\n\n", "\n\n") in model.asked[0]


def test_a_sample_joins_the_file_that_defines_its_fixture(make: Make, play: Play) -> None:
    fixture = "import pytest\n\n\n@pytest.fixture\ndef bounds():\n    return 0, 10\n"
    path, test = "tests/test_bounds.py", "\n\ndef test_bounds(bounds):\n    assert bounds\n"
    project = make({**FILES, "issue.md": SLIDERS_REPORT, path: fixture + test})
    model = play(code("def test_inside(bounds):\n    assert clamp(5, *bounds) == 5\n"))
    run = project.issue(SLIDERS_REPORT, model.option, "--brt-strategy=libro", "--brt-samples=1")
    assert run.report.first.host == path
    assert is_right(project, run.report.first, CLAMP_FIXED)


def test_invert_turns_a_passing_test_round(project: Project, play: Play) -> None:
    model = play("Call clamp(5, 0, 10), which gives 0 now.", PASSES, RIGHT)
    run = project.issue(SLIDERS_REPORT, model.option, "--brt-strategy=invert")
    assert run.report.answer.status in ("reproduced", "possible"), run.said
    assert is_right(project, run.report.first, CLAMP_FIXED)


AGENT = (
    step("code_search", text="clamp"),
    step("edit", path="tests/test_interval.py", prompt="Assert that clamp(5, 0, 10) is 5."),
    RIGHT,
    step("test", path="tests/test_interval.py"),
    step("finish"),
)


def test_an_agent_looks_writes_and_runs(project: Project, play: Play) -> None:
    model = play(*AGENT)
    run = project.issue(SLIDERS_REPORT, model.option, "--brt-strategy=agent", "--brt-samples=1")
    assert run.report.answer.status in ("reproduced", "possible"), run.said
    assert is_right(project, run.report.first, CLAMP_FIXED)
    assert "def clamp" in "".join(model.asked[1:])


def test_auto_ends_with_the_first_test_that_stands(project: Project, play: Play) -> None:
    """It is told how names are imported, and the ending of a file's name is none."""
    project.write({"ending.py": "def py():\n    pass\n"})
    model = play(always=RIGHT)
    report = f"{SLIDERS_REPORT}\nSee interval.py.\n"
    run = project.issue(report, model.option, "--brt-samples=2")
    assert run.code == 0, run.said
    assert is_right(project, run.report.first, CLAMP_FIXED)
    assert run.report.questions
    assert "from interval import clamp" in model.asked[0]
    assert "import py\n" not in model.asked[0]


def test_auto_draws_two_samples_of_a_model_that_is_right(project: Project, play: Play) -> None:
    """One with another input counts beside the reported one if it fails in the same way."""
    others = "\n\ndef test_above():\n    assert clamp(12, 0, 10) == 10\n"
    crashing = "\n\ndef test_none():\n    assert clamp(None, 0, 10) is None\n"
    both = RIGHT.replace("== 5\n", f"== 5\n{others}")
    model = play(both, RIGHT.replace("== 5\n", f"== 5\n{crashing}"), always=both)
    run = project.issue(SLIDERS_REPORT, model.option)
    assert run.code == 0, run.said
    asked = [request for request in model.requests if "response_format" not in request]
    assert sum(request.get("n", 1) for request in asked) == 2
    assert {one.name for one in run.report.bug_tests} == {"test_inside", "test_above"}


def test_auto_asks_nothing_where_the_report_is_enough(project: Project, play: Play) -> None:
    """At most it asks what it holds of the test that it has."""
    model = play(always=BROKEN)
    run = project.issue(f"{SLIDERS_REPORT}\n{RIGHT}", model.option)
    assert run.code == 0, run.said
    assert run.report.first.author == "report"
    assert not [request for request in model.requests if "response_format" not in request]


@pytest.mark.slow
@pytest.mark.skipif(not shutil.which("strace"), reason="wants strace")
def test_only_this_machine_is_connected_to(project: Project, play: Play) -> None:
    """Not by what the project's code does either, which asks for more."""
    project.write({"interval.py": f"{FILES['interval.py']}\n{CALLS_HOME}"})
    model = play(always=RIGHT)
    log = project.folder / "connections"
    traced = ("strace", "-f", "-e", "trace=connect,sendto", "-o", str(log), "pytest")
    run = project.run(*traced, f"--brt-report={project.json}", "--brt-issue=issue.md", model.option)
    assert run.code == 0, run.said
    calls = [line for line in log.read_text("utf-8").splitlines() if "AF_INET" in line]
    to_model = [line for line in calls if f"htons({model.port})" in line]
    away = [line for line in calls if not re.search(r'"127\.0\.0\.1"|"::1"', line)]
    assert to_model
    assert not [line for line in away if not line.rstrip().endswith("(Network is unreachable)")]


def test_the_same_run_again_asks_nothing(project: Project, play: Play) -> None:
    model = play(always=RIGHT)
    first = project.issue(SLIDERS_REPORT, model.option, "--brt-samples=2")
    asked = len(model.requests)
    assert asked
    again = project.issue(SLIDERS_REPORT, model.option, "--brt-samples=2")
    assert (first.code, again.code) == (0, 0)
    assert len(model.requests) == asked
    assert again.report.first.source == first.report.first.source


def test_replies_that_are_damaged_are_no_matter_without_a_model(make: Make) -> None:
    project = make(FILES)
    project.write({".pytest_cache/d/brt/replies.jsonl": '{"key"\n{}\n'})
    run = project.issue(CLAMP_REPORT)
    assert run.code == 0, run.said


def test_an_interrupted_run_is_continued(project: Project, play: Play) -> None:
    """The agent is interrupted while it waits for its fourth answer, which is asked for again."""
    model = play(*AGENT)
    reached, go_on = threading.Event(), threading.Event()

    def wait(request: dict[str, object]) -> str | None:
        if len(model.requests) != 4 or go_on.is_set():
            return None
        reached.set()
        go_on.wait(120)
        return "interrupted"

    model.refuse = wait
    options = ("--brt-issue=issue.md", "--brt-strategy=agent", "--brt-samples=1", model.option)
    process = project.start("pytest", *options)
    assert reached.wait(200)
    run = project.interrupt(process)
    go_on.set()
    assert run.code == 2, run.said
    again = project.pytest(*options)
    assert again.report.bug_tests, again.said
    assert is_right(project, again.report.first, CLAMP_FIXED)
    assert len(model.requests) == len(AGENT) + 1, "only what was not answered is asked again"


def test_a_closed_port(project: Project) -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
    closed = f"--brt-model=server:http://127.0.0.1:{port}"
    run = project.issue(SLIDERS_REPORT, closed, "--brt-strategy=libro", "--brt-budget=1s")
    assert run.code == 6, run.said
    assert "Traceback" not in run.out + run.err
    said = f"exit code 6: no model answered: no answer from 'http://127.0.0.1:{port}'"
    assert run.out.count("no answer from") == run.out.count(said) == 1, run.said


def test_a_server_that_hangs(project: Project, play: Play) -> None:
    model, go_on = play(always=RIGHT), threading.Event()
    model.refuse = lambda request: "too late" if go_on.wait(120) else None
    run = project.issue(SLIDERS_REPORT, model.option, "--brt-budget=3s")
    go_on.set()
    assert run.code == 6, run.said
    assert "more time (--brt-budget) would add: libro, invert, agent" in run.out
    assert "without the model: no answer from" in run.out
    assert "wrote no test" not in run.out


def test_a_prompt_that_is_too_long(project: Project, play: Play) -> None:
    model = play(always=RIGHT)
    words = "the request exceeds the available context size. try increasing the context size"
    model.refuse = lambda request: words
    run = project.issue(SLIDERS_REPORT, model.option, "--brt-strategy=libro", "--brt-samples=2")
    assert run.code in (1, 6), run.said
    assert not run.report.bug_tests
    assert "context" in run.out
    assert "Traceback" not in run.out + run.err


LINE = 3
FIX = f"    return {CLAMP_RIGHT}\n"
REPAIRS = {
    "repairagent": (
        step("express_hypothesis", hypothesis="low is given twice"),
        step("write_fix", f"    return {CLAMP}\n", changes=f"interval.py replace {LINE}"),
        step("write_fix", FIX, changes=f"interval.py replace {LINE}"),
        step("goal_accomplished", reason="it passes"),
    ),
    "passerine": (
        step("cat", path="interval.py"),
        step("edit", path="interval.py", prompt="Use high in the inner call."),
        step("change", FIX, changes=f"replace {LINE}"),
        step("test", path="tests/test_interval.py"),
        step("finish"),
    ),
    "auto": (step("write_fix", FIX, changes=f"interval.py replace {LINE}"),),
}


@pytest.mark.parametrize("strategy", REPAIRS)
def test_a_repair_writes_a_patch_alone(project: Project, play: Play, strategy: str) -> None:
    model = play(*REPAIRS[strategy], always=step("finish"))
    project.write({"mine.py": CLAMP_TEST})
    # The name of both defaults would have the model write tests, too.
    names = "replay" if strategy == "auto" else f"replay,{strategy}"
    given = ("--brt-tests=mine.py", f"--brt-strategy={names}", "--brt-samples=1")
    run = project.pytest("--brt-repair=issue.md", model.option, *given, writes=True)
    assert run.code == 0, run.said
    (repair,) = run.report.repairs
    assert repair.plausible
    patches = sorted((project.root / "brt-patches/issue").glob("*.diff"))
    assert [patch.name for patch in patches] == [repair.plausible[0]]
    done = project.run("git", "apply", "--check", str(patches[0]))
    assert done.code == 0, done.said
    assert CLAMP_RIGHT in patches[0].read_text("utf-8")


def test_no_fix_is_a_failure(project: Project, play: Play) -> None:
    model = play(always=step("run_tests"))
    project.write({"mine.py": CLAMP_TEST})
    given = ("--brt-tests=mine.py", "--brt-strategy=replay")
    run = project.pytest("--brt-repair=issue.md", *given, "--brt-steps=3", model.option)
    assert run.code == 1, run.said
    assert run.report.repairs[0].fixes == ()


def test_a_variant_of_a_fix_that_fails_is_tried(project: Project, play: Play) -> None:
    place = f"interval.py replace {LINE}"
    model = play(
        step("write_fix", "    return low + 1\n", changes=place),
        step("change", "    return low + 2\n", changes=place),
        always=step("change", FIX, changes=place),
    )
    project.write({"mine.py": CLAMP_TEST})
    given = ("--brt-tests=mine.py", "--brt-strategy=replay", "--brt-samples=1")
    run = project.pytest("--brt-repair=issue.md", model.option, *given, writes=True)
    assert run.code == 0, run.said
    assert run.report.repairs[0].plausible
    (patch,) = (project.root / "brt-patches/issue").glob("*.diff")
    assert CLAMP_RIGHT in patch.read_text("utf-8")
    assert "a variant" in patch.read_text("utf-8")
