"""SmolLM2-135M in every strategy: far too small to find bugs, and nothing of it is believed."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from tests.support import real
from tests.support.interval import CLAMP_ISSUE, SOURCE, TESTS
from tests.support.llama import needs_llama
from tests.support.real import needs_server
from tests.support.reports import read_report

pytestmark = [pytest.mark.slow, pytest.mark.long]
#: It calls nothing, so that replay finds no test and `auto` asks the model.
REPORT = """\
# clamp() always returns the lower bound

`clamp` of `interval` gives back `low` for every value, also for one between the bounds.
I expected the value itself there, and `high` for values above it.
"""


#: Ends a module so that a call of its functions leaves a file.
MARKED = """
def _marked(function):
    def call(*args, **named):
        open("called", "a").close()
        return function(*args, **named)
    return call

clamp, mean = _marked(clamp), _marked(mean)
"""


def calls_the_project(pytester: pytest.Pytester, test: str) -> bool:
    (pytester.path / "interval.py").write_text(SOURCE + MARKED, encoding="utf-8")
    pytester.runpytest_subprocess(pytester.makepyfile(test_written=test))
    return (pytester.path / "called").exists()


def test_the_check_tells_tests_that_call_the_project(pytester: pytest.Pytester) -> None:
    assert not calls_the_project(pytester, "import interval\ndef test_a():\n    assert 0\n")
    source = "import interval\ndef test_a():\n    assert interval.clamp(5, 0, 10) == 5\n"
    assert calls_the_project(pytester, source)


@pytest.fixture(scope="module")
def weights() -> Path:
    """Before `pytester` changes the home folder, which they are kept in."""
    return real.model("smollm2")


def options(weights: Path, strategy: str) -> tuple[str, ...]:
    return (
        "--brt-issue=issue.md",
        f"--brt-model=gguf:{weights}",
        f"--brt-strategy={strategy}",
        "--brt-samples=1",
        "--brt-steps=2",
        "--brt-engine=auto,context=2048,threads=1",  # others run beside it
        "--brt-report=out.json",
    )


@pytest.fixture
def project(pytester: pytest.Pytester) -> pytest.Pytester:
    files = {"interval.py": SOURCE, "test_a.py": TESTS, "issue.md": REPORT}
    for name, text in files.items():
        (pytester.path / name).write_text(text, encoding="utf-8")
    return pytester


def check(result: pytest.RunResult, project: pytest.Pytester) -> None:
    told = read_report(project.path / "out.json")
    for test in told["tests"]:
        assert not test["candidate"] or calls_the_project(project, test["source"]), test
    if result.ret:
        result.stdout.re_match_lines(
            [r"(Not|Possibly) reproduced: .*(--brt-|'pytest-brt |add to the report).*"]
        )


#: The second is the time for it: two go on until it is over, and one is done before.
@needs_llama
@pytest.mark.parametrize(("strategy", "seconds"), [("invert", 6), ("agent", 60), ("auto", 6)])
def test_it_ends_by_itself_and_what_it_writes_must_run_project_code(
    weights: Path, project: pytest.Pytester, strategy: str, seconds: int
) -> None:
    # On a busy machine the time may be over before the first question,
    for budget in (seconds, 10 * seconds):
        words = (*options(weights, strategy), f"--brt-budget={budget}s")
        result = project.runpytest_subprocess(*words)
        # or before the first answer, which is exit code 6.
        assert result.ret in {0, 1, 6}
        check(result, project)
        if asked := "the model: " in result.stdout.str():
            break
    assert asked


@needs_server
def test_libro_does_so_without_a_compiler_or_a_network(
    weights: Path, project: pytest.Pytester
) -> None:
    """On a llama-server, where llama-cpp-python cannot be imported."""
    if subprocess.run(["unshare", "-rn", "true"], check=False, capture_output=True).returncode:
        pytest.skip("no namespaces here")
    script = (
        "import sys; sys.modules['llama_cpp'] = None\n"
        "import pytest; sys.exit(pytest.main(sys.argv[1:]))\n"
    )
    (project.path / "issue.md").write_text(CLAMP_ISSUE, encoding="utf-8")
    command = ["unshare", "-rn", sys.executable, "-c", script, *options(weights, "libro")]
    result = project.run(*command, "--brt-engine=auto,context=1024,threads=1")
    assert result.ret in {0, 1}
    check(result, project)
    assert "llama-server (auto: llama-cpp-python is not installed)" in result.stdout.str()
    assert "the model: 1 question" in result.stdout.str()
