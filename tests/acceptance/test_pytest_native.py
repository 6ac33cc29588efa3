"""What people expect of a pytest plugin, and every trap that our modes could fall into."""

from __future__ import annotations

import pytest

from tests.scenarios.server import Model, serving

pytestmark = [pytest.mark.slow, pytest.mark.long]

ISSUE = "--brt-issue=clamp.md"
#: Where the ini file that switches these off is replaced.
PLAIN = "--brt-guard=no"


def test_a_row_alone_without_cache_xdist_or_a_warning(project: pytest.Pytester) -> None:
    less = ("-p", "no:cacheprovider", "-p", "no:xdist", "-W", "error")
    result = project.runpytest_subprocess(ISSUE, "--rank-fixes=patches", "-k", "a-right", *less)
    assert result.ret == 0, result.stdout.str()
    result.stdout.fnmatch_lines(["brt: replay; python *; sandbox *; [1-9]* jobs"])
    assert result.parseoutcomes() == {"judged": 1, "deselected": 5}
    assert not (project.path / ".pytest_cache").exists()


def test_broken_machinery_is_f_without_the_frames_of_pytest_and_lf_repeats_it(
    project: pytest.Pytester, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("CI", raising=False)  # there pytest's last lines have whole messages
    project.makepyfile(
        breaking="""
        import pytest
        from pytest_brt.errors import ModelProblem
        from pytest_brt.reproduce.strategy import Strategy

        def attempt(issue, index, workbench):
            raise ModelProblem("the model is gone: 'x.gguf' (load it again)")

        def defective(issue, index, workbench):
            try:
                {}["x"]
            except KeyError as error:
                raise RuntimeError("not expected") from error

        @pytest.hookimpl(optionalhook=True)
        def pytest_brt_strategies(config):
            return {
                "breaking": Strategy(attempt=attempt, runs=2),
                "defective": Strategy(attempt=defective),
            }
        """
    )
    options = ("-p", "breaking", "--brt-strategy=replay,defective,breaking", ISSUE, "-v")
    result = project.runpytest_subprocess(*options)
    assert result.ret == 1
    assert result.parseoutcomes() == {"judged": 1, "failed": 3}
    result.stdout.fnmatch_lines(
        [
            "clamp.md::breaking-00 FAILED*",
            "clamp.md::breaking-01 FAILED*",
            "internal error in pytest-brt: please report it*",
            "*KeyError: 'x'",
            "*RuntimeError: not expected",
            "the model is gone: 'x.gguf' (load it again)",
        ]
    )
    _, _, shown = result.stdout.str().partition("internal error")
    assert "pluggy" not in shown
    assert "Traceback" not in shown.partition("RuntimeError: not expected")[2]
    project.syspathinsert()
    again = project.runpytest_subprocess(*options, "--lf", "-x")
    again.assert_outcomes(failed=1, deselected=1)
    again.stdout.fnmatch_lines(["*rerun previous 3 failures*", "clamp.md::defective FAILED*"])


def test_own_settings_come_from_the_projects_ini(project: pytest.Pytester) -> None:
    project.makeini("[pytest]\nbrt_timeout = soon\n")
    wrong = project.runpytest_subprocess(ISSUE)
    assert wrong.ret == 4
    wrong.stderr.fnmatch_lines(["*tox.ini: brt_timeout: expected a time, *, got 'soon'"])
    elsewhere = project.path.parent / "elsewhere"
    elsewhere.mkdir()
    (elsewhere / "pytest.ini").write_text("[pytest]\naddopts = --nope\nbrt_env = A=2\n", "utf-8")
    (project.path / "clamp.md").rename(elsewhere / "clamp.md")
    project.makeini("[pytest]\nbrt_timeout = 50\n")
    report = f"--brt-issue={elsewhere}/clamp.md"
    result = project.runpytest_subprocess(report, "--rank-fixes=patches/a-right.diff", PLAIN)
    assert result.ret == 0, result.stdout.str() + result.stderr.str()
    assert not (elsewhere / ".pytest_cache").exists(), "the root is not moved"
    assert (project.path / ".pytest_cache").exists()


def test_a_report_alone_imports_little(project: pytest.Pytester) -> None:
    project.makepyfile(
        ours="""
        import sys

        def pytest_unconfigure():
            print("imported:", *[name for name in sys.modules if name.startswith("pytest_brt.")])
        """
    )
    result = project.runpytest_subprocess("-p", "ours", ISSUE)
    line = next(line for line in result.outlines if line.startswith("imported: "))
    ours = line.split()[1:]
    result.stdout.fnmatch_lines(
        ["next: 'pytest-brt rank DIR' ranks the patches in DIR by these tests; *review*"]
    )
    rooms = {name.split(".")[1] for name in ours}
    assert "reproduce" in rooms
    assert not rooms & {"repair", "localise", "rank", "guard", "patches"}
    assert "pytest_brt.pipeline.repairs" not in ours
    assert len(ours) <= 185  # ten of them place the test in a file of the project


def test_a_plugin_adds_a_strategy(project: pytest.Pytester) -> None:
    project.makepyfile(
        echo_plugin='''
        import pytest
        from pytest_brt.oracle.judge import judge
        from pytest_brt.sandbox.placing import Test
        from pytest_brt.reproduce.strategy import Strategy
        from pytest_brt.types import (
            Attempt, CandidateTest, JudgedTest, Oracle, OracleKind, Origin,
        )

        SOURCE = """
        from interval import clamp


        def test_echo():
            assert clamp({value}, 0, 10) == {value}
        """.replace("\\n        ", "\\n")

        def attempt(issue, index, workbench):
            from pytest_brt.model.request import Message, Request

            asked = Request(messages=(Message("user", "Which value?"),))
            source = SOURCE.format(value=workbench.model.text(asked))
            path, name = "tests/test_echo.py", "test_echo"
            target = Test(id="echo", path=path, source=source, node=name)
            runs = workbench.engine.run([target])
            test = CandidateTest(
                id="echo", name="test_echo", issue=issue.id, origin=Origin(strategy="echo"),
                oracle=Oracle(kind=OracleKind.WRITTEN, sentence="Echoed."),
                path=target.path, source=source,
            )
            judged = judge(test, runs, None, confidence=1.0)
            return Attempt(issue=issue.id, strategy="echo", index=index, tests=(judged,))

        @pytest.hookimpl(optionalhook=True)
        def pytest_brt_strategies(config):
            return {"echo": Strategy(attempt=attempt)}

        @pytest.hookimpl(optionalhook=True)
        def pytest_brt_finished(report):
            print("FINISHED", report.exit_code, [test.name for test in report.tests])
        '''
    )
    options = ("-p", "echo_plugin", ISSUE, "--brt-strategy=echo", "-s")
    with serving(Model([], always="5", judge={})) as model:
        result = project.runpytest_subprocess(*options, model.option)
    assert result.ret == 0, result.stdout.str()
    result.stdout.fnmatch_lines(["*FINISHED 0 [[]'test_echo']*", "Reproduced: test_echo fails*"])
