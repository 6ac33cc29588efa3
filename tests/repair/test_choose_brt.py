from __future__ import annotations

from dataclasses import replace
from io import BytesIO
from pathlib import Path

from pytest_brt.issue.load import load_issue
from pytest_brt.repair.bug import trusted
from pytest_brt.repair.choose_brt import choose_brt
from pytest_brt.repair.patch import chosen, files_of
from pytest_brt.types import (
    Attempt,
    Call,
    CandidateTest,
    Done,
    Ending,
    FixSource,
    FoundFix,
    JudgedTest,
    Judgement,
    Oracle,
    OracleKind,
    Origin,
    Patch,
    PatchResult,
    Rank,
    Repair,
    Step,
    TestRun,
    TestsRan,
    Trajectory,
    Verdict,
)
from tests.support.outcomes import caused


def judged(
    name: str,
    *,
    candidate: bool = True,
    last: Verdict = Verdict.FAIL,
    confidence: float = 0.5,
) -> JudgedTest:
    test = CandidateTest(
        id=name,
        name=name,
        issue="i",
        origin=Origin(strategy="agent"),
        oracle=Oracle(kind=OracleKind.WRITTEN, sentence=""),
        path="tests/test_x.py",
        source="",
    )
    run = TestRun(test=name, node=name, verdict=last, cause=caused(last))
    verdict = Judgement(
        verdict=last,
        candidate=candidate,
        reason="",
        confidence=confidence * candidate,
        runs=(run,),
    )
    return JudgedTest(test=test, judgement=verdict)


def attempt(*tests: JudgedTest, ending: Ending | None = None) -> Attempt:
    talks = () if ending is None else (Trajectory(steps=(), ending=ending),)
    return Attempt(issue="i", strategy="agent", index=0, tests=tests, trajectories=talks)


def ran(number: int, verdict: Verdict) -> Step:
    effects = (TestsRan(path="tests/test_x.py", verdict=verdict),)
    return Step(number=number, reply="", call=Call(action="test"), result=Done(effects=effects))


def name_of(found: JudgedTest | None) -> str:
    return found.test.name if found else ""


def test_a_candidate_beats_an_orderly_end_beats_a_failing_last_run() -> None:
    no = attempt(judged("no", candidate=False), ending=Ending.FINISH)
    steps = attempt(judged("steps"), ending=Ending.STEPS)
    finished = attempt(judged("finished"), ending=Ending.FINISH)
    passing = attempt(judged("passing", last=Verdict.PASS), ending=Ending.FINISH)
    assert choose_brt([no], (), 0) is None
    assert name_of(choose_brt([no, steps], (), 0)) == "steps"
    assert name_of(choose_brt([no, steps, passing], (), 0)) == "passing"
    assert name_of(choose_brt([no, steps, passing, finished], (), 0)) == "finished"


def test_the_last_test_that_a_dialogue_ran_counts_and_not_the_judging_runs() -> None:
    def told(name: str, *verdicts: Verdict) -> Attempt:
        steps = [ran(at, verdict) for at, verdict in enumerate(verdicts, 1)]
        looked = Step(number=len(steps) + 1, reply="")
        dialogue = Trajectory(steps=(*steps, looked), ending=Ending.FINISH)
        return replace(attempt(judged(name)), trajectories=(dialogue,))

    passed = told("passed", Verdict.FAIL, Verdict.PASS)
    failed = told("failed", Verdict.PASS, Verdict.FAIL)
    assert {name_of(choose_brt([passed, failed], (), seed)) for seed in range(20)} == {"failed"}
    assert name_of(choose_brt([passed], (), 0)) == "passed"


def test_what_a_model_believes_comes_first_unless_a_person_gave_one() -> None:
    believed = attempt(judged("believed"), ending=Ending.STEPS)
    others = [attempt(judged(name), ending=Ending.FINISH) for name in ("a", "b")]
    no = attempt(judged("no", candidate=False), ending=Ending.FINISH)
    asked: list[str] = []

    def says(item: JudgedTest) -> bool | None:
        asked.append(item.test.name)
        return {"believed": True, "a": False}.get(item.test.name)

    assert name_of(choose_brt([*others, believed, no], (), 0, says=says)) == "believed"
    assert sorted(asked) == ["a", "b", "believed"]
    assert name_of(choose_brt([believed], (), 0, says=says)) == "believed"  # nothing to ask
    one = judged("one")
    persons = replace(one, test=replace(one.test, origin=Origin(strategy="given")))
    assert name_of(choose_brt([*others, believed], (persons,), 0, says=says)) == "one"
    assert len(asked) == 3


def test_equals_are_drawn_the_same_for_the_same_seed() -> None:
    equal = [attempt(judged(name)) for name in "abcdef"]
    drawn = [name_of(choose_brt(equal, [judged("given")], seed)) for seed in range(40)]
    assert len(set(drawn)) > 3
    assert drawn == [name_of(choose_brt(equal, [judged("given")], seed)) for seed in range(40)]


def test_the_first_of_those_that_must_pass_is_trusted_most() -> None:
    tests = [
        judged("one"),
        judged("two"),
        judged("no", candidate=False),
        judged("best", confidence=0.7),
    ]
    assert [found.test.name for found in trusted(tests)] == ["best", "one", "two"]


def fix(name: str, source: FixSource = FixSource.AGENT) -> FoundFix:
    patch = Patch(id=name, name=f"{name}.diff", text=f"diff of {name}\n")
    return FoundFix(patch=patch, key=name, source=source, plausible=True)


def rank(name: str, place: int, group: int) -> Rank:
    patch = Patch(id=name, name=f"{name}.diff", text="")
    result = PatchResult(patch=patch)
    return Rank(result=result, epr=1.0, rank=1, passed=1, total=1, place=place, group=group)


def test_one_of_each_group_is_written_and_the_others_below_it(tmp_path: Path) -> None:
    fixes = (fix("first"), fix("v", FixSource.VARIANT), fix("last"), fix("other"))
    repair = Repair(issue="i", strategy="repairagent", index=0, fixes=fixes)
    again = Repair(issue="i", strategy="repairagent", index=1, fixes=(fix("last"),))
    ranks = [rank("other", 1, 2), *(rank(name, 2, 1) for name in ("first", "v", "last"))]
    found = chosen([repair, again], ranks)
    (tmp_path / "r.md").write_text("# A bug\n", encoding="utf-8")
    issue = load_issue(str(tmp_path / "r.md"), BytesIO())
    files = [dict(files_of(alike, issue)) for alike in found]
    assert [list(names) for names in files] == [
        ["other.diff"],
        ["last.diff", "alike/first.diff", "alike/v.diff"],
    ]
    assert "2 more fixes" in files[1]["last.diff"]
    assert files[1]["last.diff"].endswith("diff of last\n")
