"""Whatever the input, the run ends in one clear line and the user's tree is as it was."""

from __future__ import annotations

import sys

import pytest

from tests.support.interval import CLAMP_ISSUE
from tests.support.trees import tree_hash

pytestmark = pytest.mark.slow

FENCE = "```"


def issue_with(snippet: str) -> bytes:
    return f"# It goes wrong\n\n{FENCE}python\n{snippet}\n{FENCE}\n".encode()


def test_a_folder_that_is_no_project_is_not_searched(
    pytester: pytest.Pytester, monkeypatch: pytest.MonkeyPatch
) -> None:
    root = pytester.path
    (root / "report.md").write_text(CLAMP_ISSUE, "utf-8")
    # What a search would find, and a script that lies about.
    inner = root / "downloads/somebody/else"
    inner.mkdir(parents=True)
    (inner / "test_a.py").write_text("def test_a():\n    pass\n", "utf-8")
    (root / "once.py").write_text("print(1)\n", "utf-8")
    monkeypatch.setenv("TMPDIR", str(root))
    none = "*: no Python project here (no pyproject.toml, setup.py, package or tests): *"
    for command in (
        ("pytest", "--brt-issue=report.md", "-p", "no:cacheprovider"),
        ("pytest_brt", "issue", "report.md", "-q"),
        ("pytest_brt", "check", str(inner / "test_a.py"), "--issue", "report.md"),
    ):
        result = pytester.run(sys.executable, "-m", *command)
        assert result.ret == pytest.ExitCode.USAGE_ERROR, command
        result.stderr.fnmatch_lines([none])
        assert len([line for line in result.errlines if line]) == 1


HOSTILE = (
    "import time\nfrom interval import clamp\nwhile True:\n    clamp(1, 0, 2)\n    time.sleep(0.1)",
    "import sys\nfrom interval import clamp\nclamp(5, 0, 10)\nsys.exit(3)",
    "import os\nfrom interval import clamp\nos._exit(0)",
    "from interval import clamp\nopen('written.txt', 'w').write('x')\nclamp(5, 0, 10)",
    "import a_package_that_is_not_there\nfrom interval import clamp\nclamp(5, 0, 10)",
    "import os\nimport interval\nos.remove(interval.__file__)\ninterval.clamp(5, 0, 10)",
)


def test_hostile_snippets_cost_only_themselves(project: pytest.Pytester) -> None:
    names = [f"bad-{number}.md" for number in range(len(HOSTILE))]
    for name, snippet in zip(names, HOSTILE, strict=True):
        (project.path / name).write_bytes(issue_with(snippet))
    before = tree_hash(project.path)
    issues = [f"--brt-issue={name}" for name in (*names, "clamp.md")]
    result = project.runpytest_subprocess(*issues, "--brt-timeout=2", "-v")
    assert result.ret in {0, 1}
    result.stdout.fnmatch_lines(["clamp.md::replay JUDGED*"])
    answers = [line for line in result.outlines if "::replay " in line and line.endswith("%]")]
    assert len(answers) == len(issues)
    assert result.parseoutcomes().get("failed", 0) == 0, result.stdout.str()
    assert "INTERNALERROR" not in result.stdout.str()
    assert tree_hash(project.path) == before
    assert not (project.path / "written.txt").exists()
