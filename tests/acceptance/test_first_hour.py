"""What somebody who tries it for the first time meets beside the results."""

from __future__ import annotations

import sys

import pytest

from tests.support.reports import patches_of, read_report

pytestmark = pytest.mark.slow


def test_what_to_type_next_is_said(project: pytest.Pytester) -> None:
    result = project.run(sys.executable, "-m", "pytest_brt", "issue", "clamp.md", "-v")
    assert result.ret == 0
    result.stdout.fnmatch_lines(
        ["next: 'pytest-brt rank DIR' ranks the patches in DIR by these tests; *review*"]
    )
    quiet = project.runpytest_subprocess("-q", "--brt-issue=clamp.md")
    assert quiet.ret == 0
    assert [line.split(":")[0] for line in quiet.outlines[1:-1]] == ["Possibly reproduced"]
    nothing_kept = project.runpytest_subprocess(
        *("--brt-issue=clamp.md", "-p", "no:cacheprovider", "--brt-report=log.json")
    )
    assert nothing_kept.ret == 0
    nothing_kept.stdout.no_fnmatch_line("next:*")


def test_patches_may_be_what_a_shell_makes_of_a_pattern_and_settings_what_pytest_refuses(
    project: pytest.Pytester,
) -> None:
    names = ("a-right", "b-literal")
    # The project's settings are some that pytest refuses; these commands do not obey them.
    (project.path / "tox.ini").unlink()
    (project.path / "setup.cfg").write_text("[pytest]\naddopts = -q\n", "utf-8")
    assert project.runpytest_subprocess("--brt-issue=clamp.md").ret != 0
    command = project.run(
        *(sys.executable, "-m", "pytest_brt", "issue", "clamp.md", "--guard=no", "--jobs=4"),
        *("--report=out.md", "--report=../report.json"),
        *("--rank", *(f"patches/{name}.diff" for name in names)),
    )
    assert command.ret == 7, command.stdout.str() + command.stderr.str()
    assert command.parseoutcomes() == {"judged": 3}
    command.stdout.fnmatch_lines(
        ["*a-right.diff: passes 4 of 4 bug tests*", "Markdown report: out.md"]
    )
    assert "| a-right.diff |" in (project.path / "out.md").read_text("utf-8")
    report = read_report(project.path.parent / "report.json")
    assert next(iter(patches_of(report))) == "a-right.diff"
    (project.path / "setup.cfg").unlink()
    same = project.runpytest_subprocess(
        *("--brt-issue=clamp.md", "--collect-only", "-q", "--rank-fixes"),
        *(f"patches/{name}.diff" for name in names),
    )
    assert [line for line in same.outlines if "." in line.split(" ")[0]] == [
        "clamp.md::replay",
        *(f"patches/{name}.diff" for name in names),
    ]


def test_the_only_model_is_picked_up_by_itself_and_of_several_none(
    project: pytest.Pytester, monkeypatch: pytest.MonkeyPatch
) -> None:
    models = project.mkdir("models")
    (models / "small.gguf").write_bytes(b"GGUF")
    monkeypatch.setenv("PYTEST_BRT_MODELS", str(models))
    told = ("--brt-issue=clamp.md", "--collect-only")
    said = project.runpytest_subprocess(*told)
    assert said.ret == 0, said.stdout.str()
    said.stdout.fnmatch_lines(["brt: auto; *; model gguf:small.gguf; *"])
    (models / "two.gguf").write_bytes(b"GGUF")
    said = project.runpytest_subprocess(*told)
    assert said.ret == 0
    said.stdout.fnmatch_lines(["brt: replay; *"])
