"""Plugins that a project switches on for its own tests leave our runs alone.

Each is the real one; what is not installed is skipped (``tox -e hostile`` installs them).
"""

from __future__ import annotations

import pytest

from tests.support.trees import tree_hash

#: What a project writes into its addopts, by the plugin that reads it.
ADDOPTS = {
    "pytest_cov": "--cov=interval --cov-report=xml --cov-fail-under=100",
    "pytest_html": "--html=page.html --self-contained-html",
    "pytest_jsonreport": "--json-report --json-report-file=all.json",
    "pytest_benchmark": "--benchmark-autosave --benchmark-json=speed.json",
    "pytest_rerunfailures": "--reruns=3",
    "pytest_timeout": "--timeout=0.01",
    "pytest_randomly": "-p randomly --randomly-seed=7",
}

pytestmark = pytest.mark.slow


@pytest.mark.parametrize("plugin", ADDOPTS)
def test_nothing_is_written_and_the_exit_code_is_ours(
    project: pytest.Pytester, monkeypatch: pytest.MonkeyPatch, plugin: str
) -> None:
    pytest.importorskip(plugin)
    monkeypatch.delenv("PYTEST_ADDOPTS")
    project.makeini(f"[pytest]\naddopts = {ADDOPTS[plugin]}\ntimeout = 0.01\n")
    before = tree_hash(project.path)
    result = project.runpytest_subprocess("--brt-issue=clamp.md")
    assert result.ret == 0, result.stdout.str() + result.stderr.str()
    assert tree_hash(project.path) == before
    assert not list(project.path.glob(".coverage*"))
    result.stdout.no_fnmatch_line("*coverage*")
