from __future__ import annotations

from dataclasses import replace
from io import BytesIO
from pathlib import Path

import pytest

from pytest_brt.issue import load_issue
from pytest_brt.repair.given_test import choose_brt, quote_length
from pytest_brt.repair.patch import chosen
from pytest_brt.repair.scene import trusted
from pytest_brt.types import (
    Attempt,
    CandidateTest,
    Ending,
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
    TestRun,
    Trajectory,
    Verdict,
)


def judged(
    name: str,
    *,
    candidate: bool = True,
    last: Verdict = Verdict.FAIL,
    source: str = "",
    confidence: float = 0.5,
) -> JudgedTest:
    test = CandidateTest(
        id=name,
        name=name,
        issue="i",
        origin=Origin(strategy="agent"),
        oracle=Oracle(kind=OracleKind.WRITTEN, sentence="", prior=0.5),
        path="tests/test_x.py",
        source=source,
    )
    run = TestRun(test=name, node=name, verdict=last, reason="")
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


REPORT = "It prints:\n\n    Malformed  line 3 of 4 (skipped)\n\nand then `all done`."
QUOTES = {
    "long": "assert 'Malformed line 3 of 4' not in out",
    "short": "assert 'all done' not in out",
    "other": "assert 'every build says this, and at length' not in out",
    "raised": "with raises(ValueError, match=r'Malformed line \\d of 4 \\(skipped'): pass",
    "escaped": "with raises(ValueError, match=r'4 \\(skipped\\)'): pass",
    "input": "out = run('Malformed line 3 of 4 (skipped)')",
    "lines": 'assert out == "no\\nMalformed   line 3\\nyes"',
    "broken": "assert 'Malformed",
}


def quoting(name: str, confidence: float = 0.5) -> JudgedTest:
    return judged(name, source=f"def {name}():\n    {QUOTES[name]}\n", confidence=confidence)


@pytest.mark.parametrize(
    ("name", "length"),
    [
        ("long", len("Malformed line 3 of 4")),
        ("short", len("all done")),
        ("other", 0),
        ("raised", 0),
        ("escaped", len("4 (skipped)")),
        ("input", 0),
        ("lines", len("Malformed line 3")),
        ("broken", 0),
    ],
)
def test_a_quote_is_an_asserted_text_of_the_report(name: str, length: int) -> None:
    assert quote_length(quoting(name), REPORT) == length


def test_the_longest_quote_is_taken_of_tests_that_are_trusted_alike() -> None:
    tests = [attempt(*map(quoting, ["other", "short", "long", "input"]))]
    assert {name_of(choose_brt(tests, (), seed, REPORT)) for seed in range(20)} == {"long"}
    surer = [*tests, attempt(quoting("other", 0.8))]
    assert {name_of(choose_brt(surer, (), seed, REPORT)) for seed in range(20)} == {"other"}


def test_the_first_of_those_that_must_pass_is_trusted_most_and_then_quotes_most() -> None:
    tests = [quoting("other"), quoting("short"), quoting("long"), quoting("input", 0.7)]
    order = [judged.test.name for judged in trusted(tests, REPORT)]
    assert order == ["input", "long", "short", "other"]
    assert trusted(tests) == (tests[3], *tests[:3])


def fix(name: str, source: str = "the agent") -> FoundFix:
    patch = Patch(id=name, name=f"{name}.diff", text=f"diff of {name}\n")
    return FoundFix(patch=patch, key=name, source=source, plausible=True)


def rank(name: str, place: int, group: int) -> Rank:
    patch = Patch(id=name, name=f"{name}.diff", text="")
    result = PatchResult(patch=patch, applies=True)
    return Rank(
        result=result, epr=1.0, rank=1, tied_with=(), passed=1, total=1, place=place, group=group
    )


def test_one_of_each_group_is_written_and_the_others_below_it(tmp_path: Path) -> None:
    fixes = (fix("first"), fix("v", "a variant"), fix("last"), fix("other"))
    repair = Repair(issue="i", strategy="repairagent", index=0, fixes=fixes)
    again = Repair(issue="i", strategy="repairagent", index=1, fixes=(fix("last"),))
    ranks = [rank("other", 1, 2), *(rank(name, 2, 1) for name in ("first", "v", "last"))]
    found = chosen([repair, again], ranks)
    (tmp_path / "r.md").write_text("# A bug\n", encoding="utf-8")
    issue = load_issue(str(tmp_path / "r.md"), BytesIO())
    files = [dict(alike.files(issue)) for alike in found]
    assert [list(names) for names in files] == [
        ["other.diff"],
        ["last.diff", "alike/first.diff", "alike/v.diff"],
    ]
    assert "2 more fixes" in files[1]["last.diff"]
    assert files[1]["last.diff"].endswith("diff of last\n")
