"""What people expect of a pytest plugin, and every trap that our modes could fall into."""

from __future__ import annotations

from xml.etree import ElementTree

import pytest

from tests.scenarios.server import Model, serving

pytestmark = [pytest.mark.slow, pytest.mark.long]

ISSUE = "--brt-issue=clamp.md"
RANK = "--rank-fixes=patches"
#: Where the ini file that switches these off is replaced.
PLAIN = "--brt-guard=no"
#: The header.
JOBS = "brt: replay; python *; sandbox *; {} jobs"
#: The report and its five patches.
ALL = {"judged": 5, "skipped": 1}


def test_a_row_pulls_the_attempts_that_it_needs_and_works_without_the_cache_or_xdist(
    project: pytest.Pytester,
) -> None:
    less = ("-p", "no:cacheprovider", "-p", "no:xdist")
    result = project.runpytest_subprocess(ISSUE, RANK, "-k", "a-right", "-v", *less)
    assert result.ret == 0, result.stdout.str()
    result.stdout.fnmatch_lines([JOBS.format("[1-9]*"), "patches/a-right.diff JUDGED*"])
    assert result.parseoutcomes() == {"judged": 1, "deselected": 5}
    assert not (project.path / ".pytest_cache").exists()


def test_paths_of_tests_are_refused(project: pytest.Pytester) -> None:
    other = project.runpytest_subprocess(ISSUE, RANK, "tests")
    assert other.ret == 4
    other.stderr.fnmatch_lines(["*'tests': test paths are not accepted here*--brt-tests*"])


def test_a_patch_that_does_not_fix_the_bug_is_no_failure_in_random_order(
    project: pytest.Pytester, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PYTEST_ADDOPTS", "-p no:hypothesispytest")
    xml = project.path.parent / "junit.xml"
    result = project.runpytest_subprocess(
        *(ISSUE, RANK, PLAIN, f"--junitxml={xml}", "-v", "--randomly-seed=2")
    )
    assert result.ret == 7, "some patch passes, and none leads clearly"
    assert result.parseoutcomes() == ALL
    items = [line.split()[0] for line in result.outlines if line.endswith("%]")]
    assert items != sorted(items), "in another order"
    cases = {case.get("name", ""): case for case in ElementTree.parse(xml).iter("testcase")}
    assert not [name for name, case in cases.items() if case.find("failure") is not None]
    skipped = cases["patches.e-stale.diff"].find("skipped")
    assert skipped is not None
    assert "does not apply" in skipped.get("message", "")


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


def test_a_model_that_never_answers_has_an_exit_code_of_its_own(
    project: pytest.Pytester,
) -> None:
    options = ("--brt-model=server:http://127.0.0.1:9", "--brt-strategy=libro", "--brt-budget=1s")
    result = project.runpytest_subprocess(*options, ISSUE)
    assert result.ret == 6
    said = [line for line in result.outlines if "no answer from" in line]
    assert len(said) == 1
    assert said[0].startswith("exit code 6: no model answered: ")
    assert "'http://127.0.0.1:9'" in said[0]
    result.stdout.fnmatch_lines(["*= 1 judged in *"])


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


def test_warnings_as_errors_do_not_hit_us(project: pytest.Pytester) -> None:
    result = project.runpytest_subprocess(ISSUE, RANK, "-W", "error", "-k", "clamp or a-right")
    assert result.ret == 0, result.stdout.str()


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
    project.syspathinsert()
    without = project.runpytest_subprocess(*options)
    assert without.ret == 1
    without.stdout.fnmatch_lines(["*needs a model and none was chosen (--brt-model*"])
